// SPDX-License-Identifier: MIT
// Liveness. Whoever may block announces an activity with the time it may stay silent; a monitor
// thread touches the heartbeat file while nobody is over it. So a machine that takes 40 minutes to
// be built keeps the agent alive, and a call that outlives its deadline does not.
#pragma once

#include "core/base/clock.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

namespace siteagent::agent {

// [any thread]
class progress_board {
public:
  explicit progress_board(const base::clock& clock) : clock_(clock) {}

  class activity {
  public:
    activity(activity&& other) noexcept;
    activity& operator=(activity&&) = delete;
    ~activity();
    void touch(); // something was done

  private:
    friend class progress_board;

    activity(progress_board& board, std::uint64_t id) : board_(&board), id_(id) {}

    progress_board* board_;
    std::uint64_t id_;
  };

  // `allowance`: how long it may go without touch() before it counts as stuck.
  activity begin(std::string what, std::chrono::milliseconds allowance);
  // The first activity over its allowance.
  std::optional<std::string> find_stuck() const;

private:
  struct entry {
    std::string what;
    std::chrono::milliseconds allowance;
    base::steady_time touched;
  };

  const base::clock& clock_;
  mutable std::mutex mutex_;
  std::map<std::uint64_t, entry> entries_;
  std::uint64_t next_id_ = 1;
};

// WALDUR_SITE_AGENT_HEARTBEAT_PATH, else waldur-site-agent-heartbeat in the temporary directory.
std::string heartbeat_path();

// Writes the time (epoch seconds) into the file; a link in its place is refused, not followed.
bool touch_heartbeat(const std::string& path, base::wall_time now);

// Owns the monitor thread; the file is touched at once and then every 10 s.
class heartbeat_monitor {
public:
  heartbeat_monitor(const progress_board& board, const base::clock& clock, std::string path);

private:
  void run(const std::stop_token& stop);

  const progress_board& board_;
  const base::clock& clock_;
  std::string path_;
  std::jthread thread_;
};

} // namespace siteagent::agent
