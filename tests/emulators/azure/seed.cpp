// SPDX-License-Identifier: MIT
#include "seed.hpp"

#include "billing.hpp"
#include "happenings.hpp"
#include "seed_site.hpp"
#include "seeder.hpp"

#include "core/base/text.hpp"

#include <array>

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;
using base::json;
using base::result;

namespace {

result<void> seed_groups(seeder& s, const json& value) {
  s.state().clear_objects();
  for (const auto& item : value.items()) {
    const std::string name = item["name"].string_or("");
    json body = item;
    body.erase("name");
    body.erase("subscription");
    if (body["location"].is_null()) {
      body.set("location", "westeurope");
    }
    const std::string path = group_id(item["subscription"].string_or(s.first_subscription()), name);
    if (auto done = s.put("resourceGroups", path, body); !done) {
      return done;
    }
  }
  return {};
}

// {"resourceGroup", "name", ["subscription"], ["virtualNetwork" of a subnet], the body of a PUT}
result<void> seed_objects(seeder& s, const kind_info& info, const json& value) {
  const std::string key(info.list_name);
  if (!value.is_array()) {
    return wrong_seed(key, "must be an array");
  }
  drop_kind(s.state(), info.kind);
  for (const auto& item : value.items()) {
    resource_path path;
    path.kind = info.kind;
    path.subscription = item["subscription"].string_or(s.first_subscription());
    path.group = item["resourceGroup"].string_or("");
    path.name = item["name"].string_or("");
    if (!info.child.empty()) {
      path.child = path.name;
      path.name =
          item[info.kind == kind::subnet ? "virtualNetwork" : "networkSecurityGroup"].string_or("");
    }
    if (path.group.empty() || path.name.empty()) {
      return wrong_seed(key, "each element needs resourceGroup, name and the name of its parent");
    }
    json body = item;
    for (const auto* own :
         {"subscription",
          "resourceGroup",
          "name",
          "virtualNetwork",
          "networkSecurityGroup",
          "power"}) {
      body.erase(own);
    }
    const std::string location = body["location"].string_or("westeurope");
    if (info.child.empty()) {
      body.set("location", location);
    }
    auto done = ensure_group(s, path.subscription, path.group, location);
    if (done) {
      done = s.put(key, path.id(), body);
    }
    if (!done) {
      return done;
    }
    if (info.kind == kind::virtual_machine) {
      seed_power(s.state(), path.key(), item["power"].string_or("running"));
    }
  }
  return {};
}

// Settings of the emulator itself; false: no such key.
result<bool> seed_setting(world& w, const std::string& key, const json& value) {
  const auto number = value.integer();
  const auto flag = value.boolean();
  if (key == "page_size" && number && *number > 0) {
    w.machine_page = static_cast<std::size_t>(*number);
    w.generic_page = w.machine_page;
  } else if (key == "interface_hold_s" && number && *number >= 0) {
    w.interface_hold = std::chrono::seconds(*number);
  } else if (key == "billing") {
    auto checked = read_billing(value);
    if (!checked) {
      return checked.error();
    }
    w.billing = *std::move(checked);
  } else if (key == "prices") {
    auto parsed = read_prices(value);
    if (!parsed) {
      return parsed.error();
    }
    w.prices = *std::move(parsed);
  } else if (key == "registration_s" && number && *number >= 0) {
    w.registration = std::chrono::seconds(*number);
  } else if (key == "virtual_network_update_status" && (number == 200 || number == 201)) {
    w.network_update_status = static_cast<int>(*number);
  } else if (key == "basic_addresses_allowed" && flag) {
    w.basic_addresses_allowed = *flag;
  } else if (key == "public_addresses" && value.is_array()) {
    w.public_addresses.clear();
    for (const json& item : value.items()) {
      if (!item.is_string()) {
        return false;
      }
      w.public_addresses.push_back(item.string_or(""));
    }
  } else if (key == "machine_tags_on_disks" && flag) {
    w.machine_tags_on_disks = *flag;
  } else if (key == "upper_case_groups_in_lists" && flag) {
    w.upper_case_groups_in_lists = *flag;
  } else {
    return false;
  }
  return true;
}

bool is_object_key(const std::string& key) {
  if (key == "resourceGroups" || key == "machines" || key == "actions") {
    return true;
  }
  for (const auto& info : all_kinds()) {
    if (info.list_name == key) {
      return true;
    }
  }
  return false;
}

// In the order of their references, whatever the order in the document.
result<void> seed_all_objects(seeder& s, const json& document) {
  if (const auto* site = document.find("site")) {
    if (auto done = add_site_objects(s, *site); !done) {
      return done;
    }
  }
  if (const auto* groups = document.find("resourceGroups")) {
    if (auto done = seed_groups(s, *groups); !done) {
      return done;
    }
  }
  constexpr std::array<kind, 11> order = {
      kind::ssh_key,
      kind::availability_set,
      kind::application_group,
      kind::security_group,
      kind::security_rule,
      kind::virtual_network,
      kind::subnet,
      kind::public_ip,
      kind::network_interface,
      kind::disk,
      kind::virtual_machine,
  };
  for (const auto k : order) {
    if (const auto* value = document.find(info_of(k).list_name)) {
      if (auto done = seed_objects(s, info_of(k), *value); !done) {
        return done;
      }
    }
  }
  if (const auto* machines = document.find("machines")) {
    return seed_machines(s, *machines);
  }
  return {};
}

} // namespace

result<void> apply_seed(world& w, const json& document, base::wall_time now) {
  if (!document.is_object()) {
    return error{error_code::invalid, "seed: the document must be a JSON object"};
  }
  if (auto done = apply_settings(w, document, now); !done) {
    return done;
  }
  seeder s(w, now);
  w.quotas_checked = false;
  auto done = seed_all_objects(s, document);
  w.quotas_checked = true;
  return done ? seed_actions(w, document["actions"], now) : done;
}

result<void> apply_settings(world& w, const json& document, base::wall_time now) {
  for (const auto& [key, value] : document.members()) {
    if (is_object_key(key)) {
      continue;
    }
    if (key == "site") {
      if (auto done = add_site_offers(w.offer, value); !done) {
        return done;
      }
      w.seeded[key] = value;
      continue;
    }
    auto known = seed_catalog(w.offer, key, value);
    if (known && !*known) {
      known = seed_setting(w, key, value);
    }
    if (known && !*known) {
      known = seed_behaviour(w.behaviour, key, value);
    }
    if (!known) {
      return known.error();
    }
    if (!*known) {
      return wrong_seed(key, "unknown key or wrong value");
    }
    if (key == "providers" || key == "subscriptions") {
      w.provider_states.clear();
      w.registrations.clear();
    }
    w.seeded[key] = value;
  }
  if (document.find("applications") != nullptr) {
    w.roles_since = now;
    for (auto& a : w.offer.applications) {
      if (!a.permissions) {
        continue;
      }
      for (auto& p : *a.permissions) {
        p.effective_from = now + std::chrono::seconds(p.effective_after_s);
      }
    }
  }
  return {};
}

} // namespace siteagent::azure_emulator
