// SPDX-License-Identifier: MIT
// The administrator password Azure insists on: random, sent once, kept nowhere.
#pragma once

#include "core/base/secret.hpp"

namespace siteagent::azure {

// 24 letters and digits with at least one of each case and one digit.
base::secret random_password();

} // namespace siteagent::azure
