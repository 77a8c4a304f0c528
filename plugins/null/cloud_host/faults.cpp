// SPDX-License-Identifier: MIT
#include "plugins/null/cloud_host/faults.hpp"

#include "plugins/null/cloud_host/cloud.hpp"
#include "plugins/null/script.hpp"

namespace siteagent::null {

namespace {

using base::json;

bool fits(const json& fault, std::string_view key, std::string_view value) {
  const auto wanted = fault[key].string();
  return !wanted || *wanted == value;
}

bool concerns(const json& fault, const request_shape& shape) {
  const bool is_of_a_request = !fault["verb"].is_null() || !fault["kind"].is_null();
  if (is_of_a_request == shape.verb.empty() || !fits(fault, "operation", shape.operation)) {
    return false;
  }
  if (fault["when"].string_or("before") != shape.when) {
    return false;
  }
  return !is_of_a_request || (fits(fault, "verb", shape.verb) && fits(fault, "kind", shape.kind) &&
                              fits(fault, "name", shape.name));
}

sagent_code code_for_status(std::int64_t status) {
  switch (status) {
  case 400:
    return SAGENT_E_INVALID;
  case 401:
    return SAGENT_E_AUTH;
  case 403:
    return SAGENT_E_FORBIDDEN;
  case 404:
    return SAGENT_E_NOT_FOUND;
  case 409:
    return SAGENT_E_CONFLICT;
  case 429:
    return SAGENT_E_THROTTLED;
  default:
    return status > 400 && status < 500 ? SAGENT_E_PERMANENT : SAGENT_E_TRANSIENT;
  }
}

} // namespace

std::optional<json> take_fault(json& state, const request_shape& shape) {
  json* faults = state.member_ref("script").find("faults");
  if (faults == nullptr) {
    return std::nullopt;
  }
  for (json& fault : faults->items()) {
    if (!concerns(fault, shape)) {
      continue;
    }
    const std::int64_t seen = fault["seen"].integer().value_or(0) + 1;
    const std::int64_t nth = fault["nth"].integer().value_or(1);
    const std::int64_t times = fault["times"].integer().value_or(1);
    fault.set("seen", seen);
    if (seen >= nth && seen < nth + times) {
      return fault;
    }
  }
  return std::nullopt;
}

std::string words_of_fault(const json& fault) {
  std::string words;
  if (const auto status = fault["http_status"].integer()) {
    words = "HTTP " + std::to_string(*status);
  }
  if (const auto code = fault["code"].string()) {
    words += (words.empty() ? "" : ": ") + std::string(*code);
  }
  if (const auto assignment = fault["assignment"].string()) {
    words += " by the assignment '" + std::string(*assignment) + "'";
  }
  if (const auto message = fault["message"].string()) {
    words += (words.empty() ? "" : ": ") + std::string(*message);
  }
  return words.empty() ? "a scripted fault" : words;
}

sagent::failure failure_of(
    const json& fault, const std::string& sentence, std::string_view kind, const std::string& id
) {
  const std::int64_t status = fault["http_status"].integer().value_or(0);
  const sagent_code code =
      fault["error"].is_null() ? code_for_status(status) : to_code(fault["error"]);
  sagent::failure f(code, sentence + ": " + words_of_fault(fault));
  f.provider_code = fault["code"].string_or("");
  if (const auto seconds = fault["retry_after_s"].integer()) {
    f.retry_after_ms = *seconds * 1000;
  }
  json detail = json::object();
  if (status != 0) {
    detail.set("http_status", status);
  }
  for (const auto& [from, to] :
       {std::pair("code", "provider_code"), std::pair("assignment", "assignment")}) {
    if (!fault[from].is_null()) {
      detail.set(to, fault[from]);
    }
  }
  if (!kind.empty()) {
    detail.set("resource", json::object({{"kind", kind}, {"id", id}}));
  }
  f.detail = detail.dump();
  return f;
}

std::int64_t polls_of(const json& state, std::string_view verb, std::string_view kind) {
  const json& polls = state.at({"script", "polls"});
  if (polls.is_number()) {
    return polls.integer().value_or(0);
  }
  const json& of_kind = polls[kind];
  if (of_kind.is_number()) {
    return of_kind.integer().value_or(0);
  }
  if (const auto count = of_kind[verb].integer()) {
    return *count;
  }
  return polls[verb].integer().value_or(0);
}

} // namespace siteagent::null
