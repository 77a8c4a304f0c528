// SPDX-License-Identifier: MIT
// Client assertions at the token endpoint: signed by an application's certificate, or a token of an
// issuer that the application trusts.
#pragma once

#include "catalog.hpp"
#include "login_errors.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

// Ids (jti) of assertions that came before, until they expire.
using seen_assertions = std::map<std::string, base::wall_time>;

struct assertion_check {
  const application_entry& application;
  std::vector<std::string> audiences; // what an assertion of the application itself may name
  base::wall_time now;
  seen_assertions* only_once = nullptr; // null: as often as it comes
};

// nullopt: the assertion proves the application.
std::optional<login_error> check_assertion(std::string_view jwt, const assertion_check& how);

} // namespace siteagent::azure_emulator
