// SPDX-License-Identifier: MIT
#include "core/fleet/files.hpp"

#include "core/base/json.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <utility>

namespace siteagent::fleet {

namespace {

std::string holder_text(std::string_view what) {
  std::array<char, 256> host{};
  (void)gethostname(host.data(), host.size() - 1);
  return "pid " + std::to_string(getpid()) + " on " + host.data() + ": " + std::string(what);
}

// Who holds it, as far as the file tells; it is empty for a moment after each change of hands.
std::string read_holder(int fd) {
  std::array<char, 512> text{};
  const ssize_t n = pread(fd, text.data(), text.size(), 0);
  std::string holder(text.data(), static_cast<std::size_t>(std::max<ssize_t>(n, 0)));
  std::replace_if(
      holder.begin(), holder.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' '
  );
  return holder.empty() ? "another process" : holder;
}

base::error still_held(const std::string& path, const std::string& holder) {
  return {
      .code = base::error_code::conflict,
      .message = path + " is held by " + holder + "; try again when it has ended",
      .detail = base::json::object({{"held_by", holder}}).dump()};
}

base::error interrupted(const std::string& path, const std::string& holder) {
  return {
      base::error_code::cancelled, "interrupted while waiting for " + path + ", held by " + holder};
}

base::error cannot_lock(const std::string& path, int number) {
  return {
      .code = base::error_code::permanent,
      .message = path + " cannot be locked: " + std::generic_category().message(number)};
}

} // namespace

base::result<file_lock> file_lock::take(
    const std::string& path, std::string_view what, const waiting& w, const std::stop_token& stop
) {
  using namespace std::chrono_literals;
  if (auto made = make_directories(directory_of(path)); !made) {
    return std::move(made).error();
  }
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR);
  if (fd < 0) {
    return cannot_lock(path, errno);
  }
  file_lock lock(fd);
  const auto end = std::chrono::steady_clock::now() + w.longest;
  std::mutex mutex;
  std::condition_variable_any wake;
  // flock has no time limit, so it is asked again; the pause grows to what a person does not feel.
  for (auto pause = 2ms; flock(fd, LOCK_EX | LOCK_NB) != 0; pause = std::min(pause * 2, 100ms)) {
    if (errno == EINTR) {
      continue;
    }
    if (errno != EWOULDBLOCK) {
      return cannot_lock(path, errno);
    }
    const std::string holder = read_holder(fd);
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now()
    );
    if (left <= 0ms) {
      return still_held(path, holder);
    }
    if (w.on_wait && pause == 2ms) {
      w.on_wait(holder);
    }
    std::unique_lock guard(mutex);
    (void)wake.wait_for(guard, stop, std::min(pause, left), [] { return false; });
    if (stop.stop_requested()) {
      return interrupted(path, holder);
    }
  }
  const std::string text = holder_text(what);
  // The text only informs: a full disk must not keep anybody from the lock.
  [[maybe_unused]] const bool told =
      ftruncate(fd, 0) == 0 && pwrite(fd, text.data(), text.size(), 0) >= 0;
  return lock;
}

file_lock::file_lock(file_lock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

file_lock& file_lock::operator=(file_lock&& other) noexcept {
  std::swap(fd_, other.fd_);
  return *this;
}

file_lock::~file_lock() {
  if (fd_ >= 0) {
    [[maybe_unused]] const int emptied = ftruncate(fd_, 0);
    (void)close(fd_);
  }
}

} // namespace siteagent::fleet
