// SPDX-License-Identifier: MIT
// Network security groups and their rules.
#include "handlers.hpp"
#include "operations.hpp"
#include "render.hpp"
#include "rules.hpp"
#include "security_rule.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <array>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply bad_request(std::string_view code, const std::string& message) {
  return error_reply(400, {std::string(code), message, "", json::array()});
}

struct default_rule {
  std::string_view name;
  std::string_view text;
  std::string_view source;
  std::string_view destination;
  std::string_view access;
  int priority;
  std::string_view direction;
};

constexpr std::array<default_rule, 6> default_rules = {{
    {"AllowVnetInBound",
     "Allow inbound traffic from all VMs in VNET",
     "VirtualNetwork",
     "VirtualNetwork",
     "Allow",
     65000,
     "Inbound"},
    {"AllowAzureLoadBalancerInBound",
     "Allow inbound traffic from azure load balancer",
     "AzureLoadBalancer",
     "*",
     "Allow",
     65001,
     "Inbound"},
    {"DenyAllInBound", "Deny all inbound traffic", "*", "*", "Deny", 65500, "Inbound"},
    {"AllowVnetOutBound",
     "Allow outbound traffic from all VMs to all VMs in VNET",
     "VirtualNetwork",
     "VirtualNetwork",
     "Allow",
     65000,
     "Outbound"},
    {"AllowInternetOutBound",
     "Allow outbound traffic from all VMs to Internet",
     "*",
     "Internet",
     "Allow",
     65001,
     "Outbound"},
    {"DenyAllOutBound", "Deny all outbound traffic", "*", "*", "Deny", 65500, "Outbound"},
}};

json default_rule_list(const resource_path& path) {
  json list = json::array();
  for (const auto& rule : default_rules) {
    const json properties = json::object(
        {{"provisioningState", "Updating"},
         {"description", rule.text},
         {"protocol", "*"},
         {"sourcePortRange", "*"},
         {"destinationPortRange", "*"},
         {"sourceAddressPrefix", rule.source},
         {"destinationAddressPrefix", rule.destination},
         {"access", rule.access},
         {"priority", rule.priority},
         {"direction", rule.direction},
         {"sourcePortRanges", json::array()},
         {"destinationPortRanges", json::array()},
         {"sourceAddressPrefixes", json::array()},
         {"destinationAddressPrefixes", json::array()}}
    );
    list.push_back(json::object(
        {{"name", rule.name},
         {"id", path.id() + "/defaultSecurityRules/" + std::string(rule.name)},
         {"etag", ""},
         {"type", "Microsoft.Network/networkSecurityGroups/defaultSecurityRules"},
         {"properties", properties}}
    ));
  }
  return list;
}

json rule_body(const resource_path& path, const json& request) {
  json properties;
  properties.set("provisioningState", "Updating");
  for (const auto* key :
       {"description",
        "protocol",
        "sourcePortRange",
        "destinationPortRange",
        "sourceAddressPrefix",
        "destinationAddressPrefix",
        "access",
        "priority",
        "direction",
        "sourceApplicationSecurityGroups",
        "destinationApplicationSecurityGroups"}) {
    if (const auto& value = request[key]; !value.is_null()) {
      properties.set(key, value);
    }
  }
  for (const auto* key :
       {"sourcePortRanges",
        "destinationPortRanges",
        "sourceAddressPrefixes",
        "destinationAddressPrefixes"}) {
    properties.set(key, request[key].is_array() ? request[key] : json::array());
  }
  return json::object(
      {{"name", path.child},
       {"id", path.id()},
       {"etag", ""},
       {"type", type_name(kind::security_rule)},
       {"properties", properties}}
  );
}

reply conflict(const std::string& a, const std::string& b) {
  return bad_request(
      "SecurityRuleConflict",
      "Security rule " + a + " conflicts with rule " + b +
          ". Rules cannot have the same Priority and Direction."
  );
}

