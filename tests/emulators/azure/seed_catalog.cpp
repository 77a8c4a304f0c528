// SPDX-License-Identifier: MIT
// The part of a seed that says what the cloud offers.
#include "catalog.hpp"
#include "ids.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;
using base::json;
using base::result;

namespace {

error wrong(std::string_view key, const std::string& why) {
  return {error_code::invalid, "seed: " + std::string(key) + ": " + why};
}

std::vector<std::string> texts(const json& list) {
  std::vector<std::string> out;
  for (const auto& item : list.items()) {
    out.push_back(item.string_or(""));
  }
  return out;
}

std::vector<std::string> location_names(const json& list) {
  std::vector<std::string> out;
  for (const auto& name : texts(list)) {
    out.push_back(normalized_location(name));
  }
  return out;
}

// Each element of an array of objects with a non-empty member `required`.
template <class Entry, class Read>
result<bool> read_list(
    std::vector<Entry>& out,
    std::string_view key,
    const json& value,
    const char* required,
    Read read
) {
  if (!value.is_array()) {
    return wrong(key, "must be an array");
  }
  std::vector<Entry> entries;
  for (const auto& item : value.items()) {
    if (!item.is_object() || item[required].string_or("").empty()) {
      return wrong(key, std::string("each element needs ") + required);
    }
    entries.push_back(read(item));
  }
  out = std::move(entries);
  return true;
}

subscription_entry read_subscription(const json& item) {
  subscription_entry s;
  s.id = item["id"].string_or("");
  s.tenant = item["tenant"].string_or("22222222-2222-2222-2222-222222222222");
  s.name = item["name"].string_or(s.name);
  s.state = item["state"].string_or(s.state);
  s.quota_id = item["quota_id"].string_or(s.quota_id);
  s.spending_limit = item["spending_limit"].string_or(s.spending_limit);
  for (const auto& [name, state] : item["providers"].members()) {
    s.providers[base::to_lower(name)] = state.string_or("Registered");
  }
  return s;
}

permission_entry read_permission(const json& item) {
  permission_entry p;
  p.scope = item["scope"].string_or("/");
  p.actions = texts(item["actions"]);
  p.not_actions = texts(item["notActions"]);
  p.effective_after_s = item["effective_after_s"].integer().value_or(0);
  return p;
}

application_entry read_application(const json& item) {
  application_entry a;
  a.tenant = item["tenant"].string_or("22222222-2222-2222-2222-222222222222");
  a.client_id = item["client_id"].string_or("");
  a.secret = item["secret"].string_or("emulator-secret");
  a.object_id = item["object_id"].string_or(a.client_id);
  a.secret_expired = item["secret_expired"].boolean().value_or(false);
  if (const auto* list = item.find("permissions"); list != nullptr && list->is_array()) {
    a.permissions.emplace();
    for (const auto& permission : list->items()) {
      a.permissions->push_back(read_permission(permission));
    }
  }
  return a;
}

result<bool> read_applications(catalog& c, const json& value) {
  auto known = read_list(c.applications, "applications", value, "client_id", read_application);
  for (std::size_t i = 0; known && i < c.applications.size(); ++i) {
    auto login = read_login(value[i]);
    if (!login) {
      return login.error();
    }
    c.applications[i].login = std::move(*login);
  }
  return known;
}

location_entry read_location(const json& item) {
  location_entry l;
  l.name = normalized_location(item["name"].string_or(""));
  l.display = item["display_name"].string_or(item["name"].string_or(""));
  l.geography = item["geography"].string_or("Europe");
  l.has_zones = item["zones"].boolean().value_or(true);
  l.physical = item["physical_location"].string_or("");
  l.longitude = item["longitude"].number_text().value_or("");
  l.latitude = item["latitude"].number_text().value_or("");
  l.pair = normalized_location(item["paired_region"].string_or(""));
  return l;
}

size_entry read_size(const json& item) {
  size_entry s;
  s.name = item["name"].string_or("");
  s.family = item["family"].string_or("standardEmulatedFamily");
  s.cores = item["cores"].integer().value_or(1);
  s.memory_gib = item["memory_gib"].number_text().value_or("1");
  s.memory_mib =
      item["memory_mib"].integer().value_or(item["memory_gib"].integer().value_or(1) * 1024);
  s.temporary_disk_mib = item["temporary_disk_mib"].integer().value_or(0);
  s.data_disks = item["data_disks"].integer().value_or(4);
  s.interfaces = item["interfaces"].integer().value_or(2);
  s.generations = item["generations"].string_or("V1,V2");
  s.architecture = item["architecture"].string_or("x64");
  s.premium_storage = item["premium_storage"].boolean().value_or(true);
  s.accelerated_networking = item["accelerated_networking"].boolean().value_or(false);
  s.trusted_launch = item["trusted_launch"].boolean().value_or(true);
  s.spot = item["spot"].boolean().value_or(true);
  s.locations = location_names(item["locations"]);
  return s;
}

image_entry read_image(const json& item) {
  image_entry i;
  i.publisher = item["publisher"].string_or("");
  i.offer = item["offer"].string_or("");
  i.sku = item["sku"].string_or("");
  i.version = item["version"].string_or("1.0.0");
  i.os = item["os"].string_or("Linux");
  i.generation = item["generation"].string_or("V2");
  i.architecture = item["architecture"].string_or("x64");
  i.size_gib = item["size_gib"].integer().value_or(30);
  i.trusted_launch = item["trusted_launch"].boolean().value_or(i.generation == "V2");
  i.id = item["id"].string_or("");
  i.state = item["state"].string_or("Active");
  i.plan = item["plan"];
  i.locations = location_names(item["locations"]);
  return i;
}

restriction_entry read_restriction(const json& item) {
  std::string location = item["location"].string_or("*");
  return {
      item["size"].string_or("*"),
      location == "*" ? location : normalized_location(location),
      item["reason"].string_or("NotAvailableForSubscription"),
      texts(item["zones"])};
}

policy_entry read_policy(const json& item) {
  policy_entry p;
  p.name = item["name"].string_or("");
  p.effect = base::to_lower(item["effect"].string_or("deny"));
  p.scope = item["scope"].string_or("");
  p.type = item["type"].string_or("*");
  p.location = normalized_location(item["location"].string_or(""));
  p.allowed_locations = location_names(item["allowed_locations"]);
  p.allowed_sizes = texts(item["allowed_sizes"]);
  p.denied_sizes = texts(item["denied_sizes"]);
  p.required_tag = item["required_tag"].string_or("");
  p.tags = item["tags"];
  return p;
}

result<bool> read_policies(catalog& c, std::string_view key, const json& value) {
  auto known = read_list(c.policies, key, value, "name", read_policy);
  for (const auto& p : c.policies) {
    if (p.effect != "deny" && p.effect != "append" && p.effect != "modify") {
      return wrong(key, "effect must be deny, append or modify");
    }
  }
  return known;
}

result<quota_table> read_quota(std::string_view key, const json& value) {
  quota_table q;
  if (!value.is_object()) {
    return wrong(key, "must be an object");
  }
  for (const auto& [name, number] : value.members()) {
    const auto n = number.integer();
    if (name == "cores" && n) {
      q.cores = *n;
    } else if (name == "family_cores" && n) {
      q.family_cores = *n;
    } else if (name == "low_priority_cores" && n) {
      q.low_priority_cores = *n;
    } else if (name == "public_addresses" && n) {
      q.public_addresses = *n;
    } else if (name == "families" && number.is_object()) {
      for (const auto& [family, limit] : number.members()) {
        q.families[base::to_lower(family)] = limit.integer().value_or(0);
      }
    } else {
      return wrong(key, "unknown quota or wrong type: " + name);
    }
  }
  return q;
}

result<bool> read_location_quotas(catalog& c, std::string_view key, const json& value) {
  std::map<std::string, quota_table> tables;
  for (const auto& [location, quota] : value.members()) {
    auto parsed = read_quota(key, quota);
    if (!parsed) {
      return parsed.error();
    }
    tables[normalized_location(location)] = *parsed;
  }
  c.location_quotas = std::move(tables);
  return true;
}

} // namespace

