// SPDX-License-Identifier: MIT
// The null provider: admitting addresses.
#include "hosts_fixture.hpp"

namespace {

using namespace null_test;

constexpr const char* subnet_group = "/null/security-group/shared";
constexpr const char* own_group = "/null/application-security-group/stado-cloud-hosts-here";

class null_admission : public null_cloud {
protected:
  // The subnet has a group of its own with these rules.
  void subnet_with(const std::string& rules) const {
    set_state(
        R"({"locations":{"here":{"subnet_group":"/null/security-group/shared"}},"script":{},"objects":{
            "/null/security-group/shared":{"kind":"security-group","name":"shared","rules":)" +
        rules + R"(},"/null/network-interface/other":{"kind":"network-interface","name":"other",
            "group_id":"/null/security-group/shared"}}})"
    );
  }

  json rules() const { return object(subnet_group)["rules"]; }

  json own_rule() const {
    const json all = rules();
    for (const json& rule : all.items()) {
      if (rule["name"] == json("stado-cloud-hosts")) {
        return rule;
      }
    }
    return {};
  }
};

TEST_F(null_admission, R35_makes_the_group_of_a_new_location_once) {
  const json first = answer(operation::admit_addresses, admission());
  EXPECT_EQ(first["locations"][0]["group_id"], json(own_group));
  EXPECT_EQ(first["locations"][0]["rule"], json("none")) << "its subnet has no group";
  EXPECT_EQ(object(own_group)["location"], json("here"));
  answer(operation::admit_addresses, admission());
  EXPECT_TRUE(told_.empty()) << "nothing was written again";
}

TEST_F(null_admission, R36_R34_admits_exactly_the_addresses_to_that_group_alone) {
  subnet_with("[]");
  const json said = answer(operation::admit_addresses, admission());
  EXPECT_EQ(said["locations"][0]["rule"], json("created"));
  EXPECT_EQ(said["locations"][0]["priority"], json(100));
  const json rule = own_rule();
  EXPECT_EQ(rule["sources"], texts({"198.51.100.4/32", "198.51.100.9/32"}));
  EXPECT_EQ(rule["destination"], json(own_group));
  EXPECT_EQ(rule["port"], json(22));
  EXPECT_EQ(rule["access"], json("allow"));
  EXPECT_EQ(rule["direction"], json("inbound"));
}

TEST_F(null_admission, R126_writes_nothing_when_the_sources_are_the_same_set) {
  subnet_with("[]");
  answer(operation::admit_addresses, admission());
  json again = admission();
  again.set("addresses", texts({"198.51.100.9", "198.51.100.4"}));
  EXPECT_EQ(answer(operation::admit_addresses, again)["locations"][0]["rule"], json("unchanged"));
  EXPECT_TRUE(told_.empty());
  again.set("addresses", texts({"198.51.100.9"}));
  EXPECT_EQ(answer(operation::admit_addresses, again)["locations"][0]["rule"], json("updated"));
  EXPECT_EQ(own_rule()["sources"], texts({"198.51.100.9/32"}));
  change([](json& all) { // a lone source may stand alone
    json& rule = all.member_ref("objects").member_ref(subnet_group).member_ref("rules").items()[0];
    rule.erase("sources");
    rule.set("source", "198.51.100.9/32");
  });
  EXPECT_EQ(answer(operation::admit_addresses, again)["locations"][0]["rule"], json("unchanged"));
}

struct priority_case {
  const char* name;
  std::string rules;
  std::optional<std::int64_t> priority; // nullopt: refused
};

std::string inbound(std::int64_t first, std::int64_t last, const char* direction = "inbound") {
  std::string all;
  for (std::int64_t p = first; p <= last; ++p) {
    all += std::string(all.empty() ? "" : ",") + R"({"direction":")" + direction +
           R"(","priority":)" + std::to_string(p) + "}";
  }
  return all;
}

class null_priority : public null_admission, public testing::WithParamInterface<priority_case> {};

TEST_P(null_priority, T10_R126_is_the_lowest_from_100_that_no_other_inbound_rule_holds) {
  subnet_with("[" + GetParam().rules + "]");
  if (!GetParam().priority) {
    const error e = failure(operation::admit_addresses, admission());
    EXPECT_EQ(e.code, error_code::refused);
    EXPECT_NE(e.message.find("4096"), std::string::npos);
    EXPECT_TRUE(own_rule().is_null());
    return;
  }
  answer(operation::admit_addresses, admission());
  EXPECT_EQ(own_rule()["priority"], json(*GetParam().priority));
}

