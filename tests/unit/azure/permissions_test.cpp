// SPDX-License-Identifier: MIT
// Rights: Azure's wildcards, what the plugin needs, and the roles made of it.
#include "plugins/azure/permissions.hpp"
#include "plugins/azure/role_definition.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace siteagent::azure::test {
namespace {

using base::json;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct pattern_case {
  const char* pattern;
  const char* action;
  bool matches;
};

class action_pattern : public testing::TestWithParam<pattern_case> {};

TEST_P(action_pattern, is_matched_as_azure_does) {
  EXPECT_EQ(matches_action(GetParam().pattern, GetParam().action), GetParam().matches)
      << GetParam().pattern << " and " << GetParam().action;
}

INSTANTIATE_TEST_SUITE_P(
    table,
    action_pattern,
    testing::Values(
        pattern_case{"*", "Microsoft.Compute/virtualMachines/write", true},
        pattern_case{"*/read", "Microsoft.Compute/virtualMachines/read", true},
        pattern_case{"*/read", "Microsoft.Compute/virtualMachines/write", false},
        pattern_case{"*/READ", "microsoft.compute/virtualmachines/Read", true},
        pattern_case{"Microsoft.Compute/*", "Microsoft.Compute/disks/delete", true},
        pattern_case{"Microsoft.Compute/*", "Microsoft.ComputeX/disks/delete", false},
        pattern_case{"Microsoft.Compute/*/read", "Microsoft.Compute/a/b/c/read", true},
        pattern_case{"Microsoft.Compute/*/read", "Microsoft.Compute/read", false},
        pattern_case{"Microsoft.*/virtualMachines/*", "Microsoft.Compute/virtualMachines/x", true},
        pattern_case{"a*a", "a", false},
        pattern_case{"a*a", "aa", true},
        pattern_case{"a*b*a", "abba", true},
        pattern_case{"a*b*b", "aab", false},
        pattern_case{"Microsoft.Compute/disks/read", "Microsoft.Compute/disks/read", true},
        pattern_case{"Microsoft.Compute/disks/read", "Microsoft.Compute/disks/readX", false},
        pattern_case{"", "Microsoft.Compute/disks/read", false}
    )
);

TEST(allowances, are_the_union_of_actions_minus_not_actions_per_assignment) {
  const allowance all_but_writing{{"*"}, {"*/write"}};
  const allowance writing_disks{{"Microsoft.Compute/disks/*"}, {}};
  EXPECT_TRUE(is_allowed({all_but_writing}, "Microsoft.Compute/disks/read"));
  EXPECT_FALSE(is_allowed({all_but_writing}, "Microsoft.Compute/disks/write"));
  // What one assignment takes away, another may still grant.
  EXPECT_TRUE(is_allowed({all_but_writing, writing_disks}, "Microsoft.Compute/disks/write"));
  EXPECT_FALSE(is_allowed({}, "Microsoft.Compute/disks/read"));
}

settings some_settings() {
  settings s;
  s.subscription_id = "S";
  s.client_id = "C";
  s.allowed_ssh_ranges = {"203.0.113.0/24"};
  return s;
}

std::vector<std::string> actions(const settings& s, right_area area) {
  return actions_in(required_rights(s), area);
}

TEST(required_rights, of_groups_of_their_own_are_all_at_the_subscription) {
  const auto needed = actions(some_settings(), right_area::subscription);
  for (const char* action :
       {"Microsoft.Resources/subscriptions/resourceGroups/write",
        "Microsoft.Resources/subscriptions/resourceGroups/delete",
        "Microsoft.Resources/subscriptions/resources/read",
        "Microsoft.Network/virtualNetworks/subnets/join/action",
        "Microsoft.Network/publicIPAddresses/join/action",
        "Microsoft.Network/networkSecurityGroups/join/action",
        "Microsoft.Network/networkInterfaces/join/action",
        "Microsoft.Compute/disks/delete",
        "Microsoft.Compute/virtualMachines/start/action",
        "Microsoft.Compute/virtualMachines/deallocate/action",
        "Microsoft.Compute/virtualMachines/instanceView/read",
        "Microsoft.Compute/skus/read",
        "Microsoft.Compute/locations/usages/read",
        "Microsoft.Resources/subscriptions/locations/read",
        "Microsoft.Compute/register/action",
        "Microsoft.Network/register/action",
        "Microsoft.Authorization/permissions/read"}) {
    EXPECT_THAT(needed, Contains(action));
  }
  EXPECT_THAT(needed, Each(Not(HasSubstr("*"))));
  EXPECT_THAT(actions(some_settings(), right_area::machines), IsEmpty());
}

TEST(required_rights, of_a_shared_group_write_only_there) {
  settings s = some_settings();
  s.default_resource_group = "shared";
  EXPECT_THAT(actions(s, right_area::subscription), Each(EndsWith("/read")));
  const auto needed = actions(s, right_area::machines);
  EXPECT_THAT(needed, Contains("Microsoft.Compute/virtualMachines/write"));
  EXPECT_THAT(needed, Each(Not(EndsWith("resourceGroups/delete"))));
  EXPECT_THAT(needed, Each(Not(EndsWith("resourceGroups/write")))) << "it exists";
  EXPECT_EQ(scope_of(right_area::machines, s), "/subscriptions/S/resourceGroups/shared");
}

TEST(required_rights, of_a_shared_group_still_to_be_made_are_at_the_subscription) {
  settings s = some_settings();
  s.default_resource_group = "shared";
  const auto rights = required_rights(s, {false, {}});
  EXPECT_THAT(actions_in(rights, right_area::machines), IsEmpty());
  EXPECT_THAT(
      actions_in(rights, right_area::subscription),
      AllOf(
          Contains("Microsoft.Resources/subscriptions/resourceGroups/write"),
          Contains("Microsoft.Compute/virtualMachines/write")
      )
  );
}

TEST(required_rights, in_a_network_of_the_site_only_enter_it) {
  settings s = some_settings();
  s.default_resource_group = "shared";
  s.subnet = resource_id::parse("/subscriptions/S/resourceGroups/net/providers/Microsoft.Network/"
                                "virtualNetworks/corp/subnets/machines");
  s.public_ip = false;
  s.allowed_ssh_ranges.clear();
  EXPECT_THAT(
      actions(s, right_area::subnet),
      Contains("Microsoft.Network/virtualNetworks/subnets/join/action")
  );
  EXPECT_EQ(scope_of(right_area::subnet, s), s.subnet->text());
  EXPECT_THAT(actions(s, right_area::network), Contains("Microsoft.Network/virtualNetworks/read"));
  const auto machines = actions(s, right_area::machines);
  for (const char* type : {"virtualNetworks", "publicIPAddresses", "networkSecurityGroups"}) {
    EXPECT_THAT(machines, Contains("Microsoft.Network/" + std::string(type) + "/read"));
    for (const char* verb : {"/write", "/delete", "/join/action"}) {
      EXPECT_THAT(machines, Not(Contains("Microsoft.Network/" + std::string(type) + verb)));
    }
  }
  EXPECT_THAT(machines, Contains("Microsoft.Network/networkInterfaces/write"));
}

TEST(role_definition, is_one_document_in_the_form_of_the_command_line_tool) {
  const auto roles = role_definitions(some_settings());
  ASSERT_EQ(roles.size(), 1U);
  EXPECT_THAT(roles[0]["Name"].string_or(""), HasSubstr("S"));
  EXPECT_FALSE(roles[0]["Description"].string_or("").empty());
  EXPECT_EQ(roles[0]["IsCustom"], json(true));
  EXPECT_GT(roles[0]["Actions"].size(), 30U);
  EXPECT_EQ(roles[0]["NotActions"].size(), 0U);
  EXPECT_EQ(roles[0]["AssignableScopes"], json::array({"/subscriptions/S"}));
}

TEST(role_definition, is_one_per_scope_with_a_shared_group_and_a_subnet) {
  settings s = some_settings();
  s.default_resource_group = "shared";
  s.subnet = resource_id::parse("/subscriptions/S/resourceGroups/net/providers/Microsoft.Network/"
                                "virtualNetworks/corp/subnets/machines");
  const auto roles = role_definitions(s);
  ASSERT_EQ(roles.size(), 4U);
  EXPECT_EQ(roles[0]["AssignableScopes"][0], json("/subscriptions/S"));
  EXPECT_EQ(roles[1]["AssignableScopes"][0], json("/subscriptions/S/resourceGroups/shared"));
  // Roles can be assignable in groups, not in single objects.
  EXPECT_EQ(roles[2]["AssignableScopes"][0], json("/subscriptions/S/resourceGroups/net"));
  EXPECT_EQ(roles[3]["AssignableScopes"][0], json("/subscriptions/S/resourceGroups/net"));
  EXPECT_THAT(roles[3]["Description"].string_or(""), HasSubstr(s.subnet->text()));
  std::set<std::string> names;
  for (const json& r : roles) {
    names.insert(r["Name"].string_or(""));
  }
  EXPECT_EQ(names.size(), roles.size());
}

} // namespace
} // namespace siteagent::azure::test
