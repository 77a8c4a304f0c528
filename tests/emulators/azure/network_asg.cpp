// SPDX-License-Identifier: MIT
// Application security groups: named sets of interfaces for rules. Members are listed nowhere; they
// are the interfaces that name the group.
#include "network.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>
#include <set>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

std::vector<std::string> groups_of_rule(const json& properties) {
  auto ids = ids_in(properties["sourceApplicationSecurityGroups"]);
  const auto more = ids_in(properties["destinationApplicationSecurityGroups"]);
  ids.insert(ids.end(), more.begin(), more.end());
  return ids;
}

std::vector<std::string> configurations_in_group(const resource& interface, std::string_view id) {
  std::vector<std::string> found;
  for (const auto& configuration : interface.body.at({"properties", "ipConfigurations"}).items()) {
    const auto groups = ids_in(configuration.at({"properties", "applicationSecurityGroups"}));
    if (std::any_of(groups.begin(), groups.end(), [&](const std::string& g) {
          return equals_ignoring_case(g, id);
        })) {
      found.push_back(configuration["id"].string_or(""));
    }
  }
  return found;
}

std::vector<std::string>
networks_of_group(const world& w, const std::string& group_key, std::string_view except) {
  std::set<std::string> networks;
  for (const auto& user : w.users_of(group_key)) {
    const auto it = w.resources.find(user);
    if (it == w.resources.end() || it->second.path.kind != kind::network_interface ||
        user == except) {
      continue;
    }
    for (const auto& used : it->second.uses) {
      const auto path = parse_resource_id(used);
      if (path && path->kind == kind::subnet) {
        networks.insert(key_of(path->parent_id()));
      }
    }
  }
  return {networks.begin(), networks.end()};
}

std::int64_t
members_of_group(const world& w, const std::string& group_key, std::string_view except) {
  std::int64_t count = 0;
  for (const auto& user : w.users_of(group_key)) {
    const auto it = w.resources.find(user);
    if (it != w.resources.end() && it->second.path.kind == kind::network_interface &&
        user != except) {
      count += static_cast<std::int64_t>(configurations_in_group(it->second, group_key).size());
    }
  }
  return count;
}

reply groups_in_two_networks(const std::string& rule) {
  return network_refusal(
      "AllApplicationSecurityGroupsInSecurityRuleMustBeFromSameVnet",
      "All application security groups in security rule " + rule +
          " must be from the same virtual network."
  );
}

namespace {

std::vector<std::string> groups_of(const json& configuration) {
  return ids_in(configuration.at({"properties", "applicationSecurityGroups"}));
}

std::set<std::string> keys_of(const std::vector<std::string>& ids) {
  std::set<std::string> keys;
  for (const auto& id : ids) {
    keys.insert(key_of(id));
  }
  return keys;
}

// The first member of a group settles its virtual network, and so do rules that name two groups.
std::optional<reply> check_group_network(const network_put& p, const std::string& group_key) {
  const auto subnet = parse_resource_id(
      p.wanted["ipConfigurations"][0].at({"properties", "subnet", "id"}).string_or("")
  );
  const std::string network = subnet ? key_of(subnet->parent_id()) : std::string();
  for (const auto& other : networks_of_group(p.c.world, group_key, p.path.key())) {
    if (other != network) {
      return network_refusal(
          "ApplicationSecurityGroupMembersMustBeInSameVnet",
          "Application security group " + p.c.world.find(group_key)->path.id() +
              " has members in another virtual network than network interface " + p.path.id() + "."
      );
    }
  }
  for (const auto& user : p.c.world.users_of(group_key)) {
    const auto* rule = p.c.world.find(user);
    if (rule == nullptr || rule->path.kind != kind::security_rule) {
      continue;
    }
    for (const auto& id : groups_of_rule(rule->body["properties"])) {
      for (const auto& other : networks_of_group(p.c.world, key_of(id), p.path.key())) {
        if (other != network) {
          return groups_in_two_networks(rule->path.id());
        }
      }
    }
  }
  return std::nullopt;
}

} // namespace

std::optional<reply> check_application_groups(const network_put& p) {
  const auto& configurations = p.wanted["ipConfigurations"];
  const auto groups = keys_of(groups_of(configurations[0]));
  for (const auto& configuration : configurations.items()) {
    if (keys_of(groups_of(configuration)) != groups) {
      return network_refusal(
          "AllIpConfigurationsOnANicMustBelongToTheSameApplicationSecurityGroups",
          "All IP configurations of network interface " + p.path.id() +
              " must belong to the same application security groups."
      );
    }
  }
  auto bad = refuse_over_limit(
      p.c,
      "applicationSecurityGroupsPerConfiguration",
      static_cast<std::int64_t>(groups.size()),
      "ApplicationSecurityGroupsPerIpConfigurationCountLimitReached",
      "application security groups on an IP configuration of " + p.path.id()
  );
  for (const auto& key : groups) {
    if (!bad) {
      bad = check_group_network(p, key);
    }
    if (!bad) {
      bad = refuse_over_limit(
          p.c,
          "configurationsPerApplicationSecurityGroup",
          members_of_group(p.c.world, key, p.path.key()) +
              static_cast<std::int64_t>(configurations.size()),
          "IpConfigurationsPerApplicationSecurityGroupCountLimitReached",
          "IP configurations in application security group " + p.c.world.find(key)->path.id()
      );
    }
  }
  return bad;
}

namespace {

std::optional<reply> build_group(const network_put& p, resource& r) {
  r.body = tracked_body(p.path, p.c.body, p.location);
  r.body.set(
      "properties",
      json::object(
          {{"provisioningState", "Updating"},
           {"resourceGuid",
            p.existing == nullptr ? json(base::uuid::random().dashed())
                                  : p.existing->body.at({"properties", "resourceGuid"})}}
      )
  );
  return std::nullopt;
}

std::string last_segment(const std::string& id) {
  return id.substr(id.rfind('/') + 1);
}

std::optional<reply> refuse_group_removal(const context& c, resource& r) {
  std::vector<std::string> members;
  std::vector<std::string> rules;
  for (const auto& key : c.world.users_of(r.path.key())) {
    const auto* user = c.world.find(key);
    if (user != nullptr && user->path.kind == kind::security_rule) {
      rules.push_back(user->path.child);
    } else if (user != nullptr) {
      for (const auto& id : configurations_in_group(*user, r.path.key())) {
        members.push_back(last_segment(id));
      }
    }
  }
  const std::string lingering = lingering_reference(c.world, r.path.key(), c.now());
  if (members.empty() && !lingering.empty()) {
    members.push_back(last_segment(lingering));
  }
  if (members.empty() && rules.empty()) {
    return std::nullopt;
  }
  const std::string by = members.empty() ? "SecurityRule(s) " + base::join(rules, ", ")
                                         : "IpConfiguration(s) " + base::join(members, ", ");
  return network_refusal(
      "InUseApplicationSecurityGroupCannotBeDeleted",
      "Application Security Group " + r.path.name +
          " cannot be deleted because it is referenced by " + by + "."
  );
}

} // namespace

const network_kind& application_group_kind() {
  static constexpr network_kind row{
      kind::application_group,
      "PutApplicationSecurityGroupOperation",
      nullptr,
      build_group,
      nullptr,
      refuse_group_removal};
  return row;
}

} // namespace siteagent::azure_emulator
