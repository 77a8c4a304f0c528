// SPDX-License-Identifier: MIT
// What the activity log tells about the machines of a subscription, kept between reports: each
// reads only what is new.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/allocation_time.hpp"

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace siteagent::azure {

class services;

namespace arm {
class scope;
} // namespace arm

// One event of the log that is about a machine's allocation or size.
struct log_record {
  enum class status : std::uint8_t { begun, succeeded, failed };

  std::string machine; // id_key
  base::wall_time at;
  machine_event::kind what = machine_event::kind::written;
  status state = status::begun;
  std::string size;      // of the answer's body, lower case
  std::string operation; // the same for all events of one operation
};

// nullopt: about something else.
std::optional<log_record> read_record(const base::json& event);

// Of one machine: what ended well, when it ended. A write counts from its acceptance, when its
// answer shows the size, unless it failed later.
std::vector<machine_event> events_of(const std::vector<log_record>& records);

// Immutable once handed out.
class activity_log {
public:
  // Adds one event of the log; each counts once, however often it is read.
  void add(const base::json& event);
  void forget_before(base::wall_time t);

  std::vector<machine_event> events(const std::string& machine_key) const;
  base::wall_time from{};     // complete from here
  base::wall_time read_at{};  // up to here, but for late events
  base::wall_time whole_at{}; // when it was last read as a whole

private:
  std::map<std::string, std::vector<log_record>> machines_;
  std::map<std::string, base::wall_time> seen_; // ids of events
};

// The log up to now, shared by the offerings of the subscription. `now`: Azure's clock.
base::result<std::shared_ptr<const activity_log>>
read_activity_log(const services& cloud, const arm::scope& call, base::wall_time now);

} // namespace siteagent::azure
