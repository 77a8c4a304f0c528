// SPDX-License-Identifier: MIT
// Refusals of the token endpoint: one table, number to status, name and text.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

struct login_error {
  int status = 400;
  std::string name;
  int code = 0;
  std::string text;
};

// By number, with "{}" of its text replaced. nullopt: not in the table.
std::optional<login_error> find_login_error(int code, std::string_view about = {});
// The same for a number that is known to be there.
login_error refused(int code, std::string_view about = {});

reply login_refusal(const emulators::call& call, const login_error& e);

} // namespace siteagent::azure_emulator
