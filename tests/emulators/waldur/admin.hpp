// SPDX-License-Identifier: MIT
// The admin calls of this emulator beyond those of the frame.
#pragma once

#include "broker.hpp"
#include "core/net/server.hpp"
#include "model.hpp"

#include <optional>
#include <string_view>

namespace siteagent::waldur_emulator {

struct admin_context {
  store& data;
  broker* queues = nullptr; // nullptr: there is none
};

// POST /_emu/<name>; nullopt: no such call.
std::optional<net::server_response>
administrate(const admin_context& c, std::string_view name, const json& body);

} // namespace siteagent::waldur_emulator
