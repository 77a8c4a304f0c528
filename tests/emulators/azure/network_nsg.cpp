// SPDX-License-Identifier: MIT
// Network security groups and their rules.
#include "handlers.hpp"
#include "network.hpp"
#include "render.hpp"
#include "rules.hpp"
#include "security_rule.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <array>
#include <set>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

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
  return network_refusal(
      "SecurityRuleConflict",
      "Security rule " + a + " conflicts with rule " + b +
          ". Rules cannot have the same Priority and Direction."
  );
}

bool clash(const json& a, const json& b) {
  return a["priority"].integer() == b["priority"].integer() &&
         equals_ignoring_case(a["direction"].string_or(""), b["direction"].string_or(""));
}

resource_path rule_path(const resource_path& group, const json& rule) {
  resource_path path = group;
  path.kind = kind::security_rule;
  path.child = rule["name"].string_or("");
  return path;
}

std::optional<reply> check_rules(const network_put& p, const json& rules) {
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto path = rule_path(p.path, rules[i]);
    auto bad = check_name(path);
    if (!bad) {
      bad = check_security_rule(p.c, path, rules[i]["properties"], p.location);
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

// What all rules of one group may hold together.
std::optional<reply>
check_rule_totals(const context& c, const resource_path& group, const std::vector<json>& rules) {
  std::set<std::string> groups;
  std::int64_t values = 0;
  for (const auto& rule : rules) {
    for (const auto& id : groups_of_rule(rule)) {
      groups.insert(key_of(id));
    }
    for (const auto* key :
         {"sourcePortRanges",
          "destinationPortRanges",
          "sourceAddressPrefixes",
          "destinationAddressPrefixes"}) {
      values += static_cast<std::int64_t>(rule[key].size());
    }
  }
  const std::string where = " network security group " + group.id();
  auto bad = refuse_over_limit(
      c,
      "securityRules",
      static_cast<std::int64_t>(rules.size()),
      "SecurityRuleCountLimitReached",
      "security rules in" + where
  );
  if (!bad) {
    bad = refuse_over_limit(
        c,
        "applicationSecurityGroupsPerSecurityGroup",
        static_cast<std::int64_t>(groups.size()),
        "ApplicationSecurityGroupsPerNetworkSecurityGroupCountLimitReached",
        "application security groups across the rules of" + where
    );
  }
  if (!bad) {
    bad = refuse_over_limit(
        c,
        "addressesPerSecurityGroup",
        values,
        "SecurityRuleAddressesAndPortsCountLimitReached",
        "addresses and ports in" + where
    );
  }
  return bad;
}

std::optional<reply> check_group(const network_put& p) {
  const auto& rules = p.wanted["securityRules"];
  auto bad = refuse_duplicate_names(p.path.id(), rules);
  if (!bad) {
    bad = check_rules(p, rules);
  }
  std::vector<json> all;
  for (const auto& rule : rules.items()) {
    all.push_back(rule["properties"]);
  }
  return bad ? bad : check_rule_totals(p.c, p.path, all);
}

std::optional<reply> build_group(const network_put& p, resource& r) {
  r.body = tracked_body(p.path, p.c.body, p.location);
  r.body.set(
      "properties",
      json::object(
          {{"provisioningState", "Updating"},
           {"resourceGuid",
            p.existing == nullptr ? json(base::uuid::random().dashed())
                                  : p.existing->body.at({"properties", "resourceGuid"})},
           {"securityRules", json::array()},
           {"defaultSecurityRules", default_rule_list(p.path)}}
      )
  );
  return std::nullopt;
}

// The PUT replaces the whole list.
bool store_rules(const network_put& p, std::vector<std::string>& also) {
  bool changed = false;
  for (const auto& rule : p.c.body.at({"properties", "securityRules"}).items()) {
    const auto path = rule_path(p.path, rule);
    const auto& properties = rule["properties"];
    changed = store_child(
                  p.c, path, rule_body(path, properties), groups_of_rule(properties), p.location
              ) ||
              changed;
    also.push_back(path.key());
  }
  return drop_other_children(p.c, p.path, also) || changed;
}

std::optional<reply> refuse_group_removal(const context& c, resource& r) {
  std::vector<std::string> users;
  for (const auto& key : c.world.users_of(r.path.key())) {
    if (const auto* user = c.world.find(key)) {
      users.push_back(user->path.id());
    }
  }
  const std::string lingering = lingering_reference(c.world, r.path.key(), c.now());
  if (users.empty() && !lingering.empty()) {
    users.push_back(lingering.substr(0, lingering.find("/ipConfigurations/")));
  }
  if (users.empty()) {
    return std::nullopt;
  }
  return network_refusal(
      "InUseNetworkSecurityGroupCannotBeDeleted",
      "Network security group " + r.path.id() +
          " cannot be deleted because it is in use by the following resources: " +
          base::join(users, ", ") +
          ". In order to delete the Network security group, remove the association with the "
          "resource(s). To learn how to do this, see aka.ms/deletensg."
  );
}

std::optional<reply> check_one_rule(const network_put& p) {
  auto bad = check_security_rule(p.c, p.path, p.wanted, p.location);
  std::vector<json> all = {p.wanted};
  for (const auto& key : p.c.world.children(p.parent->path.key())) {
    const auto* other = p.c.world.find(key);
    if (key == p.path.key()) {
      continue;
    }
    all.push_back(other->body["properties"]);
    if (!bad && clash(all.back(), p.wanted)) {
      bad = conflict(p.path.child, other->path.child);
    }
  }
  return bad ? bad : check_rule_totals(p.c, p.parent->path, all);
}

std::optional<reply> build_rule(const network_put& p, resource& r) {
  r.body = rule_body(p.path, p.wanted);
  r.uses = groups_of_rule(p.wanted);
  return std::nullopt;
}

} // namespace

const network_kind& security_group_kind() {
  static constexpr network_kind row{
      kind::security_group,
      "PutNetworkSecurityGroupOperation",
      check_group,
      build_group,
      store_rules,
      refuse_group_removal};
  return row;
}

const network_kind& security_rule_kind() {
  static constexpr network_kind row{
      kind::security_rule,
      "PutSecurityRuleOperation",
      check_one_rule,
      build_rule,
      nullptr,
      nullptr};
  return row;
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
