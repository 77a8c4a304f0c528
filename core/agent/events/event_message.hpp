// SPDX-License-Identifier: MIT
// A message of the event queue, as far as its form goes. What it says is a hint only: handlers read
// the object it names and act on that.
#pragma once

#include "core/base/json.hpp"
#include "core/base/uuid.hpp"
#include "core/net/stomp.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

struct event_message {
  std::string object_type; // "order", "resource", ...; perhaps one we do not know
  base::json body;         // an object

  // The member as a uuid; nullopt when it is absent, null or something else.
  std::optional<base::uuid> uuid_at(std::string_view member) const;
};

// `queue_type`: what the queue is for, if it is for one type only (legacy), else "". The error
// (`invalid`) tells why it is no message, and never what it says: that may be secret.
base::result<event_message>
read_message(const net::stomp_message& message, std::string_view queue_type);

// What to ask the queue for. `essential`: without these it is useless; a server that does not know
// one of the `others` may do without.
struct wanted_types {
  std::vector<std::string> essential;
  std::vector<std::string> others;

  std::vector<std::string> all() const;
};

struct wanted_roles {
  bool orders = false;
  bool membership = false;
  bool imports = false;
  bool periodic_limits = false;
};

wanted_types types_for(const wanted_roles& roles);

} // namespace siteagent::agent
