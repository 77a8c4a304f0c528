// SPDX-License-Identifier: MIT
#include "plugins/azure/inventory.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/kinds.hpp"

namespace siteagent::azure {

namespace {

constexpr std::size_t few = 2;

std::map<std::string, base::json> by_id(std::vector<base::json> list) {
  std::map<std::string, base::json> out;
  for (base::json& item : list) {
    std::string key = id_key(item["id"].string_or(""));
    out.insert_or_assign(std::move(key), std::move(item));
  }
  return out;
}

std::map<std::string, std::string>
addresses_by_id(const std::vector<base::json>& list, std::string (*address)(const base::json&)) {
  std::map<std::string, std::string> out;
  for (const base::json& item : list) {
    out.insert_or_assign(id_key(item["id"].string_or("")), address(item));
  }
  return out;
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
    const services& cloud, const arm::scope& call, std::size_t wanted, bool with_addresses
) {
  inventory out;
  out.with_addresses_ = with_addresses;
  if (wanted <= few) {
    return out;
  }
  auto machines = cloud.compute().machines(call);
  if (!machines) {
    return machines.error();
  }
  out.machines_ = by_id(std::move(*machines));
  if (!with_addresses) {
    return out;
  }
  auto states = cloud.compute().machine_states(call);
  if (!states) {
    return states.error();
  }
  out.states_ = by_id(std::move(*states));
  auto interfaces = cloud.network().interfaces(call);
  if (!interfaces) {
    return interfaces.error();
  }
  out.private_ips_ = addresses_by_id(*interfaces, private_address);
  auto addresses = cloud.network().addresses(call);
  if (!addresses) {
    return addresses.error();
  }
  out.public_ips_ = addresses_by_id(*addresses, public_address);
  return out;
}

machine_facts inventory::facts_of(const std::string& key, const base::json& model) const {
  machine_facts out;
  out.model = model;
  const auto state = states_.find(key);
  if (state != states_.end()) {
    out.power = power_of(state->second.at({"properties", "instanceView", "statuses"}));
  }
  if (const auto id = resource_id::parse(model["id"].string_or(""))) {
    out.public_ip =
        at_or_empty(public_ips_, id_key(companion(*id, kind_id::public_ip_address).text()));
    out.private_ip =
        at_or_empty(private_ips_, id_key(companion(*id, kind_id::network_interface).text()));
  }
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
    out.facts = facts_of(key, it->second);
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
      if (!with_addresses_) {
        out.facts.model = std::move(**model);
        return out;
      }
      auto facts = read_facts(cloud, call, id, std::move(**model));
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
