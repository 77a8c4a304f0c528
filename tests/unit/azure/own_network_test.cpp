// SPDX-License-Identifier: MIT
// Existing subnets and machines without a public address, in shared and dedicated groups.
#include "plugins/azure/metadata.hpp"
#include "tests/unit/azure/create_fixture.hpp"

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;

class azure_own_network : public azure_create {
protected:
  static std::string network_id() {
    return object_id("Microsoft.Network/virtualNetworks", "team", "net.team_(1)");
  }

  static std::string subnet_id() { return network_id() + "/subnets/machines"; }

  void put_network(const char* location = "West Europe") {
    arm.put(
        group_id("net.team_(1)"),
        base::json::object({{"location", location}, {"properties", base::json::object()}})
    );
    base::json network = *base::json::parse(
        R"({"properties":{"provisioningState":"Succeeded","subnets":[{"name":"Machines"}]}})"
    );
    network.set("location", location);
    arm.put(network_id(), network);
    settings.set("subnet_id", subnet_id());
  }

  std::string rest() const { // what is left beside the operator's own
    std::string out;
    for (const std::string& id : arm.ids()) {
      if (id != group_id("shared") && id != group_id("net.team_(1)") && id != network_id()) {
        out += id + " ";
      }
    }
    return out;
  }
};

// In a shared group? On an own subnet? With an address? With ranges?
class azure_network_choices
    : public azure_own_network,
      public testing::WithParamInterface<std::tuple<bool, bool, bool, bool>> {
protected:
  azure_network_choices() {
    std::tie(in_shared, own_subnet, address, ranges) = GetParam();
    if (in_shared) {
      shared_group();
    }
    if (own_subnet) {
      put_network();
    }
    if (!address) {
      settings.set("public_ip", "none");
    }
    if (!ranges) {
      settings.set("allowed_ssh_ranges", base::json::array());
    }
  }

  std::vector<std::string> wanted() const {
    std::vector<std::string> kinds;
    if (!in_shared) {
      kinds.emplace_back("resource-group");
    }
    if (!own_subnet) {
      kinds.insert(kinds.end(), {"virtual-network", "subnet"});
    }
    if (address) {
      kinds.emplace_back("public-ip-address");
    }
    if (ranges) {
      kinds.emplace_back("network-security-group");
    }
    kinds.insert(kinds.end(), {"network-interface", "virtual-machine"});
    return kinds;
  }

  bool in_shared = false;
  bool own_subnet = false;
  bool address = false;
  bool ranges = false;
};

TEST_P(azure_network_choices, make_what_is_needed_and_take_away_what_was_made) {
  const base::json network = arm.get(network_id());
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(kinds_of(call.checkpoints, "before", "put"), wanted());
  const base::json connection =
      put_body("/networkInterfaces/").at({"properties", "ipConfigurations"})[0]["properties"];
  if (own_subnet) {
    EXPECT_EQ(connection["subnet"]["id"].string_or(""), subnet_id());
  } else {
    EXPECT_EQ(put_body("/subnets/")["properties"]["defaultOutboundAccess"].boolean(), true);
  }
  EXPECT_EQ(connection.find("publicIPAddress") != nullptr, address);
  const base::json& out = call.emitted.at(0);
  EXPECT_EQ(
      out["endpoints"][0]["url"].string_or(""),
      address ? "ssh://waldur@203.0.113.10" : "ssh://waldur@10.0.0.4"
  );
  const base::json& vm = out["metadata"]["virtual_machine"];
  EXPECT_EQ(vm["public_ip"].is_null(), !address);
  EXPECT_EQ(vm["private_ip"].string_or(""), "10.0.0.4");
  const std::string id = out["backend_id"].string_or("");
  const fake_call gone = run(&backend::delete_resource, id);
  EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_EQ(gone.emitted.at(0)["remaining"].size(), 0U);
  EXPECT_EQ(rest(), "");
  EXPECT_EQ(arm.get(network_id()), network);
  EXPECT_EQ(arm.count_requests("PUT", "/virtualNetworks/team"), 0U);
  EXPECT_EQ(arm.count_requests("DELETE", "/virtualNetworks/team"), 0U);
}

