// SPDX-License-Identifier: MIT
// A child process whose output goes to a file. Ended at the latest with the object.
#pragma once

#include "core/base/result.hpp"

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::app {

class child {
public:
  // `arguments` begin with the program's path. `drop`: prefixes of names of environment variables
  // that the child does not get; `add`: "NAME=value" that it does. Errors name the program.
  static base::result<child> start(
      const std::vector<std::string>& arguments,
      const std::vector<std::string>& drop,
      const std::vector<std::string>& add,
      const std::string& output_file
  );
  child(child&& other) noexcept;
  child& operator=(child&& other) noexcept;
  child(const child&) = delete;
  child& operator=(const child&) = delete;
  ~child(); // SIGKILL and wait, if it still runs

  // The exit code (128 + the signal's number), or nothing when it still runs after that time.
  std::optional<int> wait(std::chrono::milliseconds time);
  // SIGTERM, and SIGKILL when it does not end in time.
  void end();

  bool is_running();

private:
  explicit child(pid_t id) : id_(id) {}

  void kill_and_wait() noexcept;

  pid_t id_ = -1; // -1: none
  std::optional<int> exit_;
};

} // namespace siteagent::app
