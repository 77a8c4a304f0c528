// SPDX-License-Identifier: MIT
// Files the fleet keeps: read whole, replaced atomically, locked between processes.
#pragma once

#include "core/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

namespace siteagent::fleet {

// The whole file, at most 64 MiB. `not_found` when it is not there.
base::result<std::string> read_file(const std::string& path);

// A temporary file in the same directory, fsync, rename, fsync of the directory. The file's mode is
// `mode`, or that of the file it replaces when `mode` is nullopt (0600 for a new one); a symbolic
// link stays and its file is replaced. On failure the old file is untouched and the temporary one
// gone; temporary files that a killed process left are removed by the next one after an hour.
base::result<void>
replace_file(const std::string& path, std::string_view content, std::optional<mode_t> mode = {});
// The same without any fsync, for what can be made again.
base::result<void> replace_cache_file(const std::string& path, std::string_view content);
// A file that appears whole, 0600, or not at all. `conflict` when there is one already.
base::result<void> create_file(const std::string& path, std::string_view content);

// "/a" of "/a/b", "/" of "/b", "." of "b".
std::string directory_of(const std::string& path);

// Makes the directory and its parents, new ones with 0700.
base::result<void> make_directories(const std::string& path);

// Removes it; false: it was not there.
base::result<bool> remove_file(const std::string& path);

// An exclusive flock, held until the object goes. The lock file is made 0600 (its directories, too)
// and never removed; its text names the holder ("pid 123 on host: what").
class file_lock {
public:
  struct waiting {
    std::chrono::milliseconds longest{std::chrono::minutes(30)}; // 0: do not wait
    std::function<void(const std::string& holder)> on_wait;      // once, when it is held by another
  };

  // `conflict` naming the holder when the time ran out, also as detail {"held_by":...};
  // `cancelled` when stopped.
  static base::result<file_lock> take(
      const std::string& path,
      std::string_view what,
      const waiting& w,
      const std::stop_token& stop = {}
  );
  file_lock(file_lock&& other) noexcept;
  file_lock& operator=(file_lock&& other) noexcept;
  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;
  ~file_lock();

private:
  explicit file_lock(int fd) : fd_(fd) {}

  int fd_ = -1;
};

} // namespace siteagent::fleet
