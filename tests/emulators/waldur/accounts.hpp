// SPDX-License-Identifier: MIT
// Accounts of projects as an offering's provider sees them.
#pragma once

#include "api.hpp"

#include <string_view>

namespace siteagent::waldur_emulator {

// `kind`: "service_account", "course_account". Those of projects with a living resource there.
reply list_accounts_of(const context& c, const offering& o, std::string_view kind);

} // namespace siteagent::waldur_emulator