result<bool> seed_catalog(catalog& c, std::string_view key, const json& value) {
  if (key == "subscriptions") {
    return read_list(c.subscriptions, key, value, "id", read_subscription);
  }
  if (key == "applications") {
    return read_applications(c, value);
  }
  if (key == "locations") {
    return read_list(c.locations, key, value, "name", read_location);
  }
  if (key == "sizes") {
    return read_list(c.sizes, key, value, "name", read_size);
  }
  if (key == "images") {
    return read_list(c.images, key, value, "publisher", read_image);
  }
  if (key == "own_images") {
    return read_list(c.own_images, key, value, "id", read_image);
  }
  if (key == "restrictions") {
    return read_list(c.restrictions, key, value, "size", read_restriction);
  }
  if (key == "policies") {
    return read_policies(c, key, value);
  }
  if (key == "denied_locations" && value.is_array()) {
    c.denied_locations = location_names(value);
    return true;
  }
  if (key == "quotas") {
    auto parsed = read_quota(key, value);
    if (!parsed) {
      return parsed.error();
    }
    c.quotas = *parsed;
    return true;
  }
  if (key == "location_quotas") {
    return read_location_quotas(c, key, value);
  }
  if (key == "providers") {
    std::map<std::string, std::string> providers;
    for (const auto& [name, state] : value.members()) {
      providers[name] = state.string_or("Registered");
    }
    c.providers = std::move(providers);
    return true;
  }
  return seed_login(c.login, key, value);
}

} // namespace siteagent::azure_emulator
