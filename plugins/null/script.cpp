// SPDX-License-Identifier: MIT
#include "plugins/null/script.hpp"

#include "core/base/error.hpp"

#include <signal.h>
#include <unistd.h>

namespace siteagent::null {

namespace {

using base::json;

constexpr const char* operations[] = {
    "ping",
    "evaluate_order",
    "create_resource",
    "delete_resource",
    "pause",
    "downscale",
    "restore",
    "pull_resources",
    "report_usage",
    "list_resources",
    "set_resource_limits",
    "diagnostics",
    "add_members",
    "remove_members",
    "describe",
};

constexpr base::error_code codes[] = {
    base::error_code::transient,
    base::error_code::throttled,
    base::error_code::no_capacity,
    base::error_code::deadline,
    base::error_code::cancelled,
    base::error_code::not_ready,
    base::error_code::outcome_unknown,
    base::error_code::permanent,
    base::error_code::invalid,
    base::error_code::auth,
    base::error_code::conflict,
    base::error_code::unsupported,
    base::error_code::forbidden,
    base::error_code::refused,
    base::error_code::quota,
    base::error_code::price,
    base::error_code::not_found,
    base::error_code::plugin_bug,
};

} // namespace

sagent_code to_code(const json& value) {
  if (const auto number = value.integer()) {
    return static_cast<sagent_code>(*number);
  }
  const std::string wanted = value.string_or("transient");
  for (const base::error_code code : codes) {
    if (base::name_of(code) == wanted) {
      return static_cast<sagent_code>(code);
    }
  }
  throw sagent::failure(
      SAGENT_E_INVALID, "faults: there is no code '" + wanted + "'; use for example 'quota' or 301"
  );
}

script::script(const json& settings)
    : crash_at_(settings["crash_at"].string_or("")), hang_at_(settings["hang_at"].string_or("")) {
  for (const auto& [operation, ms] : settings["latency_ms"].members()) {
    latency_ms_[operation] = ms.integer().value_or(0);
  }
  for (const char* operation : operations) {
    runs_[operation];
  }
  for (const json& f : settings["faults"].items()) {
    fault& made = faults_.emplace_back();
    made.operation = f["operation"].string_or("");
    made.nth = static_cast<unsigned long>(f["nth"].integer().value_or(1));
    made.times = static_cast<unsigned long>(f["times"].integer().value_or(1));
    made.after_writes = static_cast<unsigned>(f["after_writes"].integer().value_or(0));
    made.failure = sagent::failure(to_code(f["code"]), f["message"].string_or("a scripted fault"));
    made.failure.public_message = f["public_message"].string_or("");
    made.failure.retry_after_ms = f["retry_after_ms"].integer().value_or(-1);
  }
}

void script::end_badly_if_due(std::string_view when, std::string_view operation) const {
  const std::string here = std::string(when) + ":" + std::string(operation);
  if (crash_at_ == here) {
    ::kill(::getpid(), SIGKILL);
  }
  while (hang_at_ == here) { // a call that nothing ends, whatever the host says
    ::pause();
  }
}

script::run::run(script& s, std::string_view operation, sagent::call& call)
    : script_(s), operation_(operation), call_(call), number_(++s.runs_.find(operation)->second) {
  script_.end_badly_if_due("before", operation_);
  if (const auto wait = script_.latency_ms_.find(operation); wait != script_.latency_ms_.end()) {
    if (const sagent_code stop = call_.wait_ms(wait->second); stop != SAGENT_OK) {
      throw sagent::failure(stop, "stopped while waiting");
    }
  }
  fail_if_due();
}

void script::run::fail_if_due() const {
  for (const fault& f : script_.faults_) {
    if (f.operation == operation_ && f.after_writes == writes_ && number_ >= f.nth &&
        number_ - f.nth < f.times) {
      throw f.failure;
    }
  }
}

void script::run::checkpoint(
    std::string_view phase, std::string_view verb, std::string_view kind, const std::string& id
) {
  const json what = json::object({{"phase", phase}, {"verb", verb}, {"kind", kind}, {"id", id}});
  if (const sagent_code stop = call_.checkpoint(what.dump()); stop != SAGENT_OK) {
    throw sagent::failure(stop, "stopped at a checkpoint");
  }
  if (phase == "after") {
    ++writes_;
    fail_if_due();
  }
}

void script::run::finish() const {
  script_.end_badly_if_due("after", operation_);
}

} // namespace siteagent::null