INSTANTIATE_TEST_SUITE_P(
    rules,
    null_priority,
    testing::Values(
        priority_case{"none", "", 100},
        priority_case{"first_taken", inbound(100, 100), 101},
        priority_case{"gap", inbound(100, 104) + "," + inbound(106, 110), 105},
        priority_case{"below_100_does_not_count", inbound(50, 99), 100},
        priority_case{"outbound_has_a_space_of_its_own", inbound(100, 120, "outbound"), 100},
        priority_case{
            "own_rule_keeps_its_own",
            inbound(300, 300) +
                R"(,{"name":"stado-cloud-hosts","direction":"inbound","access":"allow","protocol":"tcp",
                   "sources":[],"port":22,"priority":2000,
                   "destination":"/null/application-security-group/stado-cloud-hosts-here"})",
            2000},
        priority_case{"last", inbound(100, 4095), 4096},
        priority_case{"full", inbound(100, 4096), std::nullopt}
    ),
    [](const auto& given) { return given.param.name; }
);

TEST_F(null_admission, T10_a_priority_that_another_took_meanwhile_is_chosen_again) {
  subnet_with("[]");
  int taken = 0;
  at_checkpoint_ = [&](const std::string& point) {
    if (point == "before:put:security-rule" && taken < 2) {
      change([&](json& all) {
        all.member_ref("objects")
            .member_ref(subnet_group)
            .member_ref("rules")
            .push_back(parse(inbound(100 + taken, 100 + taken)));
      });
      ++taken;
    }
    return base::result<void>();
  };
  const json said = answer(operation::admit_addresses, admission());
  EXPECT_EQ(said["locations"][0]["priority"], json(102));
  EXPECT_EQ(own_rule()["priority"], json(102));
}

TEST_F(null_admission, T10_gives_up_after_five_lost_races) {
  subnet_with("[]");
  script(R"({"faults":[{"kind":"security-rule","verb":"put","times":9,"http_status":409}]})");
  const error e = failure(operation::admit_addresses, admission());
  EXPECT_EQ(e.code, error_code::conflict);
  EXPECT_EQ(state().at({"script", "faults"})[0]["seen"], json(5));
}

TEST_F(null_admission, R37_R128_leaves_every_other_rule_and_interface_as_it_was) {
  subnet_with("[" + inbound(100, 102) + "," + inbound(100, 101, "outbound") + "]");
  const json before = state()["objects"];
  make("b1");
  answer(operation::admit_addresses, admission());
  json after = state()["objects"];
  json& rules = after.member_ref(subnet_group).member_ref("rules");
  EXPECT_EQ(rules.size(), before[subnet_group]["rules"].size() + 1);
  rules.items().pop_back(); // ours is the last
  for (const auto& [id, object] : before.members()) {
    EXPECT_EQ(after[id], object) << id;
  }
}

TEST_F(null_admission, never_rewrites_the_rule_of_another_fleet) {
  subnet_with(
      R"([{"name":"stado-cloud-hosts","direction":"inbound","access":"allow","sources":["*"],"port":22,
          "priority":100,"destination":"/null/application-security-group/theirs"}])"
  );
  const json before = state()["objects"][subnet_group];
  const error e = failure(operation::admit_addresses, admission());
  EXPECT_EQ(e.code, error_code::conflict);
  EXPECT_NE(e.message.find("theirs"), std::string::npos);
  EXPECT_EQ(object(subnet_group), before);
}

TEST_F(null_admission, warns_of_a_deny_that_comes_before_the_rule) {
  subnet_with(
      R"([{"name":"no-ssh","direction":"inbound","access":"deny","sources":["*"],"port":22,"priority":90},
          {"name":"no-web","direction":"inbound","access":"deny","sources":["*"],"port":443,"priority":91},
          {"name":"late","direction":"inbound","access":"deny","sources":["*"],"port":"*","priority":900}])"
  );
  const json said = answer(operation::admit_addresses, admission());
  ASSERT_EQ(said["warnings"].size(), 1u);
  EXPECT_NE(said["warnings"][0].string_or("").find("no-ssh"), std::string::npos);
  EXPECT_EQ(own_rule()["priority"], json(100)) << "nothing is renumbered";
}

