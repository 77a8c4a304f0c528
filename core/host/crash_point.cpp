// SPDX-License-Identifier: MIT
#include "core/host/crash_point.hpp"

#ifdef SITEAGENT_TEST_HOOKS
#include "core/base/text.hpp"

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <string_view>
#endif

namespace siteagent::host {

#ifdef SITEAGENT_TEST_HOOKS

namespace {

// The variable as it was last read, and how often its checkpoint was reached since.
struct crash_point {
  std::mutex mutex;
  std::string text;
  unsigned long seen = 0;
};

crash_point& the_crash_point() {
  static auto* const instance = new crash_point;
  return *instance;
}

bool matches(std::string_view wanted, const base::json& actual) {
  return wanted == "*" || wanted == actual.string_or("");
}

} // namespace

void reach_crash_point(const base::json& checkpoint) {
  const char* text = std::getenv("SITEAGENT_CRASH_AT");
  if (text == nullptr) {
    return;
  }
  const auto parts = base::split(text, ':');
  if (parts.size() != 4 || !matches(parts[0], checkpoint["phase"]) ||
      !matches(parts[1], checkpoint["verb"]) || !matches(parts[2], checkpoint["kind"])) {
    return;
  }
  crash_point& point = the_crash_point();
  const std::lock_guard lock(point.mutex);
  if (point.text != text) {
    point.text = text;
    point.seen = 0;
  }
  if (std::to_string(++point.seen) == parts[3]) {
    ::kill(::getpid(), SIGKILL);
  }
}

#else

void reach_crash_point(const base::json&) {}

#endif

} // namespace siteagent::host