bool clash(const json& a, const json& b) {
  return a["priority"].integer() == b["priority"].integer() &&
         equals_ignoring_case(a["direction"].string_or(""), b["direction"].string_or(""));
}

std::optional<reply> check_rules(const resource_path& group, const json& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    resource_path path = group;
    path.kind = kind::security_rule;
    path.child = rules[i]["name"].string_or("");
    auto bad = check_name(path);
    if (!bad) {
      bad = check_security_rule(path.child, rules[i]["properties"]);
    }
    if (bad) {
      return bad;
    }
    for (std::size_t k = 0; k < i; ++k) {
      if (clash(rules[i]["properties"], rules[k]["properties"])) {
        return conflict(path.child, rules[k]["name"].string_or(""));
      }
    }
  }
  return std::nullopt;
}

resource&
store_rule(context& c, const resource_path& path, const json& request, std::string_view location) {
  const auto* existing = c.world.find(path.key());
  resource r;
  r.path = path;
  r.location = location;
  r.body = rule_body(path, request);
  r.state = existing == nullptr ? provisioning::creating : provisioning::updating;
  r.created = existing == nullptr ? c.now() : existing->created;
  r.changed = c.now();
  auto& stored = c.world.put(std::move(r));
  c.world.touch_etag(stored);
  return stored;
}

} // namespace

reply put_security_group(context& c, const resource_path& path) {
  auto* existing = c.world.find(path.key());
  const auto& rules = c.body.at({"properties", "securityRules"});
  auto bad = check_preconditions(c, existing);
  if (!bad) {
    bad = check_rules(path, rules);
  }
  if (!bad && existing != nullptr) {
    bad = refuse_if_locked(c, *existing);
  }
  if (bad) {
    return *bad;
  }
  const bool is_new = existing == nullptr;
  const std::string location = normalized_location(c.body["location"].string_or(""));
  resource r;
  r.path = path;
  r.location = location;
  r.body = tracked_body(path, c.body, location);
  r.body.set(
      "properties",
      json::object(
          {{"provisioningState", "Updating"},
           {"resourceGuid",
            is_new ? json(base::uuid::random().dashed())
                   : existing->body.at({"properties", "resourceGuid"})},
           {"securityRules", json::array()},
           {"defaultSecurityRules", default_rule_list(path)}}
      )
  );
  r.created = is_new ? c.now() : existing->created;
  r.changed = c.now();
  const bool same = !is_new && rules.size() == 0 && c.world.children(path.key()).empty() &&
                    existing->body["tags"] == r.body["tags"];
  r.state = is_new ? provisioning::creating : same ? existing->state : provisioning::updating;
  operation_plan plan;
  for (const auto& rule : rules.items()) {
    resource_path child = path;
    child.kind = kind::security_rule;
    child.child = rule["name"].string_or("");
    plan.also.push_back(child.key());
  }
  // The PUT replaces the whole list.
  for (const auto& key : c.world.children(path.key())) {
    c.world.erase(key);
  }
  auto& stored = c.world.put(std::move(r));
  c.world.touch_etag(stored);
  for (const auto& rule : rules.items()) {
    resource_path child = path;
    child.kind = kind::security_rule;
    child.child = rule["name"].string_or("");
    store_rule(c, child, rule["properties"], location);
  }
  plan.subject = path.key();
  plan.location = location;
  plan.is_new = is_new;
  reply answer = json_reply(is_new ? 201 : 200, render(c.world, stored));
  add_monitor_headers(c, begin(c, plan), monitors::async, answer);
  return answer;
}

