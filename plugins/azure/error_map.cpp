// SPDX-License-Identifier: MIT
#include "plugins/azure/error_map.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/error_table.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace siteagent::azure {

namespace {

using base::error_code;

constexpr std::array<std::string_view, 23> reason_names{
    "none",          "stopped",      "ambiguous",  "throttled",     "busy",       "precondition",
    "in_use",        "nic_reserved", "locked",     "group_missing", "reference",  "absent",
    "capacity",      "quota",        "image",      "policy",        "permission", "credentials",
    "configuration", "superseded",   "os_timeout", "half_made",     "invalid"};

bool contains(std::string_view text, std::string_view part) {
  return base::to_lower(text).find(base::to_lower(part)) != std::string::npos;
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() &&
         base::equals_ignoring_case(text.substr(text.size() - tail.size()), tail);
}

// OperationNotAllowed stands for quota, for "not now" and for "never"; status and text tell.
error_row operation_not_allowed(const arm::error_node& node) {
  const std::string_view text = node.message;
  if (contains(text, "quota")) {
    return {node.code, reason::quota, error_code::quota, over_quota, raise_quota};
  }
  if (contains(text, "is attached to VM")) {
    return {node.code, reason::in_use, error_code::transient, "", ""};
  }
  if (contains(text, "in progress") || contains(text, "marked for deletion") ||
      contains(text, "another operation")) {
    return {node.code, reason::busy, error_code::transient, "", ""};
  }
  return {node.code, reason::invalid, error_code::permanent, "", "see Azure's text"};
}

std::optional<error_row> by_pattern(const arm::error_node& node) {
  if (base::equals_ignoring_case(node.code, "OperationNotAllowed")) {
    return operation_not_allowed(node);
  }
  if (ends_with(node.code, "CountLimitReached")) {
    return error_row{node.code, reason::quota, error_code::quota, over_quota, raise_quota};
  }
  const bool refused_delete = contains(node.code, "CannotBeDeleted") ||
                              contains(node.code, "CannotBeUpdated") ||
                              base::equals_ignoring_case(node.code.substr(0, 5), "InUse") ||
                              contains(node.message, "cannot be deleted because it is");
  if (refused_delete) {
    return error_row{node.code, reason::in_use, error_code::transient, "", ""};
  }
  return std::nullopt;
}

error_row by_status(int status) {
  switch (status) {
  case 401:
    return {"", reason::credentials, error_code::auth, "", "check the credentials"};
  case 403:
    return {
        "",
        reason::permission,
        error_code::forbidden,
        "",
        "check the roles of the service principal"};
  case 404:
    // A 404 without a code that says so proves nothing: a proxy or a wrong endpoint may answer.
    return {"", reason::ambiguous, error_code::transient, "", "check cloud.resource_manager"};
  case 408:
  case 500:
  case 502:
  case 503:
  case 504:
    return {"", reason::ambiguous, error_code::transient, "", ""};
  case 409:
    return {"", reason::busy, error_code::transient, "", ""};
  case 412:
    return {"", reason::precondition, error_code::conflict, "", ""};
  default:
    return status >= 500
               ? error_row{"", reason::ambiguous, error_code::transient, "", ""}
               : error_row{"", reason::invalid, error_code::permanent, "", "see Azure's text"};
  }
}

bool is_busy_code(std::string_view code) {
  const error_row* known = find_error_row(code);
  return known != nullptr && known->why == reason::busy;
}

// The innermost code that says something wins; of the outer ones only the last word is kept.
error_row judge(const arm::error_body& body) {
  if (body.status == 429) {
    for (const arm::error_node& node : body.nodes) {
      if (is_busy_code(node.code)) {
        return {"", reason::busy, error_code::transient, "", ""};
      }
    }
    return {"", reason::throttled, error_code::throttled, "", ""};
  }
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
    if (const error_row* known = find_error_row(node->code)) {
      // "Not found" counts only with the status of it.
      if (known->result != error_code::not_found || body.status == 404) {
        return *known;
      }
    }
    if (const auto guessed = by_pattern(*node)) {
      return *guessed;
    }
  }
  return by_status(body.status);
}

} // namespace

std::string_view name_of(reason r) {
  return reason_names.at(static_cast<std::size_t>(r));
}

reason reason_of(const base::error& e) {
  if (e.detail.empty()) {
    return reason::none;
  }
  const auto detail = base::json::parse(e.detail);
  if (!detail) {
    return reason::none;
  }
  const auto name = (*detail)["reason"].string();
  const auto* const it =
      name ? std::find(reason_names.begin(), reason_names.end(), *name) : reason_names.end();
  return it == reason_names.end() ? reason::none : static_cast<reason>(it - reason_names.begin());
}

void add_detail(base::error& e, std::string_view key, base::json value) {
  const auto parsed = base::json::parse(e.detail);
  base::json detail = parsed && parsed->is_object() ? *parsed : base::json::object();
  detail.set(key, std::move(value));
  e.detail = detail.dump();
}

base::error
make_error(reason why, base::error_code code, std::string message, std::string public_message) {
  base::error e;
  e.code = code;
  e.message = std::move(message);
  e.public_message = std::move(public_message);
  if (why != reason::none) {
    add_detail(e, "reason", name_of(why));
  }
  return e;
}

base::error map_error(const arm::error_body& body, std::string_view what) {
  const error_row verdict = judge(body);
  // The innermost node with words for people.
  const arm::error_node* spoken = &body.outer();
  for (const arm::error_node& node : body.nodes) {
    const std::string_view words = base::trim(node.message);
    if (!words.empty() && words.front() != '{') {
      spoken = &node;
    }
  }
  // Status 200 is the reading of an operation that failed.
  std::string message = std::string(what) + ": ";
  message += body.status == 200 ? "the operation failed" : "HTTP " + std::to_string(body.status);
  if (!body.root().code.empty()) {
    message += " " + body.root().code;
  }
  if (!spoken->message.empty()) {
    message += ": " + spoken->message;
  }
  if (!body.policy.empty()) {
    message += " [policy '" + body.policy + "'";
    message += body.policy_requirement.empty() ? "]" : " wants " + body.policy_requirement + "]";
  }
  if (!verdict.advice.empty()) {
    message += "; " + std::string(verdict.advice);
  }
  base::error e = make_error(
      verdict.why, verdict.result, std::move(message), std::string(verdict.for_customer)
  );
  e.provider_code = body.root().code;
  e.http_status = body.status;
  add_detail(e, "http_status", body.status);
  if (!body.root().code.empty()) {
    add_detail(e, "provider_code", body.root().code);
  }
  if (!body.root().target.empty()) {
    add_detail(e, "target", body.root().target);
  }
  if (!body.policy.empty()) {
    add_detail(e, "assignment", body.policy);
  }
  return e;
}

base::error as_refusal(base::error e) {
  if (e.code == base::error_code::no_capacity) {
    e.code = base::error_code::refused;
  }
  return e;
}

} // namespace siteagent::azure