TEST_P(azure_network_choices, are_taken_up_again_after_a_kill_behind_every_write) {
  for (const std::string& kind_name : wanted()) {
    prepare = [&](fake_call& c) {
      c.on_checkpoint = [&](const base::json& j) -> sagent_code {
        return j["phase"].string_or("") == "after" && j["kind"].string_or("") == kind_name
                   ? SAGENT_E_CANCELLED
                   : SAGENT_OK;
      };
    };
    EXPECT_EQ(create().code, SAGENT_E_CANCELLED) << kind_name;
    prepare = {};
    arm.lists_know_tags = false;
    const fake_call again = create();
    ASSERT_EQ(again.code, SAGENT_OK) << kind_name << ": " << again.message;
    EXPECT_EQ(arm.count("virtualMachines"), 1U);
    arm.lists_know_tags = true;
    EXPECT_EQ(run(&backend::delete_resource).code, SAGENT_OK) << kind_name;
    EXPECT_EQ(rest(), "") << kind_name;
  }
}

TEST_P(azure_network_choices, are_cleaned_up_after_a_refused_machine) {
  arm.script(
      {"PUT", "/virtualMachines/", 1, 0, false, 409, fake_arm::error_text("SkuNotAvailable"), {}}
  );
  EXPECT_EQ(create().code, SAGENT_E_REFUSED);
  const fake_call gone = run(&backend::delete_resource);
  EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_EQ(rest(), "");
  EXPECT_EQ(arm.has(network_id()), own_subnet);
}

std::string name_of_choices(const testing::TestParamInfo<std::tuple<bool, bool, bool, bool>>& row) {
  const auto& [in_shared, own_subnet, address, ranges] = row.param;
  return std::string(in_shared ? "shared" : "dedicated") +
         (own_subnet ? "_own_subnet" : "_new_network") + (address ? "_public" : "_private") +
         (ranges ? "_ranges" : "_closed");
}

INSTANTIATE_TEST_SUITE_P(
    all,
    azure_network_choices,
    testing::Combine(testing::Bool(), testing::Bool(), testing::Bool(), testing::Bool()),
    name_of_choices
);

TEST_F(azure_own_network, another_location_is_rejected_before_approval) {
  put_network("North Europe");
  const fake_call call = run(&backend::evaluate_order);
  EXPECT_EQ(call.emitted.at(0)["decision"].string_or(""), "reject");
  EXPECT_EQ(
      call.emitted.at(0)["reason"].string_or(""),
      "Machines of this offering are made in northeurope, not in westeurope; choose that location."
  );
  const fake_call refused = create();
  EXPECT_EQ(refused.code, SAGENT_E_REFUSED);
  EXPECT_THAT(refused.message, HasSubstr(subnet_id()));
  EXPECT_TRUE(arm.writes().empty());
  attribute("location", "northeurope");
  EXPECT_EQ(run(&backend::evaluate_order).emitted.at(0)["decision"].string_or(""), "accept");
  EXPECT_EQ(arm.count_requests("GET", "/virtualNetworks/team?"), 1U); // kept
}

