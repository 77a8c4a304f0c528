// SPDX-License-Identifier: MIT
// Pieces that several objects show.
#pragma once

#include "api.hpp"

#include <string_view>

namespace siteagent::waldur_emulator {

json time_of(base::wall_time t);
// "offering", "offering_uuid", ...; nothing when there is no such offering.
void add_offering(const context& c, json& to, std::string_view uuid);
// "project", "project_uuid", ..., and its customer.
void add_project(const context& c, json& to, std::string_view uuid);

} // namespace siteagent::waldur_emulator
