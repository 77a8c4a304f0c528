// SPDX-License-Identifier: MIT
#include "core/app/rehearsal/script.hpp"

#include "core/config/rewrite.hpp"

namespace siteagent::app {

namespace {

// The emulated Waldur's token of an agent; its documented default.
constexpr const char* agent_token = "e2e0000000000000000000000000token001";

void put_on_stage(config::value& offering, const std::string& waldur_url) {
  const auto set = [&](std::string_view key, const base::json& v) {
    config::set_key(offering, key, config::from_json(v));
  };
  set("waldur_api_url", waldur_url + "/api/");
  set("waldur_api_token", agent_token);
  for (const char* key :
       {"oidc_token_url",
        "oidc_client_id",
        "oidc_client_secret",
        "stomp_enabled",
        "stomp_membership_sync_enabled",
        "stomp_ws_host",
        "stomp_ws_port",
        "stomp_ws_path",
        "websocket_use_tls"}) {
    config::erase_key(offering, key);
  }
}

config::value* find(config::value& map, std::string_view key) {
  for (config::value::entry& e : map.map) {
    if (e.first == key) {
      return &e.second;
    }
  }
  return nullptr;
}

bool is_offering(const config::value& v, const base::uuid& uuid) {
  const config::value* own = v.find("waldur_offering_uuid");
  return own != nullptr && base::uuid::parse(own->text) == uuid;
}

} // namespace

base::result<rehearsal_rule> read_rule(const std::string& schema, const std::string& plugin) {
  const base::result<base::json> document = base::json::parse(schema.empty() ? "{}" : schema);
  const base::json* rule = document ? document->find("x-rehearsal") : nullptr;
  if (rule == nullptr) {
    return base::error{
        .code = base::error_code::not_found,
        .message = "plugin " + plugin +
                   " cannot be rehearsed: its settings schema has no x-rehearsal; ask its author"};
  }
  rehearsal_rule out;
  out.emulator = (*rule)["emulator"].string_or("");
  const base::json& arguments = (*rule)["arguments"];
  for (const base::json& a : arguments.is_array() ? arguments.items() : std::vector<base::json>()) {
    out.arguments.push_back(a.string_or(""));
  }
  if ((*rule)["settings"].is_object()) {
    out.settings = (*rule)["settings"];
  }
  out.seed = (*rule)["seed"];
  return out;
}

base::json replaced(const base::json& j, const std::string& text, const base::json& by) {
  if (j.is_array()) {
    base::json out = base::json::array();
    for (const base::json& item : j.items()) {
      out.push_back(replaced(item, text, by));
    }
    return out;
  }
  if (j.is_object()) {
    base::json out = base::json::object();
    for (const auto& [key, item] : j.members()) {
      out.set(key, replaced(item, text, by));
    }
    return out;
  }
  std::string own = j.is_string() ? j.string_or("") : "";
  if (own == text) {
    return by;
  }
  const std::size_t at = own.find(text);
  if (at == std::string::npos || !by.is_string()) {
    return j;
  }
  return own.replace(at, text.size(), by.string_or(""));
}

config::value on_stage(config::value file, const std::string& waldur_url) {
  for (const char* key :
       {"global_proxy", "sentry_dsn", "elastic_apm_server_url", "log_shipping", "log_level"}) {
    config::erase_key(file, key);
  }
  if (config::value* offerings = find(file, "offerings")) {
    for (config::value& offering : offerings->list) {
      if (offering.is_map()) {
        put_on_stage(offering, waldur_url);
      }
    }
  }
  return file;
}

config::value with_only(
    config::value file,
    const base::uuid& offering,
    const std::vector<rehearsal_rule>& rules,
    const std::string& emulator_url,
    const std::string& folder
) {
  config::value* offerings = find(file, "offerings");
  if (offerings == nullptr) {
    return file;
  }
  std::erase_if(offerings->list, [&](const config::value& v) { return !is_offering(v, offering); });
  for (config::value& one : offerings->list) {
    config::value settings;
    if (config::value* own = find(one, "backend_settings")) {
      settings = *own;
    }
    for (const rehearsal_rule& rule : rules) {
      for (const auto& [key, v] : rule.settings.members()) {
        if (v.is_null()) {
          config::erase_key(settings, key);
        } else {
          const base::json own =
              replaced(replaced(v, "{emulator}", emulator_url), "{folder}", folder);
          config::set_key(settings, key, config::from_json(own));
        }
      }
    }
    config::set_key(one, "backend_settings", std::move(settings));
  }
  return file;
}

base::json waldur_seed(const std::vector<config::offering>& offerings) {
  base::json list = base::json::array();
  for (const config::offering& o : offerings) {
    base::json components = base::json::array();
    for (const config::component& c : o.components) {
      components.push_back(base::json::object(
          {{"type", c.type},
           {"name", c.label.empty() ? c.type : c.label},
           {"billing_type", c.accounting_type},
           {"measured_unit", c.measured_unit}}
      ));
    }
    list.push_back(base::json::object(
        {{"uuid", o.uuid.hex()}, {"name", o.name}, {"components", std::move(components)}}
    ));
  }
  return base::json::object({{"offerings", std::move(list)}});
}

base::json order_limits(const config::offering& offering) {
  base::json out = base::json::object();
  for (const config::component& c : offering.components) {
    if (c.accounting_type != "limit") {
      continue;
    }
    base::json amount = 1;
    for (const char* key : {"min_value", "default_limit"}) {
      if (const config::value* v = c.raw.find(key)) {
        const base::json number = config::to_json(*v);
        amount = number.number_text() ? number : amount;
      }
    }
    out.set(c.type, std::move(amount));
  }
  return out;
}

} // namespace siteagent::app
