// SPDX-License-Identifier: MIT
#include "core/agent/usage/amounts.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace siteagent::agent {

namespace {

const waldur::offering_component*
find_component(const offering_info& info, const std::string& type) {
  const auto& list = info.server.components;
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& c) { return c.type == type; });
  return found == list.end() ? nullptr : &*found;
}

amounts accepted(offering_context& offering, const offering_info& info, const base::json& figures) {
  amounts taken;
  for (const auto& [type, value] : figures.members()) {
    if (find_component(info, type) == nullptr) {
      if (offering.first_time("component " + type)) {
        offering.log().warning(
            "the offering in Waldur has no such component; its usage is not reported",
            {{"component", type}}
        );
      }
      continue;
    }
    if (!takes_usage(info, type)) {
      continue;
    }
    const std::optional<base::decimal> amount =
        base::decimal::parse(value.number_text().value_or(""));
    if (!amount || amount->is_negative()) {
      if (offering.first_time("amount " + type)) {
        offering.log().warning(
            "the plugin reported an amount that is no usage; it is left out", {{"component", type}}
        );
      }
      continue;
    }
    taken.emplace(type, amount->rounded(usage_decimals));
  }
  return taken;
}

} // namespace

std::string period_text(base::month m) {
  std::string number = std::to_string(m.number);
  if (number.size() < 2) {
    number.insert(0, "0");
  }
  return std::to_string(m.year) + "-" + number + "-01";
}

bool takes_usage(const offering_info& info, const std::string& component) {
  const waldur::offering_component* c = find_component(info, component);
  return c != nullptr && (c->billing_type == "usage" || c->billing_type == "limit");
}

bool accumulates(const offering_info& info, const std::string& component) {
  return std::any_of(info.components.begin(), info.components.end(), [&](const auto& c) {
    const config::value* metering = c.raw.find("metering");
    return c.type == component && metering != nullptr && metering->text == "hours";
  });
}

measured_usage
read_measured(offering_context& offering, const offering_info& info, const base::json& row) {
  measured_usage out;
  out.total = accepted(offering, info, row["total"]);
  for (const auto& [username, figures] : row["users"].members()) {
    amounts share = accepted(offering, info, figures);
    if (!base::trim(username).empty() && !share.empty()) {
      out.users.emplace(username, std::move(share));
    }
  }
  return out;
}

} // namespace siteagent::agent
