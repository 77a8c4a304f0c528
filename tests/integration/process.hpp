// SPDX-License-Identifier: MIT
// Child processes and files for integration tests. Every wait is woken by the kernel (pidfd,
// inotify) and has a deadline; nothing sleeps.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::integration {

// A directory of its own, removed at the end.
class temp_dir {
public:
  temp_dir();
  ~temp_dir();
  temp_dir(const temp_dir&) = delete;
  temp_dir& operator=(const temp_dir&) = delete;

  const std::filesystem::path& path() const { return path_; }

  std::string file(const std::string& name) const { return (path_ / name).string(); }

private:
  std::filesystem::path path_;
};

std::string read_file(const std::string& path, std::uintmax_t from = 0);
void write_file(const std::string& path, const std::string& text);

// Waits until `ready` is true; asked at once and after each change in `directory`. False: deadline.
bool wait_for_change(
    const std::string& directory, const std::function<bool()>& ready, std::chrono::seconds deadline
);

// A running program; killed (SIGKILL, by its own id) and reaped at the end.
class process {
public:
  using environment = std::map<std::string, std::string>;

  // stdout and stderr go to `output_file`. Throws std::runtime_error when it cannot start.
  process(
      std::vector<std::string> arguments, const environment& extra, const std::string& output_file
  );
  ~process();
  process(const process&) = delete;
  process& operator=(const process&) = delete;

  int id() const { return id_; }

  void signal(int number) const;
  bool is_running() const;
  // Exit code, or 128 + signal. nullopt: still running at the deadline.
  std::optional<int> wait(std::chrono::seconds deadline);
  std::string output() const;

private:
  int id_ = -1;
  std::optional<int> exit_;
  std::string output_file_;
};

} // namespace siteagent::integration
