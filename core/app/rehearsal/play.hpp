// SPDX-License-Identifier: MIT
// The life of one machine of each offering, on the stage: create, report, pause, restore,
// terminate, each carried out by this very program on the changed file.
#pragma once

#include "core/app/command_line.hpp"
#include "core/app/rehearsal/stage.hpp"
#include "core/base/json.hpp"
#include "core/config/config.hpp"

#include <string>
#include <vector>

namespace siteagent::app {

// What a plugin's settings schema says under "x-rehearsal". In `settings`, `arguments` and `seed`
// the text "{emulator}" becomes the emulator's URL; in `settings` "{folder}" a path of this
// offering's to put files at; in `seed` "{settings}" the offering's own checked settings with
// `settings` over them. A null setting is left out.
struct rehearsal_rule {
  std::string emulator; // program; "" = the plugin needs none
  std::vector<std::string> arguments;
  base::json settings = base::json::object();
  base::json seed;
};

struct act {
  std::string name; // "create"
  std::vector<exchange> exchanges;
  base::wall_time started{};
  std::vector<std::string> notes; // what the portal shows afterwards
};

struct performance {
  std::string offering;
  std::string name;
  std::string plugin;
  std::string emulator;
  std::vector<act> acts;
  base::json usage = base::json::array(); // rows in Waldur
  std::vector<std::string> problems;
};

// An error: the stage could not be built at all.
base::result<std::vector<performance>>
rehearse(const config::agent_config& config, const command_line& line);

} // namespace siteagent::app
