// SPDX-License-Identifier: MIT
#include "seed.hpp"

#include "admission.hpp"
#include "billing.hpp"
#include "happenings.hpp"
#include "operations.hpp"
#include "routes.hpp"

#include "core/base/text.hpp"

#include <array>
#include <cstdio>

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;
using base::json;
using base::result;

namespace {

constexpr std::int64_t most_machines = 100'000;
constexpr std::int64_t machines_per_subnet = 50; // finding a free address looks at all of them

error wrong(const std::string& key, const std::string& why) {
  return {error_code::invalid, "seed: " + key + ": " + why};
}

// Objects enter through the same handlers as requests, so a seed cannot make what Azure would not.
class seeder {
public:
  seeder(world& w, base::wall_time now) : world_(w) {
    call_.base_url = "http://localhost";
    call_.now = now;
  }

  result<void> put(const std::string& key, const std::string& path, const json& body) {
    net::server_request http;
    http.method = "PUT";
    http.path = path;
    http.query = "api-version=2024-07-01";
    http.target = path + "?" + http.query;
    for (const auto part : base::split(path, '/')) {
      if (!part.empty()) {
        http.segments.emplace_back(part);
      }
    }
    http.parameters = {{"api-version", "2024-07-01"}};
    const auto* subscription = world_.offer.find_subscription(http.segments[1]);
    if (subscription == nullptr) {
      return wrong(key, "no subscription " + http.segments[1]);
    }
    context c{world_, http, call_, subscription, "seed", "2024-07-01", body};
    const auto misplaced = check_place(c, target_of(http));
    const reply answer = misplaced ? *misplaced : route_subscription(c);
    if (answer.status >= 300) {
      return wrong(key, path + ": " + answer.body);
    }
    end_operation(key_of(path));
    return {};
  }

  void end_operation(const std::string& key) {
    const auto* r = world_.find(key);
    const auto it =
        r == nullptr ? world_.operations.end() : world_.operations.find(key_of(r->operation));
    if (it != world_.operations.end()) {
      finish(world_, it->second, call_.now);
      world_.operations.erase(it); // nobody polls it, and there may be many
    }
  }

  world& state() { return world_; }

  std::string first_subscription() const {
    return world_.offer.subscriptions.empty() ? std::string() : world_.offer.subscriptions[0].id;
  }

private:
  world& world_;
  emulators::call call_;
};

void drop_kind(world& w, kind k) {
  std::vector<std::string> keys;
  for (const auto& [key, r] : w.resources) {
    if (r.path.kind == k) {
      keys.push_back(key);
    }
  }
  for (const auto& key : keys) {
    for (const auto& child : w.children(key)) {
      w.erase(child);
    }
    w.erase(key);
  }
}

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

result<void> ensure_group(
    seeder& s, const std::string& subscription, const std::string& name, const std::string& location
) {
  if (s.state().find_group(subscription, name) != nullptr) {
    return {};
  }
  return s.put(
      "resourceGroups", group_id(subscription, name), json::object({{"location", location}})
  );
}

void set_power(world& w, const std::string& key, const std::string& word) {
  auto* r = w.find(key);
  if (r == nullptr) {
    return;
  }
  const power p = word == "deallocated" ? power::deallocated
                  : word == "stopped"   ? power::stopped
                                        : power::running;
  r->machine.power = p;
  r->machine.power_seen = p;
}

// {"resourceGroup", "name", ["subscription"], ["virtualNetwork" of a subnet], the body of a PUT}
result<void> seed_objects(seeder& s, const kind_info& info, const json& value) {
  const std::string key(info.list_name);
  if (!value.is_array()) {
    return wrong(key, "must be an array");
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
      return wrong(key, "each element needs resourceGroup, name and the name of its parent");
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
      set_power(s.state(), path.key(), item["power"].string_or("running"));
    }
  }
  return {};
}

struct machine_seed {
  std::string subscription;
  std::string group;
  std::string name;
  std::string location;
  std::string size;
  std::string power;
  std::string subnet;
  json tags;
};

json machine_body(const machine_seed& m, const std::string& interface) {
  json body = json::object({{"location", m.location}});
  if (m.tags.is_object()) {
    body.set("tags", m.tags);
  }
  json disk = json::object({{"createOption", "FromImage"}, {"deleteOption", "Delete"}});
  disk.set("name", m.name + "-os");
  body.set(
      "properties",
      json::object(
          {{"hardwareProfile", json::object({{"vmSize", m.size}})},
           {"storageProfile",
            json::object(
                {{"imageReference",
                  json::object(
                      {{"publisher", "Canonical"},
                       {"offer", "ubuntu-24_04-lts"},
                       {"sku", "server"},
                       {"version", "latest"}}
                  )},
                 {"osDisk", disk}}
            )},
           {"osProfile",
            json::object(
                {{"computerName", m.name},
                 {"adminUsername", "azureuser"},
                 {"adminPassword", "Seeded-machine-1"}}
            )},
           {"networkProfile",
            json::object(
                {{"networkInterfaces",
                  json::array({json::object(
                      {{"id", interface},
                       {"properties",
                        json::object({{"primary", true}, {"deleteOption", "Delete"}})}}
                  )})}}
            )}}
      )
  );
  return body;
}

