// SPDX-License-Identifier: MIT
// Seeds: replacing by key, counts, errors that change nothing; the inventory.
#include "tests/unit/emulators/waldur_fixture.hpp"

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

class waldur_seed : public emulated_waldur {
protected:
  json inventory() { return staff->get("/_emu/inventory").body; }
};

TEST_F(waldur_seed, default_objects_have_the_documented_ids) {
  const auto all = inventory();
  const std::pair<const char*, const char*> table[] = {
      {"customers", "0101"},
      {"service_providers", "0102"},
      {"offerings", "0201"},
      {"projects", "0301"},
      {"plans", "0401"},
      {"keys", "0501"}};
  for (const auto& [key, suffix] : table) {
    ASSERT_EQ(all[key].size(), 1U) << key;
    EXPECT_EQ(
        all[key][0]["uuid"].string_or(""), std::string("e2ef000000000000000000000000") + suffix
    );
  }
  EXPECT_TRUE(all["keys"][0]["public_key"].string_or("").starts_with(
      "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI"
  ));
  EXPECT_EQ(all["orders"].size(), 0U);
}

TEST_F(waldur_seed, inventory_shows_objects_as_their_get_does) {
  const auto p = create();
  EXPECT_EQ(inventory()["resources"][0], resource(p.resource));
  EXPECT_EQ(inventory()["orders"][0], staff->get(orders + p.order + "/").body);
}

TEST_F(waldur_seed, given_keys_replace_and_the_rest_stays) {
  const auto p = create();
  seed("{'keys':[{'name':'mine','public_key':'ssh-ed25519 AAAA mine'}]}");
  EXPECT_EQ(inventory()["keys"].size(), 1U);
  EXPECT_EQ(inventory()["keys"][0]["name"].string(), "mine");
  EXPECT_EQ(resource_state(p.resource), "OK");
}

TEST_F(waldur_seed, counts_make_numbered_objects) {
  seed("{'orders':{'count':25,'attributes':{'name':'vm {n}','list':['{n}']},'limits':{'cpu':1}}}");
  const auto last = agent->get(orders + "?page=3").body;
  EXPECT_EQ(last.size(), 5U);
  EXPECT_EQ(last[4]["resource_name"].string(), "vm 25");
  EXPECT_EQ(last[4]["attributes"]["list"][0].string(), "25");
  EXPECT_LT(last[3]["created"].string_or(""), last[4]["created"].string_or(""));
}

TEST_F(waldur_seed, ten_thousand_resources_are_listed_page_by_page) {
  seed("{'resources':10000}");
  const auto r = agent->get(provider_resources + "?state=OK&page_size=300&page=34&field=uuid");
  EXPECT_EQ(r.headers.at("x-result-count"), "10000");
  EXPECT_EQ(r.body.size(), 100U);
}

TEST_F(waldur_seed, several_offerings_belong_to_the_agent) {
  seed(
      "{'offerings':[{'uuid':'" + offering_uuid +
      "'},{'name':'Second','components':[{'type':'gpu','billing_type':'usage'}],"
      "'plans':[{'name':'Small','quotas':{'gpu':1}},{'name':'Large'}]}]}"
  );
  const auto list = agent->get("/api/marketplace-provider-offerings/").body;
  ASSERT_EQ(list.size(), 2U);
  EXPECT_EQ(list[0]["plans"].size(), 1U);
  EXPECT_EQ(list[1]["plans"].size(), 2U);
  EXPECT_EQ(list[1]["components"][0]["type"].string(), "gpu");
  EXPECT_EQ(list[0]["components"].size(), 3U);
}

TEST_F(waldur_seed, objects_go_with_what_they_belong_to) {
  create();
  seed("{'offerings':[{'uuid':'e2ef0000000000000000000000000299'}]}");
  EXPECT_EQ(inventory()["resources"].size(), 0U);
  EXPECT_EQ(inventory()["orders"].size(), 0U);
  EXPECT_EQ(inventory()["plans"].size(), 1U);
  seed("{'customers':[{'uuid':'e2ef0000000000000000000000000199'}]}");
  EXPECT_EQ(
      inventory()["offerings"][0]["customer_uuid"].string(), "e2ef0000000000000000000000000199"
  );
  EXPECT_EQ(
      inventory()["service_providers"][0]["customer_uuid"].string(),
      "e2ef0000000000000000000000000199"
  );
}

