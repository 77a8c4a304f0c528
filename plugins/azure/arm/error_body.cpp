// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/error_body.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure::arm {

namespace {

constexpr unsigned deepest = 8;
constexpr std::size_t longest_message = 1024;

std::string one_line(std::string_view text) {
  std::string out(base::truncated(base::trim(text), longest_message));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20) {
      c = ' ';
    }
  }
  return out;
}

const base::json& inner_of(const base::json& node) {
  const base::json& lower = node["innererror"];
  return lower.is_object() ? lower : node["innerError"];
}

void read_policy(const base::json& node, error_body& out) {
  for (const base::json& extra : node["additionalInfo"].items()) {
    const base::json& info = extra["info"];
    if (!out.policy.empty() || !info.is_object()) {
      continue;
    }
    out.policy = info["policyAssignmentDisplayName"].string_or("");
    if (out.policy.empty()) {
      out.policy =
          info["policyDefinitionDisplayName"].string_or(info["policyAssignmentName"].string_or(""));
    }
    const base::json& expression = info.at({"evaluationDetails", "evaluatedExpressions"})[0];
    if (expression.is_object()) {
      out.policy_requirement = one_line(
          expression["path"].string_or(expression["expression"].string_or("")) + " " +
          expression["operator"].string_or("") + " " + expression["targetValue"].dump()
      );
    }
  }
}

void walk(const base::json& node, unsigned depth, error_body& out);

// A message may itself be a JSON document holding the real error (deployments do that).
bool walk_embedded(const std::string& message, unsigned depth, error_body& out) {
  const std::string_view text = base::trim(message);
  if (text.empty() || text.front() != '{') {
    return false;
  }
  const auto inner = base::json::parse(text);
  if (!inner || !inner->is_object()) {
    return false;
  }
  const base::json& error = (*inner)["error"];
  const base::json& node = error.is_object() ? error : *inner;
  if (!node["code"].string()) {
    return false;
  }
  walk(node, depth + 1, out);
  return true;
}

void walk(const base::json& node, unsigned depth, error_body& out) {
  if (depth > deepest || !node.is_object()) {
    return;
  }
  const std::string code = node["code"].string_or("");
  const std::string message = node["message"].string_or("");
  if (!code.empty()) {
    out.nodes.push_back({code, one_line(message), node["target"].string_or("")});
  }
  read_policy(node, out);
  if (walk_embedded(message, depth, out)) {
    return;
  }
  // The first detail is the cause; the others repeat it for other objects.
  if (node["details"].size() > 0) {
    walk(node["details"][0], depth + 1, out);
  } else {
    walk(inner_of(node), depth + 1, out);
  }
}

} // namespace

const error_node* error_body::find(std::string_view code) const {
  for (const error_node& node : nodes) {
    if (base::equals_ignoring_case(node.code, code)) {
      return &node;
    }
  }
  return nullptr;
}

error_body parse_error(int status, const base::json& body) {
  error_body out;
  out.status = status;
  const base::json& envelope = body["error"];
  walk(envelope.is_object() ? envelope : body, 0, out);
  if (out.nodes.empty()) {
    out.nodes.push_back({"", "", ""});
  }
  return out;
}

error_body parse_error(int status, std::string_view body) {
  const auto document = base::json::parse(body);
  if (document) {
    return parse_error(status, *document);
  }
  error_body out;
  out.status = status;
  out.nodes.push_back({"", "the answer is not JSON", ""});
  return out;
}

} // namespace siteagent::azure::arm
