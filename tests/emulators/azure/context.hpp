// SPDX-License-Identifier: MIT
// What a handler gets, and the answers it builds.
#pragma once

#include "world.hpp"

#include "core/base/json.hpp"
#include "core/net/server.hpp"
#include "tests/emulators/common/emulator.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

using reply = net::server_response;

// One authenticated ARM request.
struct context {
  azure_emulator::world& world;
  const net::server_request& http;
  const emulators::call& call;
  const subscription_entry* subscription = nullptr; // null on tenant-level paths
  std::string principal;                            // object id from the token
  std::string api_version;
  base::json body; // null when there was none

  base::wall_time now() const { return call.now; }

  std::string subscription_id() const { return subscription->id; }
};

reply json_reply(int status, const base::json& body);
reply empty_reply(int status);

// {"error":{"code","message"[,"target"][,"details"]}}
struct error_text {
  std::string code;
  std::string message;
  std::string target = {};
  std::optional<base::json> details = {};
};

base::json error_body(const error_text& e);
// From a resource provider.
reply error_reply(int status, const error_text& e);
// From ARM itself, before any provider saw the request: carries no rate-limit headers.
reply gateway_error(int status, const error_text& e);

reply resource_not_found(const resource_path& path);
reply group_not_found(std::string_view group);

std::string if_match(const context& c);      // "" when absent
std::string if_none_match(const context& c); // "" when absent

// "2026-01-31T12:00:00.1234567+00:00", as the compute provider writes times.
std::string compute_time(base::wall_time t);

} // namespace siteagent::azure_emulator
