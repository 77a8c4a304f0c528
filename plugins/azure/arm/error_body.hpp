// SPDX-License-Identifier: MIT
// What an ARM error answer says, in all the shapes ARM sends it. Pure.
#pragma once

#include "core/base/json.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::arm {

struct error_node {
  std::string code;
  std::string message;
  std::string target;
};

struct error_body {
  int status = 0;
  std::vector<error_node> nodes;  // outermost first; never empty after parse
  std::string policy;             // display name of the denying policy assignment, or ""
  std::string policy_requirement; // what the policy wants, in one line, or ""

  const error_node& outer() const { return nodes.front(); }

  const error_node& root() const { return nodes.back(); }

  // Any node, code compared without case.
  const error_node* find(std::string_view code) const;
};

// Envelope, bare object, status document, JSON text inside a message (unwrapped), HTML. A body
// without a code gets one node with an empty one.
error_body parse_error(int status, std::string_view body);
error_body parse_error(int status, const base::json& body);

} // namespace siteagent::azure::arm
