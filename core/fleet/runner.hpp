// SPDX-License-Identifier: MIT
// Child processes: ssh, ssh-keygen, rsync, and the fixed programs of a host that is this machine.
#pragma once

#include "core/base/result.hpp"

#include <chrono>
#include <cstddef>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::fleet {

struct command {
  std::vector<std::string>
      argv;               // argv[0] without a slash is looked up on PATH; never a secret here
  std::string input = {}; // written to standard input, which is then closed
  int input_fd = -1;      // instead of input: borrowed, becomes standard input
  std::vector<std::pair<std::string, std::string>> set = {}; // environment added or replaced
  std::chrono::milliseconds cap{120'000}; // then SIGKILL to its process group; 0: none
  std::size_t most_output = 4U << 20U;    // kept per stream; the rest is read and dropped
  // When set, that stream is handed on as it comes (any bytes) and not kept. Called on the thread
  // that runs the command, with SIGPIPE blocked.
  std::function<void(std::string_view)> on_output = {};
  std::function<void(std::string_view)> on_error_output = {};
};

struct finished {
  int status = 0; // exit status; 128 + signal when it was killed by one
  int signal = 0; // which one; 0: it ended by itself
  std::string output;
  std::string error_output;
  bool output_was_cut = false;
};

// [any thread]
class runner {
public:
  runner() = default;
  runner(const runner&) = delete;
  runner& operator=(const runner&) = delete;
  virtual ~runner() = default;
  // Blocks until the program ended and both streams are closed. A status other than 0 is no error.
  // `not_found`: no such program; `deadline`: the cap ran out; `cancelled`: stopped (SIGTERM to the
  // group, SIGKILL two seconds later). No grandchild outlives cap or stop.
  virtual base::result<finished> run(const command& c, std::stop_token stop = {}) = 0;
};

// posix_spawn, own process group, no inherited descriptors, default signals. Never destroyed.
runner& system_runner();

} // namespace siteagent::fleet
