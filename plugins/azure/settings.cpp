// SPDX-License-Identifier: MIT
#include "plugins/azure/settings.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/offered.hpp"
#include "plugins/azure/settings_parts.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace parts {

base::error bad(std::string_view key, std::string_view why) {
  return make_error(
      reason::invalid,
      base::error_code::invalid,
      "Azure backend_settings." + std::string(key) + ": " + std::string(why)
  );
}

std::string text_of(const base::json& document, std::string_view key) {
  return std::string(base::trim(document[key].string_or("")));
}

base::result<std::vector<std::string>> texts_of(const base::json& document, std::string_view key) {
  const base::json& value = document[key];
  std::vector<std::string> out;
  if (value.is_null()) {
    return out;
  }
  if (const auto lone = value.string()) {
    out.emplace_back(base::trim(*lone));
    return out;
  }
  if (!value.is_array()) {
    return bad(key, "must be a list of texts");
  }
  for (const base::json& item : value.items()) {
    const auto text = item.string();
    if (!text || base::trim(*text).empty()) {
      return bad(key, "holds something that is no text");
    }
    out.emplace_back(base::trim(*text));
  }
  return out;
}

base::result<void> read_origin(const base::json& cloud, std::string_view key, std::string& target) {
  std::string text = text_of(cloud, key);
  if (text.empty()) {
    return {};
  }
  while (text.back() == '/') {
    text.pop_back();
  }
  const auto url = net::parse_url(text);
  const std::string name = "cloud." + std::string(key);
  if (!url) {
    return bad(name, "'" + text + "' is no http(s) origin: " + url.error().message);
  }
  if (url->target != "/") {
    return bad(name, "'" + text + "' must be an origin without a path");
  }
  if (url->origin.scheme == "http" && !url->origin.is_loopback()) {
    return bad(name, "'" + text + "' would send the credentials in clear text; use https");
  }
  target = url->origin.text();
  return {};
}

base::result<bool>
read_switch(const base::json& d, std::string_view key, std::string_view off, std::string_view on) {
  const std::string value = text_of(d, key);
  if (value.empty() || value == off) {
    return false;
  }
  if (value == on) {
    return true;
  }
  return bad(key, "'" + value + "' is neither " + std::string(off) + " nor " + std::string(on));
}

} // namespace parts

namespace {

using parts::bad;
using parts::read_origin;
using parts::read_switch;
using parts::text_of;

base::result<void> read_cloud(const base::json& d, settings& out) {
  const base::json& cloud = d["cloud"];
  if (!cloud.is_null() && !cloud.is_object()) {
    return bad("cloud", "must be a map of name, resource_manager, authority, audience, ca_file");
  }
  const std::string name = text_of(cloud, "name");
  if (!name.empty()) {
    const auto known = find_cloud(name);
    if (!known) {
      return known.error();
    }
    out.resource_manager = known->resource_manager;
    out.authority = known->authority;
    out.audience = known->audience;
  }
  if (auto r = read_origin(cloud, "resource_manager", out.resource_manager); !r) {
    return r;
  }
  if (auto r = read_origin(cloud, "authority", out.authority); !r) {
    return r;
  }
  // Tokens for an own cloud are asked for its own resource manager unless told otherwise.
  const std::string audience = text_of(cloud, "audience");
  if (!audience.empty() || name.empty()) {
    out.audience = audience.empty() ? out.resource_manager : audience;
  }
  out.ca_file = text_of(cloud, "ca_file");
  return {};
}

base::result<void> read_switches(const base::json& d, settings& out) {
  const auto no_password = read_switch(d, "password_login", "enabled", "disabled");
  const auto actual = read_switch(d, "disk_source", "size", "actual");
  const auto from_size = read_switch(d, "limits_source", "order", "size");
  for (const auto* r : {&no_password, &actual, &from_size}) {
    if (!*r) {
      return r->error();
    }
  }
  out.password_login = !*no_password;
  out.disk = *actual ? disk_source::actual : disk_source::size;
  out.limits_from_size = *from_size;
  return {};
}

base::result<void> read_polling(const base::json& d, settings& out) {
  const base::json& polling = d["polling"];
  for (const auto& [key, target] :
       {std::pair<std::string_view, std::chrono::milliseconds*>{"min_ms", &out.poll_min},
        {"max_ms", &out.poll_max}}) {
    if (polling[key].is_null()) {
      continue;
    }
    const auto value = polling[key].integer();
    if (!value || *value < 1 || *value > 3'600'000) {
      return bad("polling." + std::string(key), "must be milliseconds from 1 to 3600000");
    }
    *target = std::chrono::milliseconds(*value);
  }
  out.poll_max = std::max(out.poll_max, out.poll_min);
  return {};
}

base::result<void> check_group_name(const settings& s) {
  const std::string& group = s.default_resource_group;
  // Azure's own rule is wider than any pattern of ours; only what can never be a path is refused.
  if (group.size() > 360 || group.find_first_of("/?#%\\") != std::string::npos) {
    return bad("default_resource_group", "'" + group + "' is not a resource group name");
  }
  return {};
}

// Orders that name nothing would all be rejected.
void warn_of_defaults_outside(settings& s) {
  const auto warn = [&](std::string_view key, const std::string& value, bool outside) {
    if (!value.empty() && outside) {
      s.warnings.push_back(
          "default_" + std::string(key) + " '" + value + "' is not among allowed_" +
          std::string(key) + "s: orders that name no " + std::string(key) + " are rejected"
      );
    }
  };
  warn("size", s.default_size, !is_offered_size(s, s.default_size));
  warn("location", s.default_location, !is_offered_location(s, s.default_location));
  const auto image = parse_image(s.default_image);
  warn("image", image ? image->text() : "", image && !is_offered_image(s, *image));
}

} // namespace

base::result<settings> parse_settings(std::string_view json_text, const environment& env) {
  const auto document = base::json::parse(json_text);
  if (!document || !document->is_object()) {
    return make_error(
        reason::invalid, base::error_code::invalid, "Azure backend_settings is no JSON object"
    );
  }
  const base::json& d = *document;
  settings out;
  // First: the variable for the authority gives way to cloud.authority.
  if (auto r = read_credentials(d, out, env); !r) {
    return r.error();
  }
  for (const auto step :
       {read_cloud,
        parts::read_network,
        parts::read_tags,
        read_switches,
        read_polling,
        parts::read_rails}) {
    if (auto r = step(d, out); !r) {
      return r.error();
    }
  }
  out.default_location = normal_location(text_of(d, "default_location"));
  out.default_resource_group = text_of(d, "default_resource_group");
  out.default_size = text_of(d, "default_size");
  out.default_image = d["default_image"];
  if (auto r = check_group_name(out); !r) {
    return r.error();
  }
  warn_of_defaults_outside(out);
  return out;
}

} // namespace siteagent::azure
