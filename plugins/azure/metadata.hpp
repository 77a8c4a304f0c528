// SPDX-License-Identifier: MIT
// What a machine looks like to the marketplace: the metadata of a resource, and its endpoint.
#pragma once

#include "plugins/azure/services.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure {

struct machine_facts {
  base::json model;                 // the machine as a GET or a list shows it
  std::optional<std::string> power; // "running"; nullopt: Azure does not tell
  std::string public_ip;            // "" = none
  std::string private_ip;
  // When its state last changed; nullopt: not read, or Azure does not tell.
  std::optional<base::wall_time> changed = {};
};

base::json metadata_of(const machine_facts& f);

// [{"name":"SSH","url":"ssh://user@address"}]; empty without an address or a user. The private
// address counts where machines get no public one.
base::json endpoints_of(const machine_facts& f, const settings& s);

// The id as ARM wrote it.
std::string id_of(const base::json& object);

// Power and addresses of one machine: what `known` holds already, and the expanded view in the
// model, is not read again. Addresses that are not there stay empty.
base::result<machine_facts> complete_facts(
    const services& cloud, const arm::scope& call, const resource_id& id, machine_facts known
);
base::result<machine_facts>
read_facts(const services& cloud, const arm::scope& call, const resource_id& id, base::json model);

} // namespace siteagent::azure
