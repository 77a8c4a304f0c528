// SPDX-License-Identifier: MIT
// What makes the null plugin useful in tests: scripted latencies, faults and crashes.
#pragma once

#include "core/base/json.hpp"

#include <sagent/cpp/plugin.hpp>

#include <atomic>
#include <deque>
#include <map>
#include <string>
#include <string_view>

namespace siteagent::null {

// A code by number or by name ("quota"); null is transient. Throws on an unknown name.
sagent_code to_code(const base::json& value);

// From the settings latency_ms, faults, crash_at and hang_at (see settings.hpp).
class script {
public:
  explicit script(const base::json& settings);

  // One running operation. Counts it, waits its latency, crashes or hangs if told to.
  class run {
  public:
    run(script& s, std::string_view operation, sagent::call& call);

    // Tell the host, or stop: throws when it says so. `phase` before: a due fault throws here, when
    // the writes done so far are its after_writes.
    void checkpoint(
        std::string_view phase, std::string_view verb, std::string_view kind, const std::string& id
    );
    // The operation succeeded.
    void finish() const;

  private:
    void fail_if_due() const;

    script& script_;
    std::string operation_;
    sagent::call& call_;
    unsigned long number_; // the n-th run of this operation, from 1
    unsigned writes_ = 0;
  };

private:
  struct fault {
    std::string operation;
    unsigned long nth = 1;
    unsigned long times = 1;
    unsigned after_writes = 0;
    sagent::failure failure{SAGENT_E_TRANSIENT, ""};
  };

  void end_badly_if_due(std::string_view when, std::string_view operation) const;

  std::map<std::string, std::int64_t, std::less<>> latency_ms_;
  std::deque<fault> faults_;
  std::string crash_at_;
  std::string hang_at_;
  std::map<std::string, std::atomic<unsigned long>, std::less<>> runs_;
};

} // namespace siteagent::null
