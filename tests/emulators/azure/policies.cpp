// SPDX-License-Identifier: MIT
#include "policies.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& item) {
    return equals_ignoring_case(item, text);
  });
}

json texts(const std::vector<std::string>& list) {
  json out = json::array();
  for (const auto& text : list) {
    out.push_back(text);
  }
  return out;
}

json evaluation(std::string_view field, std::string_view value, json wanted, std::string_view op) {
  return json::object(
      {{"result", "True"},
       {"expressionKind", "Field"},
       {"expression", field},
       {"path", field},
       {"expressionValue", value},
       {"targetValue", std::move(wanted)},
       {"operator", op}}
  );
}

const json* tag_of(const json& tags, std::string_view name) {
  for (const auto& [key, value] : tags.members()) {
    if (equals_ignoring_case(key, name)) {
      return &value;
    }
  }
  return nullptr;
}

bool has_conditions(const policy_entry& p) {
  return !p.location.empty() || !p.allowed_locations.empty() || !p.allowed_sizes.empty() ||
         !p.denied_sizes.empty() || !p.required_tag.empty();
}

std::string full_type(const request_target& t) {
  return t.type.empty() ? std::string("Microsoft.Resources/subscriptions/resourceGroups")
                        : t.provider + "/" + t.type;
}

bool concerns(const policy_entry& p, const request_target& t) {
  if (!p.scope.empty() && !is_within(t.scope, p.scope)) {
    return false;
  }
  if (p.type != "*") {
    return equals_ignoring_case(p.type, full_type(t));
  }
  // "All types" means those that have a location and tags of their own.
  const bool indexed = !t.type.empty() && t.type.find('/') == std::string::npos;
  return indexed || (!has_conditions(p) && !t.type.empty());
}

// What the assignment finds wrong, as its evaluated expressions; empty: nothing.
json violations(const policy_entry& p, const json& body, bool is_patch) {
  json found = json::array();
  const std::string location = normalized_location(body["location"].string_or(""));
  if (!location.empty() && p.location == location) {
    found.push_back(evaluation("location", location, p.location, "Equals"));
  }
  if (!location.empty() && !p.allowed_locations.empty() &&
      !contains(p.allowed_locations, location)) {
    found.push_back(evaluation("location", location, texts(p.allowed_locations), "NotIn"));
  }
  const std::string size = body.at({"properties", "hardwareProfile", "vmSize"}).string_or("");
  constexpr std::string_view size_field = "Microsoft.Compute/virtualMachines/sku.name";
  if (!size.empty() && !p.allowed_sizes.empty() && !contains(p.allowed_sizes, size)) {
    found.push_back(evaluation(size_field, size, texts(p.allowed_sizes), "NotIn"));
  }
  if (!size.empty() && contains(p.denied_sizes, size)) {
    found.push_back(evaluation(size_field, size, texts(p.denied_sizes), "In"));
  }
  const bool tags_concerned = !is_patch || body.find("tags") != nullptr;
  if (!p.required_tag.empty() && tags_concerned &&
      tag_of(body["tags"], p.required_tag) == nullptr) {
    found.push_back(evaluation("tags[" + p.required_tag + "]", "", "false", "Exists"));
  }
  if (!has_conditions(p)) {
    found.push_back(evaluation("type", p.type, p.type, "Like"));
  }
  return found;
}

// An id part of a display name: "Allowed sizes" -> "allowed-sizes".
std::string slug(std::string_view name) {
  std::string out = base::to_lower(name);
  for (char& c : out) {
    c = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ? c : '-';
  }
  return out;
}

json parameters_of(const policy_entry& p) {
  json out = json::object();
  if (!p.allowed_locations.empty()) {
    out.set("listOfAllowedLocations", json::object({{"value", texts(p.allowed_locations)}}));
  }
  if (!p.allowed_sizes.empty()) {
    out.set("listOfAllowedSKUs", json::object({{"value", texts(p.allowed_sizes)}}));
  }
  if (!p.required_tag.empty()) {
    out.set("tagName", json::object({{"value", p.required_tag}}));
  }
  return out;
}

reply denial(
    const context& c, const request_target& t, const policy_entry& p, const json& expressions
) {
  const std::string scope = p.scope.empty() ? "/subscriptions/" + c.subscription_id() : p.scope;
  const std::string name = slug(p.name);
  const std::string assignment =
      scope + "/providers/Microsoft.Authorization/policyAssignments/" + name;
  const std::string definition = "/subscriptions/" + c.subscription_id() +
                                 "/providers/Microsoft.Authorization/policyDefinitions/" + name;
  const json identifiers = json::array({json::object(
      {{"policyAssignment", json::object({{"name", p.name}, {"id", assignment}})},
       {"policyDefinition", json::object({{"name", p.name}, {"id", definition}})}}
  )});
  json body = error_body(
      {"RequestDisallowedByPolicy",
       "Resource '" + t.name + "' was disallowed by policy. Policy identifiers: '" +
           identifiers.dump() + "'.",
       t.name}
  );
  const json info = json::object(
      {{"policyDefinitionDisplayName", p.name},
       {"policyDefinitionId", definition},
       {"policyDefinitionName", name},
       {"policyDefinitionEffect", "deny"},
       {"policyAssignmentId", assignment},
       {"policyAssignmentName", name},
       {"policyAssignmentDisplayName", p.name},
       {"policyAssignmentScope", scope},
       {"policyAssignmentParameters", parameters_of(p)},
       {"evaluationDetails", json::object({{"evaluatedExpressions", expressions}})}}
  );
  body.member_ref("error").set(
      "additionalInfo", json::array({json::object({{"type", "PolicyViolation"}, {"info", info}})})
  );
  reply r = json_reply(403, body);
  r.headers.emplace_back("x-ms-failure-cause", "gateway");
  return r;
}

// append leaves what the request says, modify overrides it.
void add_tags(const policy_entry& p, json& body) {
  if (body["tags"].is_null()) {
    body.set("tags", json::object());
  }
  auto& tags = body.member_ref("tags");
  for (const auto& [name, value] : p.tags.members()) {
    if (p.effect == "modify" || tag_of(tags, name) == nullptr) {
      tags.set(name, value);
    }
  }
}

} // namespace

std::optional<reply> apply_policies(context& c, const request_target& target) {
  const bool own = equals_ignoring_case(target.provider, "Microsoft.Authorization") ||
                   equals_ignoring_case(target.type, "deployments");
  if (target.verb != request_target::verb_kind::write || own || !c.body.is_object()) {
    return std::nullopt;
  }
  const bool is_patch = c.http.method == "PATCH";
  // Azure evaluates deny after append and modify.
  for (const auto& p : c.world.offer.policies) {
    const bool applies = !is_patch || c.body.find("tags") != nullptr;
    if (p.effect != "deny" && applies && concerns(p, target)) {
      add_tags(p, c.body);
    }
  }
  for (const auto& p : c.world.offer.policies) {
    if (p.effect != "deny" || !concerns(p, target)) {
      continue;
    }
    const json found = violations(p, c.body, is_patch);
    if (found.size() > 0) {
      return denial(c, target, p, found);
    }
  }
  return std::nullopt;
}

} // namespace siteagent::azure_emulator
