// SPDX-License-Identifier: MIT
#include "plugins/azure/error_map.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/error_table.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace siteagent::azure {

namespace {

constexpr std::array<std::string_view, 23> reason_names{
    "none",          "stopped",      "ambiguous",  "throttled",     "busy",       "precondition",
    "in_use",        "nic_reserved", "locked",     "group_missing", "reference",  "absent",
    "capacity",      "quota",        "image",      "policy",        "permission", "credentials",
    "configuration", "superseded",   "os_timeout", "half_made",     "invalid"};

// The innermost code that says something wins; of the outer ones only the last word is kept.
const error_row& judge(const arm::error_body& body) {
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
    if (const error_row* known = find_error_row(body.status, node->code, node->message)) {
      return *known;
    }
  }
  return error_row_of_status(body.status, body.root().message);
}

// The innermost node with words for people.
const arm::error_node& spoken_of(const arm::error_body& body) {
  const arm::error_node* spoken = &body.outer();
  for (const arm::error_node& node : body.nodes) {
    const std::string_view words = base::trim(node.message);
    if (!words.empty() && words.front() != '{') {
      spoken = &node;
    }
  }
  return *spoken;
}

// The number behind a label, "10" of "Current Limit: 10,"; "" when it is not there.
std::string number_behind(std::string_view text, std::string_view label) {
  const auto at = text.find(label);
  if (at == std::string_view::npos) {
    return "";
  }
  const auto from = text.find_first_not_of(' ', at + label.size());
  const auto end = text.find_first_not_of("0123456789", from);
  return from == std::string_view::npos ? "" : std::string(text.substr(from, end - from));
}

std::string between(std::string_view text, std::string_view before, std::string_view after) {
  const auto at = text.find(before);
  const auto end = at == std::string_view::npos ? at : text.find(after, at + before.size());
  return end == std::string_view::npos
             ? ""
             : std::string(text.substr(at + before.size(), end - at - before.size()));
}

} // namespace

base::json quota_figures(std::string_view text) {
  base::json out = base::json::object();
  const auto note = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) {
      out.set(key, value);
    }
  };
  note("name", between(text, "approved ", " quota"));
  note("location", between(text, "Location: ", ","));
  note("limit", number_behind(text, "Current Limit:"));
  note("used", number_behind(text, "Current Usage:"));
  note("wanted", number_behind(text, "Additional Required:"));
  note("limit_needed", number_behind(text, "New Limit Required:"));
  const bool telling = out["limit"].is_string() && out["used"].is_string();
  return telling ? out : base::json();
}

namespace {

// Azure's paragraph about quota, as one clause.
std::string quota_text(const base::json& q) {
  std::string out = "quota '" + q["name"].string_or("cores") + "'";
  if (q["location"].is_string()) {
    out += " of " + q["location"].string_or("");
  }
  out += ": " + q["used"].string_or("") + " of " + q["limit"].string_or("") + " used";
  if (q["wanted"].is_string()) {
    out += ", " + q["wanted"].string_or("") + " more wanted";
  }
  if (q["limit_needed"].is_string()) {
    out += ", a limit of " + q["limit_needed"].string_or("") + " would do";
  }
  return out;
}

std::string policy_text(const arm::error_body& body) {
  if (body.policy.empty()) {
    return "";
  }
  std::string out = " [policy '" + body.policy + "'";
  return out + (body.policy_requirement.empty() ? "]" : " wants " + body.policy_requirement + "]");
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
  const error_row& verdict = judge(body);
  const std::string& words = spoken_of(body).message;
  const base::json figures =
      verdict.what.why == reason::quota ? quota_figures(words) : base::json();
  // Status 200 is the reading of an operation that failed.
  std::string message = std::string(what) + ": ";
  message += body.status == 200 ? "the operation failed" : "HTTP " + std::to_string(body.status);
  if (!body.root().code.empty()) {
    message += " " + body.root().code;
  }
  if (!words.empty()) {
    message += ": " + (figures.is_object() ? quota_text(figures) : words);
  }
  message += policy_text(body);
  if (!verdict.advice.empty()) {
    message += "; " + std::string(verdict.advice);
  }
  base::error e = make_error(
      verdict.what.why,
      verdict.what.result,
      std::move(message),
      std::string(verdict.what.for_customer)
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
  if (figures.is_object()) {
    add_detail(e, "quota", figures);
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
