// SPDX-License-Identifier: MIT
// What load-components would change in Waldur: the configured components against those of the
// offering. Pure functions.
#pragma once

#include "core/base/json.hpp"
#include "core/config/config.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace siteagent::app {

struct component_change {
  enum class action : std::uint8_t {
    create,
    update,
    keep,    // equal in all that the file says
    foreign, // only in Waldur: left alone
    refused  // Waldur could not take it; `why`
  };

  action what = action::keep;
  std::string type;
  base::json body = {};                      // of the call; with the server's uuid for an update
  std::vector<std::string> differences = {}; // update: `label "Cpu" -> "CPU"`
  std::string why = {};
};

// The component as Waldur wants it. unit_factor is the agent's own and never sent; a prepaid
// component is what accounting_type "one" means unless the file says otherwise.
base::result<base::json> component_for_waldur(const config::component& local);

// In the file's order, then what only Waldur has. `server`: the rows of the offering.
std::vector<component_change>
plan_components(const std::vector<config::component>& local, const std::vector<base::json>& server);

} // namespace siteagent::app
