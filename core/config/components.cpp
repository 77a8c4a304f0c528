// SPDX-License-Identifier: MIT
#include "core/base/text.hpp"
#include "core/config/offering.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::config {

namespace {

constexpr std::int64_t largest = std::int64_t{1} << 53U; // what a JSON reader surely keeps

base::decimal one_if_absent(const std::optional<base::decimal>& n) {
  return n ? *n : base::decimal(1);
}

// Usage is divided by a factor.
std::optional<base::decimal> read_factor(map_reader& o, std::string_view key) {
  const auto n = o.decimal(key);
  if (n && (n->is_zero() || n->is_negative())) {
    o.fail(key, "must be greater than 0");
    return std::nullopt;
  }
  return n;
}

// Passed on to Waldur by load-components; checked here so that a mistake shows its line.
void check_passed_on(map_reader& o) {
  for (const std::string_view key :
       {"min_value", "max_value", "max_available_limit", "default_limit"}) {
    o.integer(key, -largest, largest);
  }
  for (const std::string_view key :
       {"min_prepaid_duration",
        "max_prepaid_duration",
        "prepaid_duration_step",
        "min_renewal_duration",
        "max_renewal_duration",
        "renewal_duration_step"}) {
    o.integer(key, 0, 1'200);
  }
  o.decimal("limit");
  o.word("limit_period", {"annual", "month", "quarterly", "total"});
  o.text("description");
  o.text("article_code");
}

// Hours of a component that is billed by its limit are shown and never invoiced.
void check_metering(map_reader& o, const component& c) {
  const auto metering = o.word("metering", {"snapshot", "hours"});
  if (metering == "hours" && !c.accounting_type.empty() && c.accounting_type != "usage") {
    o.warn(
        "metering",
        "hours are meant for accounting_type usage; Waldur bills a component of type " +
            c.accounting_type + " by its limit"
    );
  }
}

// Plugins see what was set, booleans as booleans.
value set_keys(map_reader& o, const value& written) {
  value raw = written;
  std::erase_if(raw.map, [](const value::entry& e) { return e.second.is_null(); });
  for (const std::string_view key : {"is_boolean", "is_prepaid"}) {
    const auto flag = o.boolean(key);
    for (auto& [name, v] : raw.map) {
      if (flag && name == key) {
        v.text = *flag ? "true" : "false";
      }
    }
  }
  return raw;
}

component read_component(context& ctx, const value& map, const std::string& path) {
  map_reader o(ctx, map, path);
  component c;
  c.measured_unit = o.required_text("measured_unit");
  o.require("accounting_type");
  c.accounting_type = o.word("accounting_type", {"usage", "limit", "one"}).value_or("");
  c.label = o.required_text("label");
  c.unit_factor = one_if_absent(read_factor(o, "unit_factor"));
  c.unit_factor_reporting = read_factor(o, "unit_factor_reporting");
  check_passed_on(o);
  check_metering(o, c);
  c.raw = set_keys(o, map);
  // Other keys belong to the plugin; only near misses of the known ones look like mistakes.
  const auto known = o.known_keys();
  o.finish([&](std::string_view key) { return base::nearest(key, known).empty(); });
  return c;
}

} // namespace

std::vector<component> read_components(context& ctx, const value& map, const std::string& path) {
  std::vector<component> out;
  for (const auto& [type, v] : map.map) {
    const std::string here = path + "." + shown_key(type);
    if (!v.is_map()) {
      const position at = v.is_null() ? v.key_at : v.at;
      ctx.findings.push_back(
          {true,
           ctx.file,
           at,
           here,
           "expected a mapping with measured_unit, accounting_type and label"}
      );
      continue;
    }
    component c = read_component(ctx, v, here);
    c.type = type;
    out.push_back(std::move(c));
  }
  return out;
}

} // namespace siteagent::config
