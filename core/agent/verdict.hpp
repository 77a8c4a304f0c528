// SPDX-License-Identifier: MIT
// What a failure means for an order, and what its customer is told. Pure functions.
#pragma once

#include "core/base/error.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace siteagent::agent {

// Decided by the code's class, never by a text.
enum class reaction : std::uint8_t {
  retry,         // the same call may work later; includes unknown outcomes and plugin faults
  hold_offering, // credentials refused: every order of the offering waits
  stopped,       // we asked it to stop
  not_there,     // the target is not there
  fail,          // permanent or refused
};

reaction react_to(const base::error& e);

// Text for the customer of an order that failed: the plugin's public message or a stock text, with
// the reference under which the log has the rest; redacted, one line, at most 2000 bytes.
// `expose_details` adds the cloud's own error code to the stock text, never its message.
std::string customer_text(const base::error& e, std::string_view reference, bool expose_details);

// Cleans any text that goes to Waldur: redacted, control characters gone, at most 2000 bytes.
std::string safe_text(std::string_view text);

} // namespace siteagent::agent
