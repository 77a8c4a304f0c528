// SPDX-License-Identifier: MIT
#include "core/config/config.hpp"

#include "core/base/text.hpp"
#include "core/config/environment.hpp"
#include "core/config/fields.hpp"
#include "core/config/offering.hpp"
#include "core/config/reader.hpp"
#include "core/config/yaml.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace siteagent::config {

namespace {

constexpr std::string_view offerings_key = "offerings";
constexpr std::string_view log_levels = "DEBUG, INFO, WARNING, ERROR or CRITICAL";

// "offerings[3]" or deeper inside it.
bool is_inside(std::string_view key, std::string_view offering_path) {
  return key.starts_with(offering_path) &&
         (key.size() == offering_path.size() || key[offering_path.size()] == '.' ||
          key[offering_path.size()] == '[');
}

bool is_inside_some_offering(std::string_view key) {
  return key.starts_with("offerings[");
}

std::string read_log_level(map_reader& o, std::string_view key, std::string fallback) {
  const auto written = o.text(key);
  if (!written) {
    return fallback;
  }
  std::string upper = *written;
  for (char& c : upper) {
    c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  }
  for (const std::string_view known : {"DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"}) {
    if (upper == known) {
      return upper;
    }
  }
  o.fail(key, "expected " + std::string(log_levels) + ", not " + shown(*o.get(key)));
  return fallback;
}

base::time_zone read_time_zone(map_reader& o) {
  const auto name = o.text("timezone");
  if (!name) {
    return {};
  }
  const auto zone = base::time_zone::find(*name);
  if (!zone) {
    o.fail(
        "timezone",
        "no such time zone: " + shown(*o.get("timezone")) +
            "; expected an IANA name such as UTC or Europe/Vienna"
    );
  }
  return zone.value_or(base::time_zone{});
}

log_shipping read_log_shipping(context& ctx, map_reader& root) {
  log_shipping out;
  const value* map = root.map("log_shipping");
  if (map == nullptr) {
    return out;
  }
  map_reader o(ctx, *map, "log_shipping");
  out.enabled = o.boolean("enabled").value_or(false);
  if (const auto seconds = o.decimal("ship_interval_seconds")) {
    const auto ms = seconds->times(1'000);
    const auto whole = ms ? ms->rounded(0).to_int64() : std::nullopt;
    if (*seconds < base::decimal(10) || *seconds > base::decimal(86'400) || !whole) {
      o.fail("ship_interval_seconds", "must be from 10 to 86400 seconds");
    } else {
      out.interval = std::chrono::milliseconds(*whole);
    }
  }
  out.buffer_mb = static_cast<unsigned>(o.integer("buffer_size_mb", 1, 1'024).value_or(1));
  out.level = read_log_level(o, "log_level", out.level);
  o.finish();
  return out;
}

void read_offerings(context& ctx, map_reader& root, agent_config& out) {
  root.require(offerings_key);
  const value* list = root.list(offerings_key);
  if (list == nullptr) {
    return;
  }
  if (list->list.empty()) {
    root.warn(offerings_key, "empty; the agent idles");
  }
  for (std::size_t i = 0; i < list->list.size(); ++i) {
    const std::string path = std::string(offerings_key) + "[" + std::to_string(i) + "]";
    const value& item = list->list[i];
    if (!item.is_map()) {
      const std::string why =
          "expected a mapping, not " + (item.is_null() ? "nothing" : shown(item));
      ctx.findings.push_back({true, ctx.file, item.at, path, why});
      continue;
    }
    offering one = read_offering(ctx, item, path);
    const bool bad = std::any_of(ctx.findings.begin(), ctx.findings.end(), [&](const finding& f) {
      return f.fatal && is_inside(f.key, path);
    });
    if (!bad) {
      out.offerings.push_back(std::move(one));
    }
  }
}

void warn_of_twins(context& ctx, const agent_config& config) {
  std::map<base::uuid, const offering*> seen;
  for (const offering& o : config.offerings) {
    const auto [first, is_new] = seen.emplace(o.uuid, &o);
    if (!is_new) {
      const std::string where =
          "'" + first->second->name + "' at line " + std::to_string(first->second->at.line);
      ctx.findings.push_back(
          {false,
           ctx.file,
           o.at,
           std::string(offerings_key),
           "'" + o.name + "' has the waldur_offering_uuid of " + where +
               "; every order is seen twice"}
      );
    }
  }
}

// The services that the Python agent reports to and this one does not.
void warn_if_set(
    map_reader& o, std::string_view key, const std::string& read, std::string_view why
) {
  if (!read.empty()) {
    o.warn(key, "no effect: " + std::string(why));
  }
}

// Keys that change nothing about how an offering is served.
bool is_aside(std::string_view key) {
  return key == offerings_key || key == "log_level" || key == "log_shipping" ||
         key == "sentry_dsn" || key == "elastic_apm_server_url" || key.starts_with("x-");
}

std::size_t settings_digest(const value& root) {
  value relevant;
  relevant.type = value::kind::map;
  std::copy_if(
      root.map.begin(),
      root.map.end(),
      std::back_inserter(relevant.map),
      [](const value::entry& e) { return !is_aside(e.first); }
  );
  return digest_of(relevant);
}

agent_config read_root(context& ctx, const value& root) {
  map_reader o(ctx, root, "");
  agent_config out;
  out.file = ctx.file;
  out.digest = settings_digest(root);
  out.timezone = read_time_zone(o);
  out.sentry_dsn = read_endpoint_with_credentials(o, "sentry_dsn", {"https", "http"});
  warn_if_set(
      o, "sentry_dsn", out.sentry_dsn, "errors are in the log; log_shipping sends them to Waldur"
  );
  out.elastic_apm_server_url =
      read_endpoint_with_credentials(o, "elastic_apm_server_url", {"https", "http"});
  warn_if_set(
      o,
      "elastic_apm_server_url",
      out.elastic_apm_server_url,
      "there is no APM client; `status --json` shows what runs and what it waits for"
  );
  out.global_proxy =
      read_endpoint_with_credentials(o, "global_proxy", {"http", "https", "socks5", "socks5h"});
  out.log_level = read_log_level(o, "log_level", out.log_level);
  out.reporting_periods = static_cast<unsigned>(o.integer("reporting_periods", 1, 12).value_or(2));
  out.expose_backend_error_details = o.boolean("expose_backend_error_details").value_or(true);
  out.log_shipping = read_log_shipping(ctx, o);
  read_offerings(ctx, o, out);
  for (offering& one : out.offerings) {
    one.global_proxy = out.global_proxy;
  }
  warn_of_twins(ctx, out);
  o.finish([](std::string_view key) { return key.starts_with("x-"); });
  return out;
}

bool comes_first(const finding& a, const finding& b) {
  return std::pair(a.at.line, a.at.column) < std::pair(b.at.line, b.at.column);
}

} // namespace

bool agent_config::has_errors() const {
  return std::any_of(findings.begin(), findings.end(), [](const finding& f) { return f.fatal; });
}

bool agent_config::has_global_errors() const {
  return std::any_of(findings.begin(), findings.end(), [](const finding& f) {
    return f.fatal && !is_inside_some_offering(f.key);
  });
}

base::result<agent_config> parse(const std::string& text, const std::string& name) {
  context ctx{name, {}};
  const auto root = read_yaml(text, name, ctx.findings);
  if (!root) {
    return root.error();
  }
  if (!root->is_map()) {
    const finding f{
        true,
        name,
        root->at,
        {},
        "expected a mapping with the key 'offerings', not " +
            (root->is_null() ? "nothing" : shown(*root))};
    return base::error{base::error_code::invalid, f.text()};
  }
  agent_config config = read_root(ctx, *root);
  for (finding& f : ctx.findings) {
    f.why = base::global_redactor().scrub(f.why);
  }
  std::stable_sort(ctx.findings.begin(), ctx.findings.end(), comes_first);
  config.findings = std::move(ctx.findings);
  return config;
}

base::result<agent_config> load(const std::string& path) {
  constexpr std::size_t largest = std::size_t{4} << 20U;
  const auto text = read_file(path, largest);
  if (!text) {
    return base::error{
        base::error_code::invalid,
        path + ": error: cannot read the configuration: " + text.error().message};
  }
  auto config = parse(*text, path);
  if (config) {
    std::vector<finding> environment = judge_environment();
    config->findings.insert(
        config->findings.begin(),
        std::make_move_iterator(environment.begin()),
        std::make_move_iterator(environment.end())
    );
  }
  return config;
}

base::result<std::chrono::milliseconds>
parse_period(std::string_view key, std::string_view text, std::chrono::milliseconds unit) {
  constexpr std::int64_t longest = std::chrono::milliseconds(std::chrono::hours(366 * 24)).count();
  const auto number = base::decimal::parse(text);
  const bool plain = number && text.find_first_of("eE") == std::string_view::npos;
  const auto product = plain ? number->times(unit.count()) : std::nullopt;
  const auto ms = product ? product->rounded(0).to_int64() : std::nullopt;
  if (!ms || *ms < 1'000 || *ms > longest) {
    return base::error{
        base::error_code::invalid,
        std::string(key) +
            ": expected a positive number such as 5 or 0.5 (at least one second), not '" +
            std::string(base::truncated(text, 60)) + "'"};
  }
  return std::chrono::milliseconds(*ms);
}

} // namespace siteagent::config
