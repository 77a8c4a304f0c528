// SPDX-License-Identifier: MIT
// The agent's log, shipped to the Waldur of the offering that a line is about.
#pragma once

#include "core/app/assemble.hpp"
#include "core/config/config.hpp"
#include "core/observe/shipping.hpp"
#include "core/waldur/types.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

namespace siteagent::app {

// A line about an offering goes to that offering's Waldur and to no other; lines about none go to
// the first offering's. [any thread]
class log_shipping {
public:
  // Null: the file does not ask for it. To be called once logs are set up.
  static std::unique_ptr<log_shipping> start(const config::agent_config& config);

  explicit log_shipping(const config::agent_config& config);

  // After a reload: other offerings, other tokens. What log_shipping itself says counts from the
  // next start of the process on.
  void use(const config::agent_config& config);

  // For an end of the process without destructors; takes at most two seconds. [any thread]
  void finish() { shipper_->finish(); }

private:
  base::result<void> send(
      const std::string& topic,
      const std::vector<observe::log_record>& records,
      const std::stop_token& stop
  );

  const waldur::agent_build build_;
  std::mutex mutex_; // of what follows
  std::vector<config::offering> offerings_;
  client_factory make_client_;
  std::map<std::string, std::shared_ptr<waldur::client>> clients_; // shared with a call under way
  std::unique_ptr<observe::log_shipper> shipper_; // last: its thread uses the above
};

} // namespace siteagent::app
