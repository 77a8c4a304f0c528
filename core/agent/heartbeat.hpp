// SPDX-License-Identifier: MIT
// Liveness. Whoever may block announces an activity with the time it may stay silent; a monitor
// thread touches the heartbeat file while nobody is over it. So a machine that takes 40 minutes to
// be built keeps the agent alive, and a call that outlives its deadline does not.
//
// Activities nest: one that begins while its thread is in another (or in a task that another gave
// to a worker_pool) is a child of it. What a child does counts for its parents, and a parent is not
// judged while a child is.
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
    ~activity();  // on the thread that began it
    void touch(); // something was done

  private:
    friend class progress_board;

    activity(progress_board& board, std::uint64_t id) : board_(&board), id_(id) {}

    progress_board* board_;
    std::uint64_t id_;
  };

  // The activity a thread is in; a value to hand to another thread. The board must outlive it.
  struct position {
    progress_board* board = nullptr;
    std::uint64_t id = 0;
  };

  // Of the calling thread.
  static position here();

  // What this thread does, until the guard goes, is part of `where`.
  class guard {
  public:
    explicit guard(position where);
    guard(const guard&) = delete;
    guard& operator=(const guard&) = delete;
    ~guard();

  private:
    position before_;
  };

  // The activity this thread is in, if any, has done something.
  static void touch_here();

  // `allowance`: how long it may go without touch() before it counts as stuck.
  activity begin(std::string what, std::chrono::milliseconds allowance);
  // The first activity over its allowance.
  std::optional<std::string> find_stuck() const;

private:
  struct entry {
    std::string what;
    std::chrono::milliseconds allowance;
    base::steady_time touched;
    std::uint64_t parent = 0; // 0: none, or it is over
    unsigned children = 0;
  };

  void touch(std::uint64_t id);
  void touch_locked(std::uint64_t id, base::steady_time now);
  void end(std::uint64_t id);

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
