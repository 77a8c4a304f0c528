// SPDX-License-Identifier: MIT
// Reading and matching of fault scripts.
#include "faults.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

namespace siteagent::emulators {

namespace {

using base::json;

base::error bad(std::string message) {
  return {.code = base::error_code::invalid, .message = std::move(message)};
}

base::result<void> only(const json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.members()) {
    bool found = false;
    for (auto k : known) {
      found = found || k == key;
    }
    if (!found) {
      return bad("unknown key \"" + key + "\"");
    }
  }
  return {};
}

base::result<std::uint64_t>
count_of(const json& object, std::string_view key, std::uint64_t fallback) {
  const json* value = object.find(key);
  if (value == nullptr) {
    return fallback;
  }
  const auto n = value->is_number() ? value->integer() : std::nullopt;
  if (!n || *n < 0) {
    return bad("\"" + std::string(key) + "\" must be a whole number from 0");
  }
  return static_cast<std::uint64_t>(*n);
}

base::result<std::optional<std::regex>> pattern_of(const json& match, std::string_view key) {
  const json* value = match.find(key);
  if (value == nullptr) {
    return std::optional<std::regex>();
  }
  if (!value->is_string()) {
    return bad("\"" + std::string(key) + "\" must be a regular expression");
  }
  try {
    return std::optional<std::regex>(std::regex(value->string_or("")));
  } catch (const std::regex_error& e) {
    return bad("\"" + std::string(key) + "\": " + e.what());
  }
}

base::result<void> read_match(const json& match, fault_rule& rule) {
  if (!match.is_null() && !match.is_object()) {
    return bad("\"match\" must be an object");
  }
  if (auto ok = only(match, {"method", "path", "query", "nth", "times", "percent"}); !ok) {
    return ok;
  }
  rule.method = match["method"].string_or("");
  auto path = pattern_of(match, "path");
  if (!path) {
    return path.error();
  }
  rule.path = *std::move(path);
  auto query = pattern_of(match, "query");
  if (!query) {
    return query.error();
  }
  rule.query = *std::move(query);
  auto nth = count_of(match, "nth", 1);
  if (!nth) {
    return nth.error();
  }
  rule.nth = std::max<std::uint64_t>(1, *nth);
  auto times = count_of(match, "times", 1);
  if (!times) {
    return times.error();
  }
  rule.times = *times;
  auto percent = count_of(match, "percent", 100);
  if (!percent || *percent > 100) {
    return bad("\"percent\" must be a whole number from 0 to 100");
  }
  rule.percent = static_cast<unsigned>(*percent);
  return {};
}

base::result<void> read_answer(const json& what, fault& f) {
  const auto status = what["status"].integer();
  if (!status || *status < 200 || *status > 599) {
    return bad("\"status\" must be 200..599");
  }
  f.kind = fault_kind::answer;
  f.status = static_cast<int>(*status);
  for (const auto& [name, value] : what["headers"].members()) {
    f.headers.emplace_back(name, std::string(value.number_text().value_or("")));
  }
  const json& body = what["body"];
  f.body = body.is_null() ? "" : body.is_string() ? body.string_or("") : body.dump();
  return {};
}

base::result<void> read_operation(const json& what, fault& f) {
  const std::string outcome = what["operation"].string_or("");
  f.kind = fault_kind::operation;
  f.operation.code = what["code"].string_or("");
  if (outcome == "Failed") {
    f.operation.outcome = operation_fault::outcome_kind::failed;
  } else if (outcome == "Canceled") {
    f.operation.outcome = operation_fault::outcome_kind::canceled;
  } else if (outcome == "stuck") {
    f.operation.outcome = operation_fault::outcome_kind::stuck;
  } else {
    return bad("\"operation\" must be Failed, Canceled or stuck");
  }
  f.label = "operation " + outcome;
  return {};
}

base::result<void> read_word(const json& what, fault& f) {
  const std::string word = what.string_or("");
  f.label = word;
  if (word == "cut") {
    f.kind = fault_kind::cut;
  } else if (word == "hang") {
    f.kind = fault_kind::hang;
  } else if (word == "truncate") {
    f.kind = fault_kind::truncate;
    f.after = true; // there is only an answer to truncate once the request was handled
  } else {
    return bad("\"do\" must be cut, hang, truncate or an object, not \"" + word + "\"");
  }
  return {};
}

base::result<void> read_object(const json& what, bool operations_allowed, fault& f) {
  if (auto ok = only(
          what,
          {"status",
           "headers",
           "body",
           "delay_ms",
           "slow_ms_per_chunk",
           "skew_s",
           "operation",
           "code"}
      );
      !ok) {
    return ok;
  }
  auto delay = count_of(what, "delay_ms", 0);
  if (!delay) {
    return delay.error();
  }
  f.delay = std::chrono::milliseconds(*delay);
  auto slow = count_of(what, "slow_ms_per_chunk", 0);
  if (!slow) {
    return slow.error();
  }
  f.slow = std::chrono::milliseconds(*slow);
  constexpr std::int64_t most_skew = 366LL * 24 * 3600;
  const auto skew =
      what["skew_s"].is_null() ? std::optional<std::int64_t>(0) : what["skew_s"].integer();
  if (!skew || *skew < -most_skew || *skew > most_skew) {
    return bad("\"skew_s\" must be a whole number of seconds, at most a year back or forth");
  }
  f.skew = std::chrono::seconds(*skew);
  if (what.find("operation") != nullptr) {
    if (!operations_allowed) {
      return bad("\"operation\" faults make no sense for this emulator");
    }
    if (what.find("status") != nullptr) {
      return bad("\"operation\" and \"status\" exclude each other");
    }
    return read_operation(what, f);
  }
  if (what.find("status") != nullptr) {
    auto ok = read_answer(what, f);
    f.label = "status " + std::to_string(f.status);
    return ok;
  }
  f.kind = fault_kind::delay;
  if (what.find("skew_s") != nullptr) {
    f.label = "skew " + std::to_string(f.skew.count()) + " s";
  } else if (what.find("slow_ms_per_chunk") != nullptr) {
    f.label = "slow " + std::to_string(f.slow.count()) + " ms";
  } else if (what.find("delay_ms") != nullptr) {
    f.label = "delay " + std::to_string(f.delay.count()) + " ms";
  } else {
    return bad("\"do\" has neither status nor delay_ms, slow_ms_per_chunk, skew_s nor operation");
  }
  return {};
}

base::result<fault_rule> read_rule(const json& document, bool operations_allowed) {
  if (!document.is_object()) {
    return bad("must be an object");
  }
  if (auto ok = only(document, {"match", "when", "do"}); !ok) {
    return ok.error();
  }
  fault_rule rule;
  if (auto ok = read_match(document["match"], rule); !ok) {
    return ok.error();
  }
  const std::string when = document["when"].string_or(document["when"].is_null() ? "before" : "");
  if (when != "before" && when != "after") {
    return bad("\"when\" must be before or after");
  }
  rule.what.after = when == "after";
  const json& what = document["do"];
  auto ok = what.is_object() ? read_object(what, operations_allowed, rule.what)
                             : read_word(what, rule.what);
  if (!ok) {
    return ok.error();
  }
  rule.what.label = (rule.what.after ? "after " : "before ") + rule.what.label;
  return rule;
}

// std::regex recurses once per character; a path longer than this matches nothing.
constexpr std::size_t longest_matched = 4096;

bool matches(const std::optional<std::regex>& pattern, const std::string& text) {
  return !pattern || (text.size() <= longest_matched && std::regex_search(text, *pattern));
}

} // namespace

