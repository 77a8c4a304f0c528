// SPDX-License-Identifier: MIT
// Machines in great number.
#include "network.hpp"
#include "seeder.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <array>
#include <cstdio>
#include <optional>
#include <utility>

namespace siteagent::azure_emulator {

using base::json;
using base::result;

namespace {

constexpr std::int64_t most_machines = 100'000;
constexpr std::int64_t machines_per_subnet = 50; // finding a free address looks at all of them

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
  seed_power(s.state(), key_of(id), m.power);
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

std::string subnet_of(const machine_seed& m, std::int64_t index) {
  return group_id(m.subscription, m.group) +
         "/providers/Microsoft.Network/virtualNetworks/seed-vnet/subnets/subnet-" +
         std::to_string(index / machines_per_subnet);
}

result<void> place_machine(seeder& s, machine_seed m, std::int64_t index) {
  const auto number = index / machines_per_subnet;
  m.subnet = subnet_of(m, index);
  auto done = ensure_group(s, m.subscription, m.group, m.location);
  if (done) {
    done = seed_subnet(s, m, number);
  }
  return done ? seed_machine(s, m) : done;
}

// The same machine over and over: one went through the handlers, the others are copies of what
// became of it, with everything that is a machine's own replaced.
class copier {
public:
  copier(world& w, machine_seed first)
      : world_(w), first_(std::move(first)), first_subnet_key_(key_of(first_.subnet)) {
    const std::string group = group_id(first_.subscription, first_.group) + "/providers/";
    machine_ = *w.find(key_of(group + "Microsoft.Compute/virtualMachines/" + first_.name));
    interface_ =
        *w.find(key_of(group + "Microsoft.Network/networkInterfaces/" + first_.name + "-nic"));
    disk_ = *w.find(key_of(group + "Microsoft.Compute/disks/" + first_.name + "-os"));
  }

  // `address` is free in the subnet, which exists.
  void make(const machine_seed& m, const std::string& address) {
    to_ = &m;
    subnet_key_ = key_of(m.subnet);
    resource nic = renamed(interface_);
    const json guid = base::uuid::random().dashed();
    auto& properties = nic.body.member_ref("properties");
    properties.set("resourceGuid", guid);
    properties.member_ref("dnsSettings")
        .set("internalDomainNameSuffix", internal_domain(guid.string_or("")));
    properties.member_ref("ipConfigurations")
        .items()[0]
        .member_ref("properties")
        .set("privateIPAddress", address);
    nic.interface.mac = world_.new_mac();
    world_.touch_etag(nic);
    world_.put(std::move(nic));
    resource disk = renamed(disk_);
    disk.body.member_ref("properties").set("uniqueId", base::uuid::random().dashed());
    world_.put(std::move(disk));
    resource machine = renamed(machine_);
    machine.body.member_ref("properties").set("vmId", base::uuid::random().dashed());
    world_.put(std::move(machine));
  }

private:
  // No text of these bodies names both, or one of them twice.
  std::string replaced(std::string text) const {
    if (!swap(text, first_.subnet, to_->subnet)) {
      swap(text, first_.name, to_->name);
    }
    return text;
  }

  static bool swap(std::string& text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    if (at != std::string::npos) {
      text.replace(at, from.size(), to);
    }
    return at != std::string::npos;
  }

  void rename(json& value) const {
    if (const auto text = value.string()) {
      if (text->size() >= first_.name.size()) {
        value = json(replaced(std::string(*text)));
      }
    }
    for (auto& item : value.items()) {
      rename(item);
    }
    for (auto& [key, item] : value.members()) {
      rename(item);
    }
  }

  resource renamed(const resource& source) const {
    resource r = source;
    r.path.name = replaced(r.path.name);
    rename(r.body);
    for (auto& use : r.uses) { // keys: in lower case
      if (!swap(use, first_subnet_key_, subnet_key_)) {
        swap(use, first_.name, to_->name);
      }
    }
    return r;
  }

  world& world_;
  machine_seed first_;
  std::string first_subnet_key_;
  const machine_seed* to_ = nullptr;
  std::string subnet_key_;
  resource machine_;
  resource interface_;
  resource disk_;
};

// Addresses of a subnet begin behind those that the platform keeps.
std::string address_of(std::int64_t index) {
  const auto number = index / machines_per_subnet;
  return "10." + std::to_string(number / 256) + "." + std::to_string(number % 256) + "." +
         std::to_string(4 + index % machines_per_subnet);
}

result<void> seed_many(seeder& s, machine_seed m, std::int64_t count) {
  m.group = "seed-machines";
  m.tags = json::object({{"seeded", "true"}});
  // Beside machines of an earlier seed, each has to find its own place.
  const bool is_fresh = s.state().find_group(m.subscription, m.group) == nullptr;
  std::optional<copier> copies;
  for (std::int64_t i = 0; i < count; ++i) {
    std::array<char, 16> name{};
    std::snprintf(name.data(), name.size(), "vm-%06lld", static_cast<long long>(i + 1));
    m.name = name.data();
    m.subnet = subnet_of(m, i);
    if (copies) {
      if (auto done = seed_subnet(s, m, i / machines_per_subnet); !done) {
        return done;
      }
      copies->make(m, address_of(i));
    } else if (auto done = place_machine(s, m, i); !done) {
      return done;
    } else if (is_fresh) {
      copies.emplace(s.state(), m);
    }
  }
  return {};
}

} // namespace

result<void> seed_machines(seeder& s, const json& value) {
  drop_kind(s.state(), kind::virtual_machine);
  machine_seed m;
  m.subscription = s.first_subscription();
  m.location = "westeurope";
  m.size = "Standard_B1s";
  m.power = "running";
  if (const auto count = value.integer()) {
    return *count < 0 || *count > most_machines
               ? wrong_seed("machines", "at most " + std::to_string(most_machines))
               : seed_many(s, m, *count);
  }
  if (!value.is_array()) {
    return wrong_seed("machines", "must be a number or an array");
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

} // namespace siteagent::azure_emulator
