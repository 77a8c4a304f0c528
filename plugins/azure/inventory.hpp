// SPDX-License-Identifier: MIT
// Many machines at once: one list of models, one of states, one of interfaces and one of addresses,
// joined by id. Single reads only confirm an absence.
#pragma once

#include "plugins/azure/metadata.hpp"
#include "plugins/azure/services.hpp"

#include <map>
#include <optional>
#include <string>

namespace siteagent::azure {

enum class presence : std::uint8_t { present, absent, unknown };

struct sighting {
  presence seen = presence::unknown;
  machine_facts facts;     // when present
  std::string explanation; // why unknown, or what Azure says about a failed machine
};

class inventory {
public:
  // What is read beside the models: nothing, what the machines are doing, or that and addresses.
  enum class detail : std::uint8_t { models, states, addresses };

  // The lists, page by page: of ten thousand machines only what is asked later is kept, as text,
  // about a kilobyte each. `wanted`: [{"backend_id"}]; others are not kept. No list is read for one
  // or two wanted machines, which are cheaper to read one by one.
  static base::result<inventory>
  read(const services& cloud, const arm::scope& call, const base::json& wanted, detail how_much);

  // A machine missing in the list is looked up twice before it counts as absent.
  sighting find(
      const services& cloud,
      const arm::scope& call,
      const settings& s,
      const std::string& backend_id
  ) const;

private:
  struct record {
    std::string model; // JSON: what facts and metering read of a machine
    std::optional<std::string> power;
    std::optional<base::wall_time> changed;
  };

  base::result<void> read_addresses(const services& cloud, const arm::scope& call);
  machine_facts facts_of(const record& r) const;
  base::result<machine_facts> read_one(
      const services& cloud, const arm::scope& call, const resource_id& id, base::json model
  ) const;

  detail how_much_ = detail::models;
  std::map<std::string, record> machines_;
  std::map<std::string, std::string> private_ips_; // by id_key of the interface
  std::map<std::string, std::string> public_ips_;  // by id_key of the address
};

// "ok", "failed", "creating" or "deleting".
std::string state_word(const base::json& model);

// Why an id cannot be a machine of this offering; "" when it can.
std::string objection_to_id(const std::string& backend_id, const settings& s);

} // namespace siteagent::azure
