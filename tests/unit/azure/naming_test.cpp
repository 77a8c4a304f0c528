// SPDX-License-Identifier: MIT
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/resource_id.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <vector>

namespace siteagent::azure {

namespace {

constexpr std::string_view hex = "0123456789abcdef0123456789abcdef";

struct sanitize_row {
  const char* name;
  const char* expected;
};

class azure_sanitize : public testing::TestWithParam<sanitize_row> {};

TEST_P(azure_sanitize, makes_a_slug) {
  EXPECT_EQ(sanitize(GetParam().name), GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    names,
    azure_sanitize,
    testing::Values(
        sanitize_row{"web", "web"},
        sanitize_row{"my_vm.01 (test)", "my-vm-01-test"},
        sanitize_row{"Zoë-Büro", "zo-b-ro"},
        sanitize_row{"数据", "waldur-vm"},
        sanitize_row{"-x-", "x"},
        sanitize_row{"", "waldur-vm"},
        sanitize_row{"a--b__c", "a-b-c"},
        sanitize_row{"2024", "2024"},
        sanitize_row{
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-b",
            "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}
    )
);

TEST(azure_naming, a_dedicated_group_climbs_from_four_digits_to_the_whole_uuid) {
  EXPECT_EQ(dedicated_group("web", hex, 0), "group-0123-web");
  EXPECT_EQ(dedicated_group("web", hex, 1), "group-01234567-web");
  EXPECT_EQ(dedicated_group("web", hex, 2), "group-0123456789abcdef-web");
  EXPECT_EQ(dedicated_group("web", hex, 3), "group-" + std::string(hex) + "-web");
  EXPECT_LE(dedicated_group(sanitize(std::string(80, 'n')), hex, 3).size(), 90U);
  EXPECT_EQ(dedicated_group("web", "ab", 0), "group-ab00-web");
}

TEST(azure_naming, a_machine_in_a_shared_group_carries_the_uuid_and_stays_short) {
  EXPECT_EQ(shared_machine("Web 1", hex, 0), "web-1-01234567");
  const std::string name(80, 'n');
  for (unsigned rung = 0; rung < machine_ladder; ++rung) {
    const std::string machine = shared_machine(name, hex, rung);
    EXPECT_LE(machine.size(), 61U);
    EXPECT_LE(
        companion(
            resource_id::of_group("s", "g").in_same_group(
                "Microsoft.Compute/virtualMachines", machine
            ),
            kind_id::virtual_network
        )
            .name()
            .size(),
        64U
    );
  }
}

TEST(azure_naming, recognises_dedicated_groups_in_any_case) {
  EXPECT_EQ(as_dedicated_group("group-abcd-web", "web")->digits, 4U);
  EXPECT_EQ(as_dedicated_group("GROUP-ABCD-WEB", "web")->digits, 4U);
  EXPECT_EQ(as_dedicated_group("group-0123456789abcdef-web", "WEB")->digits, 16U);
  EXPECT_FALSE(as_dedicated_group("group-abcd-web", "web2"));
  EXPECT_FALSE(as_dedicated_group("group-abcde-web", "web"));
  EXPECT_FALSE(as_dedicated_group("group-wxyz-web", "web"));
  EXPECT_FALSE(as_dedicated_group("shared", "web"));
  EXPECT_EQ(machine_of_group("group-abcd-my-web"), "my-web");
  EXPECT_FALSE(machine_of_group("group-abcd-"));
}

TEST(azure_naming, computer_names_are_never_all_digits_and_never_too_long) {
  EXPECT_EQ(computer_name("web-1"), "web-1");
  EXPECT_EQ(computer_name("2024"), "vm-2024");
  const std::string longest = shared_machine(std::string(80, 'n'), hex, 2);
  EXPECT_EQ(computer_name(longest), longest);
  EXPECT_LE(computer_name(longest).size(), 64U);
}

TEST(azure_naming, locations_lose_case_and_spaces) {
  EXPECT_EQ(normal_location("West Europe"), "westeurope");
}

// Azure's rules of every type whose names we make.
struct name_rule {
  kind_id which;
  std::size_t longest;
};

constexpr auto name_rules = std::to_array<name_rule>(
    {{kind_id::resource_group, 90},
     {kind_id::virtual_network, 64},
     {kind_id::subnet, 80},
     {kind_id::public_ip_address, 80},
     {kind_id::network_security_group, 80},
     {kind_id::network_interface, 80},
     {kind_id::disk, 80},
     {kind_id::virtual_machine, 64}}
);

bool is_plain(const std::string& name) {
  const auto word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && word(name.front()) && word(name.back()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return word(c) || c == '-'; });
}

std::vector<std::string> nasty_names() {
  std::vector<std::string> out{
      "",
      " ",
      "-",
      std::string(200, '-'),
      std::string(200, 'a'),
      std::string(200, 'Z'),
      std::string(200, '7'),
      "数据",
      "Zoë-Büro",
      "МАШИНА №1",
      "🚀🚀🚀",
      "my_vm.01 (test)",
      "-x-",
      "..",
      "../../etc",
      "a/b?c#d%2F",
      "GatewaySubnet",
      "con",
      "a\nb\t\x7f",
      std::string("nul\0l", 5),
      std::string(49, 'a') + "-b",
      "azure",
      "microsoft",
      "\xff\xfe"};
  std::mt19937 random(7);
  for (int i = 0; i < 300; ++i) {
    std::string name;
    for (auto n = random() % 90; n > 0; --n) {
      name.push_back(static_cast<char>(random() % 256));
    }
    out.push_back(std::move(name));
  }
  return out;
}

TEST(azure_naming, every_name_made_of_any_text_is_valid_for_every_type) {
  for (const std::string& name : nasty_names()) {
    std::vector<resource_id> machines;
    for (unsigned rung = 0; rung < group_ladder; ++rung) {
      const std::string machine = sanitize(name);
      machines.push_back(resource_id::of_group("s", dedicated_group(machine, hex, rung))
                             .in_same_group("Microsoft.Compute/virtualMachines", machine));
    }
    for (unsigned rung = 0; rung < machine_ladder; ++rung) {
      machines.push_back(
          resource_id::of_group("s", "shared")
              .in_same_group("Microsoft.Compute/virtualMachines", shared_machine(name, hex, rung))
      );
    }
    for (const resource_id& machine : machines) {
      for (const name_rule& rule : name_rules) {
        const std::string made = companion(machine, rule.which).name();
        EXPECT_TRUE(is_plain(made)) << made;
        EXPECT_LE(made.size(), rule.longest) << made;
      }
      EXPECT_LE(("ipconf" + machine.name()).size(), 80U);
      const std::string host = computer_name(machine.name());
      EXPECT_TRUE(is_plain(host)) << host;
      EXPECT_LE(host.size(), 64U);
      EXPECT_FALSE(std::all_of(host.begin(), host.end(), [](char c) {
        return c >= '0' && c <= '9';
      })) << host;
      EXPECT_EQ(objection_to_group_name(machine.group), "");
      EXPECT_TRUE(resource_id::parse(machine.text()));
    }
  }
}

TEST(azure_naming, azures_own_rule_decides_about_groups_to_be_made) {
  std::string long_umlauts;
  for (int i = 0; i < 90; ++i) {
    long_umlauts += "ü";
  }
  for (const std::string& good :
       {std::string("team.build_rg(1)"), std::string(90, 'x'), long_umlauts, std::string("-")}) {
    EXPECT_EQ(objection_to_group_name(good), "") << good;
  }
  for (const std::string& bad :
       {std::string(),
        std::string("dot."),
        std::string(91, 'x'),
        long_umlauts + "ü",
        std::string("a b"),
        std::string("a:b")}) {
    EXPECT_NE(objection_to_group_name(bad), "") << bad;
  }
}

TEST(azure_resource_id, reads_and_prints_what_arm_writes) {
  const std::string text =
      "/subscriptions/s/resourceGroups/team.build_rg(1)/providers/Microsoft.Network/"
      "virtualNetworks/v/subnets/n";
  const auto id = resource_id::parse(text);
  ASSERT_TRUE(id);
  EXPECT_EQ(id->text(), text);
  EXPECT_EQ(id->type(), "Microsoft.Network/virtualNetworks/subnets");
  EXPECT_EQ(id->name(), "n");
  EXPECT_NE(id->path().find("team.build_rg%281%29"), std::string::npos);
}

TEST(azure_resource_id, ignores_the_case_of_keywords_and_compares_without_case) {
  const auto id = resource_id::parse(
      "/SUBSCRIPTIONS/S/RESOURCEGROUPS/G/PROVIDERS/MICROSOFT.COMPUTE/VIRTUALMACHINES/V"
  );
  ASSERT_TRUE(id);
  EXPECT_TRUE(id->is_virtual_machine());
  EXPECT_TRUE(same_id(
      id->text(), "/subscriptions/s/resourcegroups/g/providers/microsoft.compute/virtualmachines/v/"
  ));
}

TEST(azure_resource_id, refuses_what_is_no_id) {
  for (const char* text :
       {"",
        "x",
        "/subscriptions/s",
        "/subscriptions/s/resourceGroups/",
        "/subscriptions/s/resourceGroups/g/providers/p/t",
        "/subscriptions/s/resourceGroups/g/x/p/t/n",
        "/subscriptions/s/resourceGroups/g/providers/p/t/a?b",
        "/subscriptions/s//g/providers/p/t/n",
        "/subscriptions/s/resourceGroups/g/providers/p/t/n/u"}) {
    EXPECT_FALSE(resource_id::parse(text)) << text;
  }
}

TEST(azure_kinds, the_table_is_indexed_by_kind_and_ends_with_the_machine) {
  for (std::size_t i = 0; i < all_kinds().size(); ++i) {
    EXPECT_EQ(static_cast<std::size_t>(all_kinds().at(i).id), i);
    EXPECT_EQ(find_kind(all_kinds().at(i).type), &all_kinds().at(i));
  }
  EXPECT_EQ(all_kinds().back().id, kind_id::virtual_machine);
  EXPECT_EQ(find_kind("microsoft.network/NETWORKINTERFACES")->id, kind_id::network_interface);
  EXPECT_EQ(find_kind("Microsoft.Network/natGateways"), nullptr);
}

TEST(azure_kinds, companions_are_prefixes_before_the_machine) {
  const auto vm =
      resource_id::of_group("s", "g").in_same_group("Microsoft.Compute/virtualMachines", "web");
  EXPECT_EQ(
      companion(vm, kind_id::subnet).text(),
      "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/virtualNetworks/netweb/"
      "subnets/subnetweb"
  );
  EXPECT_EQ(companion(vm, kind_id::public_ip_address).name(), "pubipweb");
  EXPECT_EQ(machine_of_companion(companion(vm, kind_id::network_interface)), "web");
  EXPECT_FALSE(machine_of_companion(*resource_id::parse(
      "/subscriptions/s/resourceGroups/g/providers/Microsoft.Network/networkInterfaces/other"
  )));
}

} // namespace

} // namespace siteagent::azure
