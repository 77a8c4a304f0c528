// SPDX-License-Identifier: MIT
// The process has one directory per state folder; it is held by a flock, so that the next process
// can tell a dead one's directory from a living one's and remove it.
#include "core/fleet/transient_files.hpp"

#include "core/fleet/descriptor.hpp"
#include "core/fleet/files.hpp"
#include "core/fleet/keys.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <system_error>

namespace siteagent::fleet {

namespace {

namespace fs = std::filesystem;

struct held_directory {
  std::string path;
  descriptor hold;
};

// The one piece of process-wide state: a signal must find the files whoever made them.
struct process_files {
  std::mutex mutex;
  std::map<std::string, held_directory> by_state;
  unsigned long next = 0;
};

process_files& files() {
  static auto* all = new process_files; // never destroyed: the last way out may use it
  return *all;
}

base::error failure(const std::string& path, int number) {
  return {
      base::error_code::permanent,
      "a temporary file for a key cannot be made at " + path + ": " +
          std::generic_category().message(number)};
}

void remove_directory(const std::string& path) noexcept {
  std::error_code ignored;
  for (fs::directory_iterator it(path, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    remove_transient_file(it->path().string());
  }
  fs::remove(path, ignored);
}

// Directories that nobody holds any more.
void remove_orphans(const std::string& parent) {
  std::error_code ignored;
  for (fs::directory_iterator it(parent, ignored), end; !ignored && it != end;
       it.increment(ignored)) {
    const std::string path = it->path().string();
    const descriptor fd(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (fd && flock(fd.get(), LOCK_EX | LOCK_NB) == 0) {
      remove_directory(path);
    }
  }
}

base::result<held_directory> make_directory(const std::string& state) {
  const std::string parent = state + "/transient";
  if (auto made = make_directories(parent); !made) {
    return std::move(made).error();
  }
  // Another process must not take a new directory for an orphan before it is held.
  const auto lock = file_lock::take(
      parent + ".lock", "transient files", {.longest = std::chrono::seconds(30), .on_wait = {}}
  );
  if (!lock) {
    return lock.error();
  }
  remove_orphans(parent);
  std::string path = parent + "/XXXXXX";
  if (mkdtemp(path.data()) == nullptr) {
    return failure(path, errno);
  }
  descriptor hold(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!hold || flock(hold.get(), LOCK_EX | LOCK_NB) != 0) {
    return failure(path, errno);
  }
  return held_directory{path, std::move(hold)};
}

} // namespace

base::result<std::string> transient_path(const std::string& state, std::string_view name) {
  process_files& all = files();
  const std::lock_guard guard(all.mutex);
  auto found = all.by_state.find(state);
  if (found == all.by_state.end()) {
    auto made = make_directory(state);
    if (!made) {
      return std::move(made).error();
    }
    found = all.by_state.emplace(state, *std::move(made)).first;
  }
  return found->second.path + "/" + std::to_string(all.next++) + "-" + std::string(name);
}

base::result<std::string>
write_transient_file(const std::string& state, std::string_view name, std::string_view content) {
  auto path = transient_path(state, name);
  if (!path) {
    return path;
  }
  const descriptor fd(
      open(path->c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, S_IRUSR | S_IWUSR)
  );
  if (!fd) {
    return failure(*path, errno);
  }
  std::string_view rest = content;
  while (!rest.empty()) {
    const ssize_t n = write(fd.get(), rest.data(), rest.size());
    if (n <= 0) {
      const int number = errno;
      remove_transient_file(*path);
      return failure(*path, number);
    }
    rest.remove_prefix(static_cast<std::size_t>(n));
  }
  if (fsync(fd.get()) != 0) {
    const int number = errno;
    remove_transient_file(*path);
    return failure(*path, number);
  }
  return path;
}

void remove_transient_file(const std::string& path) noexcept {
  const int fd = open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

  struct stat s {};

  if (fd >= 0 && fstat(fd, &s) == 0) {
    constexpr std::array<char, 4096> zeros{};
    for (off_t at = 0; at < s.st_size; at += static_cast<off_t>(zeros.size())) {
      const auto n = std::min(static_cast<off_t>(zeros.size()), s.st_size - at);
      if (pwrite(fd, zeros.data(), static_cast<std::size_t>(n), at) < 0) {
        break;
      }
    }
    (void)close(fd);
  }
  (void)unlink(path.c_str());
}

void remove_transient_files() noexcept {
  process_files& all = files();
  const std::lock_guard guard(all.mutex);
  for (const auto& [state, directory] : all.by_state) {
    remove_directory(directory.path);
  }
  all.by_state.clear();
}

} // namespace siteagent::fleet
