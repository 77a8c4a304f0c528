// SPDX-License-Identifier: MIT
#include "core/config/offering.hpp"

#include "core/base/text.hpp"
#include "core/config/fields.hpp"
#include "core/config/python_agent.hpp"

#include <functional>
#include <utility>

namespace siteagent::config {

namespace {

// "https://host/api/" -> "https://host": whole suffixes, never characters.
std::string without_api(std::string url) {
  const auto drop_slashes = [&] {
    while (url.ends_with('/')) {
      url.pop_back();
    }
  };
  drop_slashes();
  if (url.ends_with("/api")) {
    url.resize(url.size() - 4);
    drop_slashes();
  }
  return url;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// Sets the host of the REST API as the broker's default too.
void read_address(map_reader& o, offering& out) {
  o.require("waldur_api_url");
  const auto url = read_web_address(o, "waldur_api_url");
  if (!url) {
    if (const value* v = o.get("waldur_api_url");
        v != nullptr && v->is_scalar() && v->text.empty()) {
      o.fail("waldur_api_url", "must not be empty");
    }
    return;
  }
  out.waldur_api_url = without_api(url->text);
  out.stomp_ws_host = url->host;
  if (!url->encrypted && !is_loopback(url->host)) {
    o.warn("waldur_api_url", "plain http: the token travels unencrypted; use https");
  }
}

void read_credentials(map_reader& o, offering& out) {
  const std::size_t before = o.fatal_count();
  out.waldur_api_token = read_secret(o, "waldur_api_token", out.waldur_api_token_source);
  const auto url = read_web_address(o, "oidc_token_url");
  out.oidc_token_url = url ? url->text : "";
  out.oidc_client_id = o.text("oidc_client_id").value_or("");
  out.oidc_client_secret = read_secret(o, "oidc_client_secret", out.oidc_client_secret_source);
  if (o.fatal_count() != before) {
    return; // one of them is there but wrong, and reported
  }
  const int given = (out.oidc_token_url.empty() ? 0 : 1) + (out.oidc_client_id.empty() ? 0 : 1) +
                    (out.oidc_client_secret.empty() ? 0 : 1);
  if (given == 1 || given == 2) {
    const std::string_view at = !out.oidc_token_url.empty()   ? "oidc_token_url"
                                : !out.oidc_client_id.empty() ? "oidc_client_id"
                                                              : "oidc_client_secret";
    o.fail(
        at,
        "oidc_token_url, oidc_client_id and oidc_client_secret belong together; set all three or "
        "none"
    );
  } else if (given == 0 && out.waldur_api_token.empty()) {
    o.fail(
        "waldur_api_token",
        "required (or all of oidc_token_url, oidc_client_id, oidc_client_secret)"
    );
  }
}

// Absent or null: backend_type; "": the role is off.
std::string read_role(map_reader& o, std::string_view key, const std::string& backend_type) {
  const auto written = o.text(key);
  if (!written) {
    return backend_type;
  }
  if (!written->empty() && !is_plugin_name(*written)) {
    o.fail(key, "expected the name of a plugin: letters, digits, '-' and '_'");
  }
  return *written;
}

// Absent or null: "base"; "": off; what this agent does not have is off, too, as an unknown name
// was in the Python agent.
std::string read_usernames(map_reader& o) {
  constexpr std::string_view key = "username_management_backend";
  const std::string written = o.text(key).value_or("base");
  if (written.empty() || written == "base") {
    return written;
  }
  const std::string whose = is_python_only_username_plugin(written)
                                ? "is a plugin of the Python agent that this one does not have"
                                : "is unknown";
  o.warn(
      key,
      shown(*o.get(key)) + " " + whose +
          "; usernames are left alone. Expected base, or an empty text for off"
  );
  return {};
}

void read_routing(map_reader& o, offering& out) {
  out.backend_type = base::to_lower(o.required_text("backend_type"));
  if (!base::trim(out.backend_type).empty() && !is_plugin_name(out.backend_type)) {
    o.fail("backend_type", "expected the name of a plugin: letters, digits, '-' and '_'");
  }
  out.order_processing_backend = read_role(o, "order_processing_backend", out.backend_type);
  out.membership_sync_backend = read_role(o, "membership_sync_backend", out.backend_type);
  out.reporting_backend = read_role(o, "reporting_backend", out.backend_type);
  out.username_management_backend = read_usernames(o);
  if (!out.backend_type.empty() && out.order_processing_backend.empty() &&
      out.membership_sync_backend.empty() && out.reporting_backend.empty()) {
    o.warn("order_processing_backend", "all three roles are off; this offering does nothing");
  }
}

void read_events(map_reader& o, offering& out) {
  out.stomp_enabled = o.boolean("stomp_enabled").value_or(false);
  const auto membership = o.boolean("stomp_membership_sync_enabled");
  out.stomp_membership_sync_enabled = membership.value_or(out.stomp_enabled);
  if (out.stomp_membership_sync_enabled && !out.stomp_enabled) {
    o.fail(
        "stomp_membership_sync_enabled",
        "true needs stomp_enabled: true, otherwise nobody would run membership sync"
    );
  }
  if (out.stomp_enabled && out.waldur_api_token.empty() && !out.oidc_token_url.empty()) {
    o.fail(
        "stomp_enabled", "needs waldur_api_token: the broker's password is the token, OIDC has none"
    );
  }
  out.websocket_use_tls = o.boolean("websocket_use_tls").value_or(true);
  if (const auto host = o.text("stomp_ws_host"); host && !host->empty()) {
    out.stomp_ws_host = *host;
    if (host->find_first_of("/ \t@") != std::string::npos) {
      o.fail("stomp_ws_host", "expected a host name or an address only");
    }
  }
  const std::int64_t usual = out.websocket_use_tls ? 443 : 80;
  out.stomp_ws_port =
      static_cast<std::uint16_t>(o.integer("stomp_ws_port", 1, 65'535).value_or(usual));
  if (const auto path = o.text("stomp_ws_path"); path && !path->empty()) {
    out.stomp_ws_path = *path;
    if (!path->starts_with('/')) {
      o.fail("stomp_ws_path", "must start with '/'");
    }
  }
}

void read_backend(context& ctx, map_reader& o, const value& map, offering& out) {
  out.backend_settings.type = value::kind::map;
  out.backend_settings.at = map.at;
  if (const value* settings = o.map("backend_settings")) {
    out.backend_settings = *settings;
  } else if (const value* empty = map.find("backend_settings")) {
    out.backend_settings.at = empty->key_at;
  }
  if (const value* components = o.map("backend_components")) {
    out.components = read_components(ctx, *components, o.path_of("backend_components"));
  }
}

bool is_mqtt(std::string_view key) {
  return key.starts_with("mqtt_");
}

void warn_of_mqtt(map_reader& o, const value& map) {
  std::string keys;
  std::string first;
  for (const auto& entry : map.map) {
    if (is_mqtt(entry.first)) {
      first = first.empty() ? entry.first : first;
      keys += (keys.empty() ? "" : ", ") + shown_key(entry.first);
    }
  }
  if (!first.empty()) {
    o.warn(
        first,
        "obsolete, no effect: MQTT is gone, events come over STOMP (stomp_enabled); remove " + keys
    );
  }
}

} // namespace

offering read_offering(context& ctx, const value& map, const std::string& path) {
  map_reader o(ctx, map, path);
  offering out;
  out.at = map.at;
  out.name = o.required_text("name");
  read_address(o, out);
  read_credentials(o, out);
  const std::string id = o.required_text("waldur_offering_uuid");
  if (const auto uuid = base::uuid::parse(base::trim(id))) {
    out.uuid = *uuid;
  } else if (!id.empty()) {
    o.fail("waldur_offering_uuid", "expected a UUID of 32 hex digits, with or without dashes");
  }
  out.verify_ssl = o.boolean("verify_ssl").value_or(true);
  read_routing(o, out);
  read_events(o, out);
  out.resource_import_enabled = o.boolean("resource_import_enabled").value_or(false);
  out.username_reconciliation_enabled =
      o.boolean("username_reconciliation_enabled").value_or(false);
  read_backend(ctx, o, map, out);
  warn_of_mqtt(o, map);
  o.finish(is_mqtt);
  out.digest = digest_of(map) ^
               (std::hash<std::string_view>()(out.waldur_api_token.reveal()) * 31U) ^
               (std::hash<std::string_view>()(out.oidc_client_secret.reveal()) * 37U);
  return out;
}

} // namespace siteagent::config