TEST_F(azure_own_network, a_missing_subnet_lets_orders_wait_for_the_operator) {
  put_network();
  settings.set("subnet_id", network_id() + "/subnets/other");
  const fake_call asked = run(&backend::evaluate_order);
  EXPECT_EQ(asked.emitted.at(0)["decision"].string_or(""), "wait");
  EXPECT_THAT(asked.emitted.at(0)["reason"].string_or(""), HasSubstr("subnet_id"));
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_NOT_READY);
  EXPECT_EQ(call.public_message.find("/subscriptions/"), std::string::npos);
  EXPECT_TRUE(arm.writes().empty());
  settings.set(
      "subnet_id",
      object_id("Microsoft.Network/virtualNetworks", "gone", "nowhere") + "/subnets/machines"
  );
  open();
  EXPECT_EQ(create().code, SAGENT_E_NOT_READY);
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_own_network, a_subnet_that_may_not_be_read_is_left_to_azure) {
  put_network();
  arm.script(
      {"GET",
       "/virtualNetworks/team?",
       -1,
       0,
       false,
       403,
       fake_arm::error_text("AuthorizationFailed"),
       {}}
  );
  EXPECT_EQ(run(&backend::evaluate_order).emitted.at(0)["decision"].string_or(""), "accept");
  EXPECT_EQ(create().code, SAGENT_OK);
}

TEST_F(azure_own_network, a_missing_right_to_join_names_the_right) {
  put_network();
  arm.script(
      {"PUT",
       "/networkInterfaces/",
       1,
       0,
       false,
       403,
       fake_arm::error_text(
           "LinkedAuthorizationFailed",
           "The client 'x' does not have authorization to perform action "
           "'Microsoft.Network/virtualNetworks/subnets/join/action' on the linked scope"
       ),
       {}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_FORBIDDEN) << call.message;
  EXPECT_THAT(call.message, HasSubstr("subnets/join/action"));
  EXPECT_EQ(call.public_message.find("Microsoft"), std::string::npos);
}

TEST_F(azure_own_network, survives_even_inside_a_group_and_under_a_tag_of_ours) {
  ASSERT_EQ(create().code, SAGENT_OK);
  const std::string network = object_id("Microsoft.Network/virtualNetworks", "netweb");
  base::json adopted = arm.get(network);
  adopted.member_ref("properties").set("subnets", *base::json::parse(R"([{"name":"subnetweb"}])"));
  arm.put(network, adopted);
  settings.set("subnet_id", network + "/subnets/subnetweb");
  open();
  const fake_call gone = run(&backend::delete_resource, machine_id());
  EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
  EXPECT_TRUE(arm.has(network));
  EXPECT_TRUE(arm.has(network + "/subnets/subnetweb"));
  EXPECT_TRUE(arm.has(group_id()));
  EXPECT_EQ(arm.ids().size(), 3U);
  EXPECT_EQ(run(&backend::delete_resource, network).code, SAGENT_OK);
  EXPECT_TRUE(arm.has(network));
}

TEST_F(azure_own_network, a_machine_without_address_needs_no_address_quota) {
  arm.addresses_limit = 0;
  EXPECT_EQ(create().code, SAGENT_E_QUOTA);
  settings.set("public_ip", "none");
  open();
  clock.advance(std::chrono::hours(1));
  EXPECT_EQ(create().code, SAGENT_OK);
}

TEST(azure_endpoints, are_urls_also_for_addresses_of_version_6_and_odd_users) {
  machine_facts f;
  f.model = *base::json::parse(R"({"properties":{"osProfile":{"adminUsername":"ann"}}})");
  settings s;
  f.public_ip = "2001:db8::1";
  f.private_ip = "10.0.0.4";
  EXPECT_EQ(endpoints_of(f, s)[0]["url"].string_or(""), "ssh://ann@[2001:db8::1]");
  f.public_ip = "";
  EXPECT_EQ(endpoints_of(f, s).size(), 0U); // its address is not known at the moment
  s.public_ip = false;
  EXPECT_EQ(endpoints_of(f, s)[0]["url"].string_or(""), "ssh://ann@10.0.0.4");
  f.model.member_ref("properties").member_ref("osProfile").set("adminUsername", "a b@c");
  EXPECT_EQ(endpoints_of(f, s)[0]["url"].string_or(""), "ssh://a%20b%40c@10.0.0.4");
  f.model = {};
  EXPECT_EQ(endpoints_of(f, s).size(), 0U);
}

} // namespace

} // namespace siteagent::azure::test