TEST_F(null_admission, F19_names_a_subnet_that_is_not_there_before_anything_is_made) {
  subnet_with("[]");
  const json before = state();
  const error e = failure(operation::admit_addresses, admission("nowhere"));
  EXPECT_EQ(e.code, error_code::not_found);
  EXPECT_NE(e.message.find("net-nowhere/hosts"), std::string::npos);
  EXPECT_EQ(state(), before);
}

TEST_F(null_admission, F20_R21_a_policy_denies_the_group_with_its_assignment_named) {
  script(R"({"faults":[{"verb":"put","kind":"application-security-group","http_status":403,
             "code":"RequestDisallowedByPolicy","assignment":"no-groups"}]})");
  const error e = failure(operation::admit_addresses, admission());
  EXPECT_EQ(e.code, error_code::forbidden);
  EXPECT_NE(
      e.message.find("the application security group stado-cloud-hosts-here was not made: "),
      std::string::npos
  );
  EXPECT_NE(e.message.find("HTTP 403: RequestDisallowedByPolicy"), std::string::npos);
  EXPECT_NE(e.message.find("no-groups"), std::string::npos);
  const json detail = parse(e.detail);
  EXPECT_EQ(detail["http_status"], json(403));
  EXPECT_EQ(detail["assignment"], json("no-groups"));
  EXPECT_EQ(detail.at({"resource", "kind"}), json("application-security-group"));
  EXPECT_TRUE(state()["objects"].is_null());
}

TEST_F(null_admission, R38_R127_brings_the_own_group_of_each_known_host_up_to_date) {
  const json made = make("b1");
  json again = admission();
  again.set("ensure_location", json());
  json host = known("b1", made["vm_id"]);
  again.set("hosts", json::array({host}));
  EXPECT_EQ(answer(operation::admit_addresses, again)["hosts"][0]["outcome"], json("updated"));
  const json rules = object("/null/security-group/b1-nsg")["rules"];
  ASSERT_EQ(rules.size(), 1u);
  EXPECT_EQ(rules[0]["sources"], texts({"198.51.100.4/32", "198.51.100.9/32"}));
  EXPECT_EQ(rules[0]["priority"], json(100));
  EXPECT_EQ(answer(operation::admit_addresses, again)["hosts"][0]["outcome"], json("unchanged"));
  EXPECT_TRUE(told_.empty());
}

TEST_F(null_admission, a_host_that_is_gone_or_another_is_skipped_with_a_warning) {
  make("b1");
  json body = admission();
  body.set("hosts", json::array({known("gone", "x"), known("b1", "another generation")}));
  const json before = object("/null/security-group/b1-nsg");
  const json said = answer(operation::admit_addresses, body);
  EXPECT_EQ(said["hosts"][0]["outcome"], json("absent"));
  EXPECT_EQ(said["hosts"][1]["outcome"], json("absent"));
  EXPECT_EQ(said["warnings"].size(), 2u);
  EXPECT_EQ(object("/null/security-group/b1-nsg"), before);
}

TEST_F(null_admission, F22_a_host_without_its_group_whose_machine_stands_is_an_error) {
  const json made = make("b1");
  change([](json& all) { all.member_ref("objects").erase("/null/security-group/b1-nsg"); });
  json body = admission();
  body.set("hosts", json::array({known("b1", made["vm_id"])}));
  const error e = failure(operation::admit_addresses, body);
  EXPECT_NE(e.message.find("b1 cannot be admitted"), std::string::npos);
  EXPECT_NE(e.message.find("b1-nsg"), std::string::npos);
}

TEST_F(null_admission, a_known_location_whose_group_is_gone_makes_no_new_one) {
  json body = admission();
  body.set("ensure_location", json());
  const json said = answer(operation::admit_addresses, body);
  EXPECT_TRUE(said["locations"][0]["group_id"].is_null());
  EXPECT_EQ(said["locations"][0]["rule"], json("none"));
  EXPECT_EQ(said["warnings"].size(), 1u);
  EXPECT_TRUE(state()["objects"].is_null());
}

TEST_F(null_admission, a_dry_run_says_what_it_would_do_and_writes_nothing) {
  subnet_with("[]");
  const json before = state();
  const json said = answer(operation::admit_addresses, admission(), true);
  EXPECT_EQ(said["locations"][0]["rule"], json("created"));
  EXPECT_TRUE(said["locations"][0]["group_id"].is_null());
  EXPECT_EQ(state(), before);
  EXPECT_TRUE(told_.empty());
}

} // namespace