base::result<fault_script> fault_script::parse(const json& document, bool operations_allowed) {
  if (!document.is_object() || !document["rules"].is_array()) {
    return bad("fault script: must be {\"rules\": [...]}");
  }
  if (auto ok = only(document, {"rules"}); !ok) {
    return base::with_context(ok.error(), "fault script");
  }
  fault_script script;
  for (std::size_t i = 0; i < document["rules"].size(); ++i) {
    auto rule = read_rule(document["rules"][i], operations_allowed);
    if (!rule) {
      return base::with_context(rule.error(), "fault script: rule " + std::to_string(i));
    }
    script.rules_.push_back(*std::move(rule));
  }
  return script;
}

// Not random on purpose: a run that failed can be run again.
bool fault_script::falls(unsigned percent) {
  if (percent >= 100) {
    return true;
  }
  dice_ = dice_ * 6364136223846793005U + 1442695040888963407U;
  return (dice_ >> 33U) % 100 < percent;
}

std::optional<fault> fault_script::next(const net::server_request& request) {
  std::optional<fault> chosen;
  for (auto& rule : rules_) {
    const bool match = (rule.method.empty() || rule.method == request.method) &&
                       matches(rule.path, request.path) && matches(rule.query, request.query);
    if (!match) {
      continue;
    }
    ++rule.matches;
    const bool fires = rule.matches >= rule.nth &&
                       (rule.times == 0 || rule.matches < rule.nth + rule.times) &&
                       falls(rule.percent);
    if (fires && !chosen) {
      chosen = rule.what;
    }
  }
  return chosen;
}

} // namespace siteagent::emulators
