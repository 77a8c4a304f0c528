// SPDX-License-Identifier: MIT
#include "plugins/azure/settings.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/cidr.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace {

constexpr std::size_t most_tags = 40; // Azure allows 50; the host's own need room

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

base::result<void> read_credentials(const base::json& d, settings& out) {
  const std::array<std::pair<std::string_view, std::string*>, 4> required{
      {{"subscription_id", &out.subscription_id},
       {"tenant_id", &out.tenant_id},
       {"client_id", &out.client_id},
       {"client_secret", &out.client_secret}}};
  std::vector<std::string> missing;
  for (const auto& [key, target] : required) {
    *target = text_of(d, key);
    if (target->empty()) {
      missing.emplace_back(key);
    }
  }
  if (!missing.empty()) {
    return make_error(
        reason::invalid,
        base::error_code::invalid,
        "Azure backend requires " + base::join(missing, ", ") + " in backend_settings"
    );
  }
  return {};
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

base::result<void> read_cloud(const base::json& d, settings& out) {
  const base::json& cloud = d["cloud"];
  if (!cloud.is_null() && !cloud.is_object()) {
    return bad("cloud", "must be a map of resource_manager, authority, audience, ca_file");
  }
  if (auto r = read_origin(cloud, "resource_manager", out.resource_manager); !r) {
    return r;
  }
  if (auto r = read_origin(cloud, "authority", out.authority); !r) {
    return r;
  }
  // Tokens for an own cloud are asked for its own resource manager unless told otherwise.
  const std::string audience = text_of(cloud, "audience");
  out.audience = audience.empty() ? out.resource_manager : audience;
  out.ca_file = text_of(cloud, "ca_file");
  return {};
}

base::result<void> read_network(const base::json& d, settings& out) {
  for (const auto& [key, target] :
       {std::pair<std::string_view, std::string*>{"network_cidr", &out.network_cidr},
        {"subnet_cidr", &out.subnet_cidr}}) {
    if (const std::string given = text_of(d, key); !given.empty()) {
      *target = given;
    }
    const auto parsed = cidr::parse(*target);
    if (!parsed || target->find('/') == std::string::npos) {
      return bad(key, "'" + *target + "' is not an address range such as 10.0.0.0/16");
    }
    if (parsed->has_host_bits()) {
      return bad(
          key, "'" + *target + "' has bits beyond its length; did you mean " + parsed->text() + "?"
      );
    }
  }
  const auto network = cidr::parse(out.network_cidr);
  const auto subnet = cidr::parse(out.subnet_cidr);
  if (!network->contains(*subnet)) {
    return bad(
        "subnet_cidr",
        "'" + out.subnet_cidr + "' does not lie inside network_cidr '" + out.network_cidr + "'"
    );
  }
  if (!subnet->v6 && subnet->length > 29) {
    return bad("subnet_cidr", "'" + out.subnet_cidr + "' is too small; Azure needs /29 or larger");
  }
  return {};
}

bool is_service_tag(std::string_view text) {
  const bool starts =
      !text.empty() && ((text[0] >= 'A' && text[0] <= 'Z') || (text[0] >= 'a' && text[0] <= 'z'));
  return starts && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_';
         });
}

base::result<void> read_ssh_ranges(const base::json& d, settings& out) {
  auto given = texts_of(d, "allowed_ssh_ranges");
  if (!given) {
    return given.error();
  }
  for (std::string& range : *given) {
    const auto parsed = cidr::parse(range);
    const bool anybody = range == "Internet" || (parsed && parsed->length == 0);
    if (!parsed && !is_service_tag(range)) {
      return bad(
          "allowed_ssh_ranges", "'" + range + "' is no address range, address or service tag"
      );
    }
    if (anybody) {
      out.warnings.push_back("allowed_ssh_ranges: '" + range + "' opens SSH to the whole internet");
    }
    out.allowed_ssh_ranges.push_back(parsed ? parsed->text() : range);
  }
  return {};
}

base::result<void> read_tags(const base::json& d, settings& out) {
  const base::json& tags = d["tags"];
  if (!tags.is_null() && !tags.is_object()) {
    return bad("tags", "must be a map of names to texts");
  }
  if (tags.size() > most_tags) {
    return bad("tags", "holds more than " + std::to_string(most_tags) + " tags");
  }
  for (const auto& [name, value] : tags.members()) {
    const auto text = value.number_text();
    const std::string lower = base::to_lower(name);
    const bool reserved = lower.rfind("microsoft", 0) == 0 || lower.rfind("azure", 0) == 0 ||
                          lower.rfind("windows", 0) == 0;
    if (!text || text->size() > 256) {
      return bad("tags", "'" + name + "' must be a text of at most 256 characters");
    }
    if (name.empty() || name.size() > 512 || reserved ||
        name.find_first_of("<>%&\\?/") != std::string::npos) {
      return bad("tags", "'" + name + "' is not a tag name Azure allows");
    }
    out.tags.emplace(name, *text);
  }
  return {};
}

// Promised for later; ignoring them would spend money the operator meant to hold back.
base::result<void> refuse_unfinished(const base::json& d) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> unfinished{
      {{"max_hourly_price", "a price limit is not supported by this version; remove it"},
       {"max_machines", "a machine limit is not supported by this version; remove it"},
       {"subnet_id", "an existing subnet is not supported by this version; remove it"}}};
  for (const auto& [key, why] : unfinished) {
    if (!d[key].is_null()) {
      return bad(key, why);
    }
  }
  if (d["public_ip"].string_or("standard") != "standard") {
    return bad(
        "public_ip",
        "machines without a public address are not supported by this version; remove it"
    );
  }
  if (!d["cloud"]["prices"].is_null()) {
    return bad("cloud.prices", "prices are not supported by this version; remove it");
  }
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

base::result<void> read_rails(const base::json& d, settings& out) {
  for (const auto& [key, target] :
       {std::pair<std::string_view, std::vector<std::string>*>{"allowed_sizes", &out.allowed_sizes},
        {"allowed_locations", &out.allowed_locations},
        {"allowed_images", &out.allowed_images}}) {
    auto given = texts_of(d, key);
    if (!given) {
      return given.error();
    }
    *target = std::move(*given);
  }
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

} // namespace

base::result<settings> parse_settings(std::string_view json_text) {
  const auto document = base::json::parse(json_text);
  if (!document || !document->is_object()) {
    return make_error(
        reason::invalid, base::error_code::invalid, "Azure backend_settings is no JSON object"
    );
  }
  const base::json& d = *document;
  settings out;
  for (const auto step :
       {read_credentials,
        read_cloud,
        read_network,
        read_ssh_ranges,
        read_tags,
        read_switches,
        read_polling,
        read_rails}) {
    if (auto r = step(d, out); !r) {
      return r.error();
    }
  }
  if (auto r = refuse_unfinished(d); !r) {
    return r.error();
  }
  out.default_location = normal_location(text_of(d, "default_location"));
  out.default_resource_group = text_of(d, "default_resource_group");
  out.default_size = text_of(d, "default_size");
  out.default_image = d["default_image"];
  if (auto r = check_group_name(out); !r) {
    return r.error();
  }
  if (out.allowed_ssh_ranges.empty()) {
    out.warnings.emplace_back(
        "allowed_ssh_ranges is empty: machines of this offering accept no SSH connections"
    );
  }
  return out;
}

} // namespace siteagent::azure
