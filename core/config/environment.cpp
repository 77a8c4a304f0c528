// SPDX-License-Identifier: MIT
#include "core/config/environment.hpp"

#include "core/base/text.hpp"
#include "core/config/config.hpp"

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <utility>

namespace siteagent::config {

namespace {

struct period_variable {
  const char* name;
  bool may_be_off; // 0
};

constexpr std::array<period_variable, 7> periods{{
    {"WALDUR_SITE_AGENT_ORDER_PROCESS_PERIOD_MINUTES", false},
    {"WALDUR_SITE_AGENT_MEMBERSHIP_SYNC_PERIOD_MINUTES", false},
    {"WALDUR_SITE_AGENT_REPORT_PERIOD_MINUTES", false},
    {"WALDUR_SITE_AGENT_RECONCILIATION_PERIOD_MINUTES", false},
    {"WALDUR_SITE_AGENT_STOMP_UNHEALTHY_AFTER_MINUTES", false},
    {"WALDUR_SITE_AGENT_STOMP_HANDLER_STUCK_AFTER_MINUTES", false},
    {"WALDUR_SITE_AGENT_RESOURCE_STATUS_RECONCILIATION_MINUTES", true},
}};

constexpr std::array<std::pair<const char*, const char*>, 2> without_effect{{
    {"WALDUR_VERIFY_SSL", "no effect, as in the Python agent; use verify_ssl of the offering"},
    {"SENTRY_ENVIRONMENT", "no effect: there is no Sentry client"},
}};

std::string value_of(const char* name) {
  const char* text = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? std::string() : std::string(text);
}

finding about(bool fatal, std::string name, std::string why) {
  return {
      .fatal = fatal,
      .file = "environment",
      .at = {},
      .key = std::move(name),
      .why = std::move(why)};
}

} // namespace

std::vector<finding> judge_environment() {
  std::vector<finding> out;
  for (const auto& [name, may_be_off] : periods) {
    const std::string text = value_of(name);
    if (text.empty() || (may_be_off && base::trim(text) == "0")) {
      continue;
    }
    if (const auto read = parse_period("", text, std::chrono::minutes(1)); !read) {
      out.push_back(about(true, name, read.error().message.substr(2))); // without ": "
    }
  }
  for (const auto& [name, why] : without_effect) {
    if (!value_of(name).empty()) {
      out.push_back(about(false, name, why));
    }
  }
  return out;
}

} // namespace siteagent::config
