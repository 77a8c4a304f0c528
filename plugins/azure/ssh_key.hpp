// SPDX-License-Identifier: MIT
// OpenSSH public keys, checked before anything is created: Azure refuses bad ones late.
#pragma once

#include "core/base/result.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure {

// One line of type ssh-ed25519, or ssh-rsa of 2048 bits or more; surrounding white space is cut.
// `invalid` with a reason for the customer otherwise.
base::result<std::string> checked_ssh_key(std::string_view text);

} // namespace siteagent::azure