// One machine with its interface; the group and the subnet exist.
result<void> seed_machine(seeder& s, const machine_seed& m) {
  const std::string root = group_id(m.subscription, m.group) + "/providers/";
  const std::string interface = root + "Microsoft.Network/networkInterfaces/" + m.name + "-nic";
  json nic = json::object({{"location", m.location}});
  if (m.tags.is_object()) {
    nic.set("tags", m.tags);
  }
  nic.set(
      "properties",
      json::object(
          {{"ipConfigurations",
            json::array({json::object(
                {{"name", "ipconfig1"},
                 {"properties", json::object({{"subnet", json::object({{"id", m.subnet}})}})}}
            )})}}
      )
  );
  if (auto done = s.put("machines", interface, nic); !done) {
    return done;
  }
  const std::string id = root + "Microsoft.Compute/virtualMachines/" + m.name;
  if (auto done = s.put("machines", id, machine_body(m, interface)); !done) {
    return done;
  }
  set_power(s.state(), key_of(id), m.power);
  return {};
}

result<void> seed_subnet(seeder& s, const machine_seed& m, std::int64_t number) {
  const std::string network =
      group_id(m.subscription, m.group) + "/providers/Microsoft.Network/virtualNetworks/seed-vnet";
  if (s.state().find(key_of(network)) == nullptr) {
    const json body = json::object(
        {{"location", m.location},
         {"properties",
          json::object(
              {{"addressSpace", json::object({{"addressPrefixes", json::array({"10.0.0.0/8"})}})}}
          )}}
    );
    if (auto done = s.put("machines", network, body); !done) {
      return done;
    }
  }
  if (s.state().find(key_of(m.subnet)) != nullptr) {
    return {};
  }
  const std::string prefix =
      "10." + std::to_string(number / 256) + "." + std::to_string(number % 256) + ".0/24";
  return s.put(
      "machines",
      m.subnet,
      json::object({{"properties", json::object({{"addressPrefix", prefix}})}})
  );
}

result<void> place_machine(seeder& s, machine_seed m, std::int64_t index) {
  const auto number = index / machines_per_subnet;
  m.subnet = group_id(m.subscription, m.group) +
             "/providers/Microsoft.Network/virtualNetworks/seed-vnet/subnets/subnet-" +
             std::to_string(number);
  auto done = ensure_group(s, m.subscription, m.group, m.location);
  if (done) {
    done = seed_subnet(s, m, number);
  }
  return done ? seed_machine(s, m) : done;
}

// A number, or [{"resourceGroup", "name", "size", "location", "tags", "power"}].
result<void> seed_machines(seeder& s, const json& value) {
  drop_kind(s.state(), kind::virtual_machine);
  machine_seed m;
  m.subscription = s.first_subscription();
  m.location = "westeurope";
  m.size = "Standard_B1s";
  m.power = "running";
  if (const auto count = value.integer()) {
    if (*count < 0 || *count > most_machines) {
      return wrong("machines", "at most " + std::to_string(most_machines));
    }
    m.group = "seed-machines";
    m.tags = json::object({{"seeded", "true"}});
    for (std::int64_t i = 0; i < *count; ++i) {
      std::array<char, 16> name{};
      std::snprintf(name.data(), name.size(), "vm-%06lld", static_cast<long long>(i + 1));
      m.name = name.data();
      if (auto done = place_machine(s, m, i); !done) {
        return done;
      }
    }
    return {};
  }
  if (!value.is_array()) {
    return wrong("machines", "must be a number or an array");
  }
  std::int64_t index = 0;
  for (const auto& item : value.items()) {
    machine_seed one = m;
    one.subscription = item["subscription"].string_or(m.subscription);
    one.group = item["resourceGroup"].string_or("seed-machines");
    one.name = item["name"].string_or("vm-" + std::to_string(index + 1));
    one.location = normalized_location(item["location"].string_or(m.location));
    one.size = item["size"].string_or(m.size);
    one.power = item["power"].string_or(m.power);
    one.tags = item["tags"];
    if (auto done = place_machine(s, one, index++); !done) {
      return done;
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
  if (const auto* groups = document.find("resourceGroups")) {
    if (auto done = seed_groups(s, *groups); !done) {
      return done;
    }
  }
  constexpr std::array<kind, 10> order = {
      kind::ssh_key,
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
      return wrong(key, "unknown key or wrong value");
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