reply put_security_rule(context& c, const resource_path& path) {
  auto* group = c.world.find(key_of(path.parent_id()));
  if (group == nullptr) {
    return gateway_error(
        404,
        {"ParentResourceNotFound",
         "Failed to perform 'write' on resource(s) of type "
         "'networkSecurityGroups/securityRules', because the parent resource '" +
             path.parent_id() + "' could not be found."}
    );
  }
  auto* existing = c.world.find(path.key());
  auto bad = check_preconditions(c, existing);
  if (!bad) {
    bad = check_security_rule(path.child, c.body["properties"]);
  }
  for (const auto& key : c.world.children(group->path.key())) {
    const auto* other = c.world.find(key);
    if (!bad && key != path.key() && clash(other->body["properties"], c.body["properties"])) {
      bad = conflict(path.child, other->path.child);
    }
  }
  if (!bad) {
    bad = refuse_if_locked(c, *group);
  }
  if (bad) {
    return *bad;
  }
  const bool is_new = existing == nullptr;
  auto& stored = store_rule(c, path, c.body["properties"], group->location);
  c.world.touch_etag(*group);
  operation_plan plan;
  plan.subject = path.key();
  plan.locks = {group->path.key()};
  plan.location = group->location;
  plan.is_new = is_new;
  reply answer = json_reply(is_new ? 201 : 200, render(c.world, stored));
  add_monitor_headers(c, begin(c, plan), monitors::async, answer);
  return answer;
}

reply delete_security_group(context& c, const resource_path& path) {
  auto* r = c.world.find(path.key());
  if (r == nullptr) {
    return empty_reply(204);
  }
  if (auto bad = check_preconditions(c, r)) {
    return *bad;
  }
  std::vector<std::string> users;
  for (const auto& key : c.world.users_of(path.key())) {
    if (const auto* user = c.world.find(key)) {
      users.push_back(user->path.id());
    }
  }
  if (!users.empty()) {
    return bad_request(
        "InUseNetworkSecurityGroupCannotBeDeleted",
        "Network security group " + path.id() +
            " cannot be deleted because it is in use by the following resources: " +
            base::join(users, ", ") +
            ". In order to delete the Network security group, remove the association with the "
            "resource(s). To learn how to do this, see aka.ms/deletensg."
    );
  }
  if (auto bad = refuse_if_locked(c, *r)) {
    return *bad;
  }
  r->state = provisioning::deleting;
  operation_plan plan;
  plan.action = action::remove;
  plan.pace = pace::network_delete;
  plan.subject = path.key();
  plan.also = c.world.children(path.key());
  plan.location = r->location;
  reply answer = empty_reply(202);
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

reply delete_security_rule(context& c, const resource_path& path) {
  auto* group = c.world.find(key_of(path.parent_id()));
  auto* r = c.world.find(path.key());
  if (group == nullptr || r == nullptr) {
    return empty_reply(204);
  }
  auto bad = check_preconditions(c, r);
  if (!bad) {
    bad = refuse_if_locked(c, *group);
  }
  if (bad) {
    return *bad;
  }
  r->state = provisioning::deleting;
  operation_plan plan;
  plan.action = action::remove;
  plan.pace = pace::network_delete;
  plan.subject = path.key();
  plan.locks = {group->path.key()};
  plan.location = group->location;
  reply answer = empty_reply(202);
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

reply get_default_rule(context& c, const resource_path& parent, std::string_view name) {
  auto* group = c.world.find(parent.key());
  if (group == nullptr) {
    return resource_not_found(parent);
  }
  const json shown = render(c.world, *group);
  for (const auto& rule : shown.at({"properties", "defaultSecurityRules"}).items()) {
    if (name.empty() || equals_ignoring_case(rule["name"].string_or(""), name)) {
      return name.empty()
                 ? json_reply(
                       200,
                       json::object({{"value", shown.at({"properties", "defaultSecurityRules"})}})
                   )
                 : json_reply(200, rule);
    }
  }
  return error_reply(
      404,
      {"NotFound",
       "Resource " + parent.id() + "/defaultSecurityRules/" + std::string(name) + " not found.",
       "",
       json::array()}
  );
}

} // namespace siteagent::azure_emulator
