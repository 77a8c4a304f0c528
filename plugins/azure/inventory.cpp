// SPDX-License-Identifier: MIT
#include "plugins/azure/inventory.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/kinds.hpp"

#include <set>

namespace siteagent::azure {

namespace {

constexpr std::size_t few = 2;

void keep(base::json& to, const base::json& from, std::string_view key) {
  if (const base::json* value = from.find(key)) {
    to.set(key, *value);
  }
}

base::json disk_part(const base::json& disk) {
  base::json out = base::json::object();
  keep(out, disk, "diskSizeGB");
  keep(out, disk, "managedDisk");
  return out;
}

// The members of a model that metadata, endpoints, states and metering look at.
base::json essence(const base::json& model) {
  const base::json& p = model["properties"];
  base::json storage = base::json::object();
  keep(storage, p["storageProfile"], "imageReference");
  storage.set("osDisk", disk_part(p["storageProfile"]["osDisk"]));
  base::json& data = storage.member_ref("dataDisks");
  data = base::json::array();
  for (const base::json& d : p["storageProfile"]["dataDisks"].items()) {
    data.push_back(disk_part(d));
  }
  base::json properties = base::json::object({{"storageProfile", std::move(storage)}});
  keep(properties, p, "provisioningState");
  keep(properties, p, "hardwareProfile");
  keep(properties, p, "timeCreated");
  base::json os = base::json::object();
  keep(os, p["osProfile"], "adminUsername");
  properties.set("osProfile", std::move(os));
  base::json out = base::json::object();
  for (const char* key : {"id", "name", "location", "tags"}) {
    keep(out, model, key);
  }
  out.set("properties", std::move(properties));
  return out;
}

std::set<std::string> keys_of(const base::json& wanted) {
  std::set<std::string> out;
  for (const base::json& w : wanted.items()) {
    out.insert(id_key(w["backend_id"].string_or("")));
  }
  return out;
}

void note_address(
    std::map<std::string, std::string>& by_id, const base::json& object, std::string address
) {
  if (!address.empty()) {
    by_id.insert_or_assign(id_key(object["id"].string_or("")), std::move(address));
  }
}

std::string at_or_empty(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto it = map.find(key);
  return it == map.end() ? "" : it->second;
}

} // namespace

std::string state_word(const base::json& model) {
  const std::string state =
      base::to_lower(model.at({"properties", "provisioningState"}).string_or("Succeeded"));
  if (state == "failed" || state == "creating" || state == "deleting") {
    return state;
  }
  return "ok";
}

std::string objection_to_id(const std::string& backend_id, const settings& s) {
  const auto id = resource_id::parse(backend_id);
  if (!id || !id->is_virtual_machine()) {
    return "Not an Azure virtual machine id: '" + backend_id + "'";
  }
  if (!base::equals_ignoring_case(id->subscription, s.subscription_id)) {
    return "the machine lies in subscription " + id->subscription + ", the offering uses " +
           s.subscription_id;
  }
  return "";
}

base::result<inventory> inventory::read(
    const services& cloud, const arm::scope& call, const base::json& wanted, detail how_much
) {
  inventory out;
  out.how_much_ = how_much;
  if (wanted.size() <= few) {
    return out;
  }
  const std::set<std::string> keys = keys_of(wanted);
  auto models = cloud.compute().each_machine(call, [&](base::json&& m) {
    std::string key = id_key(m["id"].string_or(""));
    if (keys.count(key) != 0) {
      out.machines_.insert_or_assign(std::move(key), record{essence(m).dump(), {}, {}});
    }
  });
  if (!models) {
    return models.error();
  }
  if (how_much == detail::models) {
    return out;
  }
  auto states = cloud.compute().each_machine_state(call, [&](base::json&& m) {
    const auto it = out.machines_.find(id_key(m["id"].string_or("")));
    if (it != out.machines_.end()) {
      const base::json& statuses = m.at({"properties", "instanceView", "statuses"});
      it->second.power = power_of(statuses);
      it->second.changed = changed_of(statuses);
    }
  });
  if (!states) {
    return states.error();
  }
  if (how_much == detail::states) {
    return out;
  }
  if (auto read = out.read_addresses(cloud, call); !read) {
    return read.error();
  }
  return out;
}

base::result<void> inventory::read_addresses(const services& cloud, const arm::scope& call) {
  auto inside = cloud.network().each_interface(call, [&](base::json&& o) {
    note_address(private_ips_, o, private_address(o));
  });
  if (!inside) {
    return inside;
  }
  return cloud.network().each_address(call, [&](base::json&& o) {
    note_address(public_ips_, o, public_address(o));
  });
}

machine_facts inventory::facts_of(const record& r) const {
  machine_facts out;
  if (auto model = base::json::parse(r.model)) {
    out.model = std::move(*model);
  }
  out.power = r.power;
  out.changed = r.changed;
  if (const auto id = resource_id::parse(out.model["id"].string_or(""))) {
    out.public_ip =
        at_or_empty(public_ips_, id_key(companion(*id, kind_id::public_ip_address).text()));
    out.private_ip =
        at_or_empty(private_ips_, id_key(companion(*id, kind_id::network_interface).text()));
  }
  return out;
}

base::result<machine_facts> inventory::read_one(
    const services& cloud, const arm::scope& call, const resource_id& id, base::json model
) const {
  if (how_much_ == detail::addresses) {
    return read_facts(cloud, call, id, std::move(model));
  }
  machine_facts out;
  out.model = std::move(model);
  if (how_much_ == detail::models) {
    return out;
  }
  auto view = cloud.compute().instance_view(call, id);
  if (!view) {
    return view.error();
  }
  out.power = power_of((*view)["statuses"]);
  out.changed = changed_of((*view)["statuses"]);
  return out;
}

sighting inventory::find(
    const services& cloud, const arm::scope& call, const settings& s, const std::string& backend_id
) const {
  sighting out;
  out.explanation = objection_to_id(backend_id, s);
  if (!out.explanation.empty()) {
    return out;
  }
  const std::string key = id_key(backend_id);
  if (const auto it = machines_.find(key); it != machines_.end()) {
    out.seen = presence::present;
    out.facts = facts_of(it->second);
    return out;
  }
  const resource_id id = *resource_id::parse(backend_id);
  for (int look = 0; look < 2; ++look) {
    auto model = cloud.compute().machine(call, id);
    if (!model) {
      out.explanation = model.error().message;
      return out;
    }
    if (*model) {
      out.seen = presence::present;
      auto facts = read_one(cloud, call, id, std::move(**model));
      if (!facts) {
        out.seen = presence::unknown;
        out.explanation = facts.error().message;
        return out;
      }
      out.facts = std::move(*facts);
      return out;
    }
    if (look == 0) {
      if (auto slept = call.wait(cloud.arm().options().floor); !slept) {
        out.explanation = slept.error().message;
        return out;
      }
    }
  }
  out.seen = presence::absent;
  return out;
}

} // namespace siteagent::azure
