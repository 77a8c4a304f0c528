// SPDX-License-Identifier: MIT
// The progress board and the thread behind the heartbeat file.
#include "core/agent/heartbeat.hpp"

#include "core/observe/log.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::seconds beat_interval{10};

// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables): a thread's own place
thread_local progress_board::position current;

} // namespace

progress_board::activity::activity(activity&& other) noexcept
    : board_(std::exchange(other.board_, nullptr)), id_(other.id_) {}

progress_board::activity::~activity() {
  if (board_ != nullptr) {
    board_->end(id_);
  }
}

void progress_board::activity::touch() {
  board_->touch(id_);
}

progress_board::position progress_board::here() {
  return current;
}

progress_board::guard::guard(position where) : before_(std::exchange(current, where)) {}

progress_board::guard::~guard() {
  current = before_;
}

void progress_board::touch_here() {
  if (current.board != nullptr) {
    current.board->touch(current.id);
  }
}

progress_board::activity
progress_board::begin(std::string what, std::chrono::milliseconds allowance) {
  const base::steady_time now = clock_.steady();
  const std::lock_guard lock(mutex_);
  const std::uint64_t id = next_id_++;
  entry made{std::move(what), allowance, now};
  if (current.board == this) {
    if (const auto parent = entries_.find(current.id); parent != entries_.end()) {
      made.parent = current.id;
      ++parent->second.children;
    }
  }
  entries_.emplace(id, std::move(made));
  current = {this, id};
  return {*this, id};
}

void progress_board::touch(std::uint64_t id) {
  const base::steady_time now = clock_.steady();
  const std::lock_guard lock(mutex_);
  touch_locked(id, now);
}

void progress_board::touch_locked(std::uint64_t id, base::steady_time now) {
  for (auto at = entries_.find(id); at != entries_.end(); at = entries_.find(at->second.parent)) {
    at->second.touched = now;
  }
}

void progress_board::end(std::uint64_t id) {
  const base::steady_time now = clock_.steady();
  const std::lock_guard lock(mutex_);
  const std::uint64_t parent = entries_.at(id).parent;
  touch_locked(id, now);
  entries_.erase(id);
  if (const auto above = entries_.find(parent); above != entries_.end()) {
    --above->second.children;
  }
  if (current.board == this && current.id == id) {
    current = {parent != 0 ? this : nullptr, parent};
  }
}

std::optional<std::string> progress_board::find_stuck() const {
  const base::steady_time now = clock_.steady();
  const std::lock_guard lock(mutex_);
  for (const auto& [id, e] : entries_) {
    if (e.children == 0 && now - e.touched > e.allowance) {
      return e.what;
    }
  }
  return std::nullopt;
}

std::string heartbeat_path() {
  const char* own =
      std::getenv("WALDUR_SITE_AGENT_HEARTBEAT_PATH"); // NOLINT(concurrency-mt-unsafe)
  if (own != nullptr && *own != '\0') {
    return own;
  }
  std::error_code ignored;
  return (std::filesystem::temp_directory_path(ignored) / "waldur-site-agent-heartbeat").string();
}

bool touch_heartbeat(const std::string& path, base::wall_time now) {
  const int fd = ::open(
      path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0644
  );
  if (fd < 0) {
    return false;
  }
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now.time_since_epoch());
  const std::string text = std::to_string(seconds.count()) + "\n";
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  return ::close(fd) == 0 && written;
}

heartbeat_monitor::heartbeat_monitor(
    const progress_board& board, const base::clock& clock, std::string path
)
    : board_(board), clock_(clock), path_(std::move(path)),
      thread_([this](const std::stop_token& stop) { run(stop); }) {}

void heartbeat_monitor::run(const std::stop_token& stop) {
  const observe::logger log("heartbeat");
  std::mutex mutex;
  std::condition_variable_any wake;
  bool told = false; // one line per trouble, not one per beat
  while (!stop.stop_requested()) {
    const std::optional<std::string> stuck = board_.find_stuck();
    const bool fine = !stuck && touch_heartbeat(path_, clock_.wall());
    if (!fine && !told && stuck) {
      log.error("the heartbeat is withheld: an activity is over its time", {{"activity", *stuck}});
    } else if (!fine && !told) {
      log.warning(
          "the heartbeat file cannot be written; set WALDUR_SITE_AGENT_HEARTBEAT_PATH",
          {{"path", path_}}
      );
    }
    told = !fine;
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, beat_interval, [] { return false; });
  }
}

} // namespace siteagent::agent
