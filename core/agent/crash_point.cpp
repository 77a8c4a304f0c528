// SPDX-License-Identifier: MIT
// The test hook that kills the process behind a write.
#include "core/agent/crash_point.hpp"

#ifdef SITEAGENT_TEST_HOOKS

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <string>

namespace siteagent::agent {

void crash_point(std::string_view phase, std::string_view verb, std::string_view kind) {
  static const std::string wanted = [] {
    const char* text = std::getenv("SITEAGENT_CRASH_AT"); // NOLINT(concurrency-mt-unsafe)
    return std::string(text == nullptr ? "" : text);
  }();
  if (wanted.empty()) {
    return;
  }
  const std::size_t last = wanted.rfind(':');
  std::string here(phase);
  here.append(":").append(verb).append(":").append(kind);
  if (last == std::string::npos || wanted.compare(0, last, here) != 0) {
    return;
  }
  static std::atomic<long> seen{0};
  if (++seen == std::strtol(wanted.c_str() + last + 1, nullptr, 10)) {
    std::raise(SIGKILL);
  }
}

} // namespace siteagent::agent

#else

namespace siteagent::agent {

void crash_point(std::string_view, std::string_view, std::string_view) {}

} // namespace siteagent::agent

#endif
