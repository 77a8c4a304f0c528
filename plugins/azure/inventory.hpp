// SPDX-License-Identifier: MIT
// Many machines at once: one list of models, one of states, one of interfaces and one of addresses,
// joined by id. Single reads only confirm an absence.
#pragma once

#include "plugins/azure/metadata.hpp"
#include "plugins/azure/services.hpp"

#include <map>
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
  // The lists; none for one or two wanted machines, which are cheaper to read one by one.
  // `with_addresses` false reads the models alone.
  static base::result<inventory>
  read(const services& cloud, const arm::scope& call, std::size_t wanted, bool with_addresses);

  // A machine missing in the list is looked up twice before it counts as absent.
  sighting find(
      const services& cloud,
      const arm::scope& call,
      const settings& s,
      const std::string& backend_id
  ) const;

private:
  machine_facts facts_of(const std::string& key, const base::json& model) const;

  bool with_addresses_ = false;
  std::map<std::string, base::json> machines_;
  std::map<std::string, base::json> states_;
  std::map<std::string, std::string> private_ips_; // by id_key of the interface
  std::map<std::string, std::string> public_ips_;  // by id_key of the address
};

// "ok", "failed", "creating" or "deleting".
std::string state_word(const base::json& model);

// Why an id cannot be a machine of this offering; "" when it can.
std::string objection_to_id(const std::string& backend_id, const settings& s);

} // namespace siteagent::azure