TEST_F(waldur_seed, members_of_a_project_are_its_team) {
  seed(
      "{'resources':1,'users':[{'username':'staff','is_staff':true,'token':'"
      "e2e0000000000000000000000000token002'},"
      "{'username':'ann','permissions':[{'role':'PROJECT.ADMIN','scope':'project','scope_uuid':'" +
      project_uuid + "'}]}]}"
  );
  const auto team = staff->get(provider_resources + "e2ef0000000000000000000001000001/team/").body;
  ASSERT_EQ(team.size(), 1U);
  EXPECT_EQ(team[0]["username"].string(), "ann");
}

TEST_F(waldur_seed, page_size_and_version_are_settings) {
  seed("{'page_size':3,'version':'1.2.3','keys':5}");
  EXPECT_EQ(
      agent->get("/api/marketplace-service-providers/e2ef0000000000000000000000000102/keys/")
          .body.size(),
      3U
  );
  EXPECT_EQ(agent->get("/api/version/").body["version"].string(), "1.2.3");
}

class waldur_seed_refuses : public emulated_waldur,
                            public testing::WithParamInterface<const char*> {};

TEST_P(waldur_seed_refuses, and_changes_nothing) {
  const auto before = staff->get("/_emu/inventory").text;
  const auto r = staff->post("/_emu/seed", quoted(GetParam()));
  EXPECT_EQ(r.status, 400);
  EXPECT_NE(r.body["error"].string_or("").find("seed"), std::string::npos) << r.text;
  EXPECT_EQ(staff->get("/_emu/inventory").text, before);
}

INSTANTIATE_TEST_SUITE_P(
    documents,
    waldur_seed_refuses,
    testing::Values(
        "[]",
        "{'offerngs':1}",
        "{'keys':'many'}",
        "{'keys':-1}",
        "{'keys':[1]}",
        "{'keys':[{'colour':'red'}]}",
        "{'keys':[{'name':5}]}",
        "{'keys':[{'uuid':'short'}]}",
        "{'page_size':0}",
        "{'page_size':301}",
        "{'auto_approve':'yes'}",
        "{'timezone':'Mars/Olympus'}",
        "{'unified_queues':1}",
        "{'log_shipping':'no'}",
        "{'offering_users':[{'state':'Fine'}]}",
        "{'offering_users':[{'user':'e2ef0000000000000000000000000999'}]}",
        "{'service_accounts':[{'state':'Fine'}]}",
        "{'course_accounts':[{'project':'e2ef0000000000000000000000000999'}]}",
        "{'component_usages':[{'usage':'much'}]}",
        "{'import_requests':[{'state':'Fine'}]}",
        "{'periodic_policies':[{'offering':'e2ef0000000000000000000000000999'}]}",
        "{'customers':[{'blocked':1}]}",
        "{'offerings':[{'components':[{'billing_type':'limit'}]}]}",
        "{'offerings':[{'components':[{'type':'cpu','billing_type':'gift'}]}]}",
        "{'offerings':[{'plans':[{'quota':{}}]}]}",
        "{'offerings':[{'customer':'e2ef0000000000000000000000000999'}]}",
        "{'components':[{'type':'x','billing_type':'gift'}]}",
        "{'resources':[{'state':'Fine'}]}",
        "{'resources':[{'limits':[]}]}",
        "{'resources':[{'plan':'e2ef0000000000000000000000000999'}]}",
        "{'orders':[{'type':'Terminate'}]}",
        "{'orders':[{'type':'Destroy'}]}",
        "{'orders':[{'created':'today'}]}",
        "{'orders':[{'resource':'e2ef0000000000000000000000000999'}]}",
        "{'keys':3,'orders':[{'state':'lost'}]}"
    )
);

} // namespace

} // namespace siteagent::waldur_emulator
