// SPDX-License-Identifier: MIT
// The acts of a rehearsal for one offering.
#pragma once

#include "core/app/rehearsal/play.hpp"

#include <string>

namespace siteagent::app {

// create, report, pause, restore, terminate, by this very program on `config_file`; adds the acts,
// the usage and the problems to `p`. `cloud` may be null: the plugin needs no emulator.
void play_life(
    performance& p,
    const config::offering& offering,
    const scratch_folder& folder,
    const std::string& config_file,
    const command_line& line,
    double_of_a_service& waldur,
    double_of_a_service* cloud
);

} // namespace siteagent::app
