// SPDX-License-Identifier: MIT
// The null provider's cloud: objects in one JSON file, changed by requests that can be told to take
// time, to fail and to lose their answers. README.md describes the file.
#pragma once

#include "core/base/json.hpp"

#include <sagent/cpp/plugin.hpp>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::null {

namespace kind {
inline constexpr std::string_view address = "public-address";
inline constexpr std::string_view group = "security-group";
inline constexpr std::string_view rule = "security-rule";
inline constexpr std::string_view interface = "network-interface";
inline constexpr std::string_view machine = "virtual-machine";
inline constexpr std::string_view disk = "disk";
inline constexpr std::string_view application_group = "application-security-group";
inline constexpr std::string_view subnet = "subnet";
inline constexpr std::string_view price_page = "price-page";
inline constexpr std::string_view balance = "credit-balance";
} // namespace kind

std::string id_of(std::string_view kind, std::string_view name); // "/null/<kind>/<name>"
std::string words_of(std::string_view kind);                     // "virtual machine"

struct waiting_host {
  std::string address;
  int port = 22;
  std::string folder; // with authorized_keys and user-data; "" = none
};

struct hosts_settings {
  explicit hosts_settings(const base::json& settings);

  std::string state_file;
  std::vector<waiting_host> hosts;
  std::string secret; // a reference, "" = no credentials are stored
  std::chrono::seconds operation{1200};
  std::chrono::seconds rollback_retry{240};
  std::int64_t poll_ms = 5000;
};

// The host said stop: nothing is undone.
struct told_to_stop : sagent::failure {
  explicit told_to_stop(sagent_code c) : failure(c, "stopped as asked") {}
};

struct removed {
  bool gone = false;
  bool was_there = false;
  std::string cause;           // when it is not gone
  bool is_out_of_time = false; // it was tried until the last, another time may do
};

// One running operation. Every read and write of the cloud goes through it.
class scene {
public:
  // Notes the call in the log, waits its latency, fails or crashes when told to. Whether there are
  // faults and where to crash is read here once. The settings must outlive it.
  scene(
      const hosts_settings& settings,
      std::string operation,
      sagent::call& call,
      const sagent::request& request
  );

  const base::json& body() const { return body_; }

  bool is_dry_run() const { return dry_run_; }

  const hosts_settings& settings() const { return settings_; }

  // The file as it is now.
  base::json state() const;
  void change(const std::function<void(base::json& state)>& edit) const;

  // One read: the object, or nothing. Throws what a fault says. Objects being deleted are there.
  std::optional<base::json> read(std::string_view kind, std::string_view name);
  // A read of something that is no object, for its faults alone.
  void read_nothing(std::string_view kind, std::string_view name);
  // Makes the object and follows the operation to its end; a lost answer is looked after.
  // `properties` sees the state it is made in. Throws told_to_stop or the failure, whose object may
  // be there.
  using maker = std::function<base::json(const base::json& state)>;
  void put(std::string_view kind, const std::string& name, const maker& properties);
  // A write that ends at once, as a rule of a group: told, faulty, then done.
  void write(
      std::string_view kind,
      const std::string& id,
      const std::string& name,
      const std::function<void(base::json& state)>& edit
  );
  // Deletes and confirms; transient refusals are retried for rollback_retry. Throws told_to_stop.
  removed remove(std::string_view kind, const std::string& name);

  // The result, and the faults after the effect.
  void finish(const base::json& answer);
  void finish(const std::vector<base::json>& answers);

private:
  void announce(
      std::string_view phase, std::string_view verb, std::string_view kind, const std::string& id
  );
  void pause(std::int64_t ms);
  void crash_if_due(const std::string& point);
  std::optional<sagent::failure> fault_due(
      std::string_view verb,
      std::string_view kind,
      std::string_view name,
      std::string_view when,
      const std::string& sentence
  );
  std::optional<sagent::failure> operation_fault(std::string_view when);
  // Polls until the object's operation ended; the failure it ended with.
  std::optional<sagent::failure>
  follow(std::string_view verb, std::string_view kind, const std::string& name);
  std::optional<sagent::failure>
  try_remove(std::string_view kind, const std::string& name, bool& is_final);
  std::optional<sagent::failure>
  hold_due(std::string_view kind, const std::string& name, bool& is_final);

  const hosts_settings& settings_;
  std::string operation_;
  sagent::call& call_;
  base::json body_;
  bool dry_run_;
  std::string crash_at_;
  bool has_faults_ = false;
  std::vector<std::size_t> holds_of_this_call_;
};

} // namespace siteagent::null
