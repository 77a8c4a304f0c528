// SPDX-License-Identifier: MIT
#include "core/host/crash_point.hpp"

#ifdef SITEAGENT_TEST_HOOKS
#include "core/base/text.hpp"

#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <optional>
#include <string>
#endif

namespace siteagent::host {

#ifdef SITEAGENT_TEST_HOOKS

namespace {

struct crash_point {
  std::string phase;
  std::string verb;
  std::string kind;
  unsigned long nth = 1;
  std::atomic<unsigned long> seen{0};

  bool matches(const base::json& c) const {
    const auto same = [&c](const std::string& wanted, const char* key) {
      return wanted == "*" || wanted == c[key].string_or("");
    };
    return same(phase, "phase") && same(verb, "verb") && same(kind, "kind");
  }
};

crash_point* wanted_crash_point() {
  static crash_point* const point = []() -> crash_point* {
    const char* text = std::getenv("SITEAGENT_CRASH_AT");
    if (text == nullptr) {
      return nullptr;
    }
    const auto parts = base::split(text, ':');
    if (parts.size() != 4) {
      return nullptr;
    }
    auto* made = new crash_point; // for the life of the process
    made->phase = parts[0];
    made->verb = parts[1];
    made->kind = parts[2];
    made->nth = std::strtoul(std::string(parts[3]).c_str(), nullptr, 10);
    return made;
  }();
  return point;
}

} // namespace

void reach_crash_point(const base::json& checkpoint) {
  crash_point* const point = wanted_crash_point();
  if (point != nullptr && point->matches(checkpoint) && ++point->seen == point->nth) {
    ::kill(::getpid(), SIGKILL);
  }
}

#else

void reach_crash_point(const base::json&) {}

#endif

} // namespace siteagent::host
