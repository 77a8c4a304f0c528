// SPDX-License-Identifier: MIT
// Process-wide settings belong to the agent. Foreign code (constructors, create) may change them;
// this guard notices and puts them back.
#pragma once

#include <csignal>
#include <string>

namespace siteagent::host {

// From construction to destruction foreign code runs. Watches the handlers of SIGTERM, SIGINT,
// SIGHUP and SIGPIPE, the umask, the locale, the working directory and this thread's signal mask.
// What differs at the end is restored and logged as a warning that names `who`. Guards may overlap
// on several threads: the state before the first of them is the one that counts. [any thread]
class process_guard {
public:
  explicit process_guard(std::string who);
  ~process_guard();
  process_guard(const process_guard&) = delete;
  process_guard& operator=(const process_guard&) = delete;

private:
  std::string who_;
  sigset_t mask_{};
};

} // namespace siteagent::host
