// SPDX-License-Identifier: MIT
// Resources: the provider's bookkeeping and the orders made on them.
#include "tests/unit/emulators/waldur_fixture.hpp"

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

class waldur_resources : public emulated_waldur {
protected:
  int provider(const std::string& uuid, const std::string& action, const std::string& body = "{}") {
    return agent->post(provider_resources + uuid + "/" + action + "/", quoted(body)).status;
  }
};

TEST_F(waldur_resources, take_what_the_provider_reports) {
  const auto p = create();
  EXPECT_EQ(provider(p.resource, "set_backend_id", "{'backend_id':'/vm/1'}"), 200);
  EXPECT_EQ(
      provider(p.resource, "set_backend_metadata", "{'backend_metadata':{'ip':'10.0.0.4'}}"), 200
  );
  EXPECT_EQ(provider(p.resource, "set_limits", "{'limits':{'cpu':4}}"), 200);
  EXPECT_EQ(
      provider(
          p.resource, "set_endpoints", "{'endpoints':[{'name':'ssh','url':'ssh://a@10.0.0.4'}]}"
      ),
      200
  );
  EXPECT_EQ(provider(p.resource, "refresh_last_sync"), 200);
  EXPECT_EQ(provider(p.resource, "set_effective_id", "{'effective_id':'e'}"), 200);
  const auto r = agent->get(provider_resources + p.resource + "/").body;
  EXPECT_EQ(r["backend_id"].string_or(""), "/vm/1");
  EXPECT_EQ(r["backend_metadata"]["ip"].string_or(""), "10.0.0.4");
  EXPECT_EQ(r["limits"], quoted("{'cpu':4}"));
  EXPECT_EQ(r["endpoints"][0]["url"].string_or(""), "ssh://a@10.0.0.4");
  EXPECT_EQ(r["effective_id"].string_or(""), "e");
  EXPECT_TRUE(base::parse_rfc3339(r["last_sync"].string_or("")));
}

TEST_F(waldur_resources, replace_metadata_and_endpoints_as_a_whole) {
  const auto p = create();
  provider(p.resource, "set_backend_metadata", "{'backend_metadata':{'a':1}}");
  provider(p.resource, "set_backend_metadata", "{'backend_metadata':{'b':1}}");
  EXPECT_EQ(resource(p.resource)["backend_metadata"], quoted("{'b':1}"));
  provider(p.resource, "set_endpoints", "{'endpoints':[{'name':'ssh','url':'ssh://a@b'}]}");
  provider(p.resource, "set_endpoints", "{'endpoints':[]}");
  EXPECT_EQ(resource(p.resource)["endpoints"].size(), 0U);
}

struct bad_call {
  const char* action;
  std::string body;
};

TEST_F(waldur_resources, refuse_malformed_reports) {
  const auto p = create();
  const bad_call cases[] = {
      {"set_backend_id", "{}"},
      {"set_backend_id", "{'backend_id':null}"},
      {"set_backend_id", "{'backend_id':{}}"},
      {"set_backend_id", "{'backend_id':'" + std::string(256, 'x') + "'}"},
      {"set_backend_metadata", "{}"},
      {"set_backend_metadata", "{'backend_metadata':[]}"},
      {"set_limits", "{}"},
      {"set_limits", "{'limits':{'gpu':1}}"},
      {"set_limits", "{'limits':{'cpu':0.5}}"},
      {"set_endpoints", "{}"},
      {"set_endpoints", "{'endpoints':[{'name':'ssh'}]}"},
      {"set_endpoints", "{'endpoints':[{'name':'ssh','url':'10.0.0.4'}]}"}};
  for (const auto& c : cases) {
    EXPECT_EQ(provider(p.resource, c.action, c.body), 400) << c.action << c.body;
  }
  EXPECT_EQ(provider(p.resource, "dance"), 404);
  EXPECT_EQ(provider("e2ef0000000000000000000000000999", "set_as_ok"), 404);
}

TEST_F(waldur_resources, are_set_erred_and_ok) {
  const auto p = create();
  EXPECT_EQ(
      provider(p.resource, "set_as_erred", "{'error_message':'gone','error_traceback':''}"), 200
  );
  EXPECT_EQ(resource_state(p.resource), "Erred");
  EXPECT_EQ(resource(p.resource)["error_message"].string_or(""), "gone");
  EXPECT_EQ(provider(p.resource, "set_as_ok"), 200);
  EXPECT_EQ(resource_state(p.resource), "OK");
  EXPECT_EQ(resource(p.resource)["error_message"].string_or("?"), "");
}

TEST_F(waldur_resources, of_an_older_server_let_only_staff_set_the_state) {
  seed(
      "{'users':[{'username':'staff','is_staff':true,'token':'e2e0000000000000000000000000token002'"
      "},"
      "{'username':'agent','token':'e2e0000000000000000000000000token001','denied':['RESOURCE.SET_"
      "STATE'],"
      "'permissions':[{'role':'OFFERING.MANAGER','scope':'offering','scope_uuid':'" +
      offering_uuid + "'}]}]}"
  );
  const auto p = create();
  EXPECT_EQ(provider(p.resource, "set_as_erred"), 403);
  EXPECT_EQ(provider(p.resource, "set_as_ok"), 403);
  EXPECT_EQ(staff->post(provider_resources + p.resource + "/set_as_erred/").status, 200);
}

TEST_F(waldur_resources, are_listed_by_offering_and_state) {
  const auto p = create();
  place();
  const auto count = [&](const std::string& q) {
    return agent->get(provider_resources + "?" + q).body.size();
  };
  EXPECT_EQ(count("offering_uuid=" + offering_uuid), 2U);
  EXPECT_EQ(count("state=OK&state=Erred"), 1U);
  EXPECT_EQ(count("backend_id=vm-1&project_uuid=" + project_uuid), 1U);
  EXPECT_EQ(count("name_exact=nothing"), 0U);
  EXPECT_EQ(agent->get(provider_resources + "?state=Fine").status, 400);
  EXPECT_EQ(agent->get(provider_resources + "?offering_uuid=x").status, 400);
  EXPECT_EQ(
      agent->get(resources + "?state=OK&field=uuid").body[0]["uuid"].string_or(""), p.resource
  );
  EXPECT_EQ(
      agent->get(provider_resources + p.resource + "/team/?has_consent=true").body.size(), 0U
  );
}

TEST_F(waldur_resources, get_different_slugs_for_equal_names) {
  const auto a = place();
  const auto b = place();
  EXPECT_EQ(resource(a.resource)["slug"].string_or(""), "web-1");
  EXPECT_EQ(resource(b.resource)["slug"].string_or(""), "web-1-1");
}

TEST_F(waldur_resources, are_terminated_by_an_order) {
  const auto p = create();
  const auto order = order_by(p.resource, "terminate", "{'attributes':{'delete_data':true}}");
  EXPECT_EQ(resource_state(p.resource), "OK");
  EXPECT_EQ(resource(p.resource)["order_in_progress"]["uuid"].string_or(""), order);
  act(order, "approve_by_provider");
  EXPECT_EQ(resource_state(p.resource), "Terminating");
  EXPECT_EQ(act(order, "set_state_done"), 200);
  EXPECT_EQ(resource_state(p.resource), "Terminated");
  EXPECT_EQ(resource(p.resource)["backend_id"].string_or(""), "vm-1");
  EXPECT_TRUE(resource(p.resource)["order_in_progress"].is_null());
  EXPECT_EQ(staff->post(resources + p.resource + "/terminate/").status, 409);
}

TEST_F(waldur_resources, stay_after_a_failed_or_rejected_termination) {
  const auto p = create();
  auto order = order_by(p.resource, "terminate");
  act(order, "approve_by_provider");
  act(order, "set_state_erred", failure);
  EXPECT_EQ(resource_state(p.resource), "OK");
  EXPECT_EQ(order_state(order), "erred");
  order = order_by(p.resource, "terminate");
  act(order, "reject_by_provider");
  EXPECT_EQ(resource_state(p.resource), "OK");
}

TEST_F(waldur_resources, have_one_open_order) {
  const auto p = create();
  order_by(p.resource, "terminate");
  for (const char* action : {"terminate", "update_limits", "switch_plan"}) {
    const auto r = staff->post(
        resources + p.resource + "/" + action + "/",
        quoted(
            "{'limits':{'cpu':3},'plan':'http://h/api/marketplace-public-plans/" + plan_uuid + "/'}"
        )
    );
    EXPECT_EQ(r.status, 400) << action;
    EXPECT_NE(r.text.find("Pending order"), std::string::npos) << r.text;
  }
}

TEST_F(waldur_resources, change_limits_when_the_update_is_done) {
  const auto p = create();
  const auto order = order_by(p.resource, "update_limits", "{'limits':{'cpu':8}}");
  EXPECT_EQ(agent->get(orders + order + "/").body["attributes"]["old_limits"]["cpu"].integer(), 2);
  act(order, "approve_by_provider");
  EXPECT_EQ(resource_state(p.resource), "Updating");
  EXPECT_EQ(resource(p.resource)["limits"]["cpu"].integer(), 2);
  act(order, "set_state_done");
  EXPECT_EQ(resource(p.resource)["limits"], quoted("{'cpu':8}"));
  EXPECT_EQ(resource_state(p.resource), "OK");
  EXPECT_EQ(
      staff->post(resources + p.resource + "/update_limits/", quoted("{'limits':{'x':1}}")).status,
      400
  );
  EXPECT_EQ(staff->post(resources + p.resource + "/update_limits/", quoted("{}")).status, 400);
}

TEST_F(waldur_resources, are_erred_by_a_failed_update) {
  const auto p = create();
  const auto order = order_by(p.resource, "update_limits", "{'limits':{'cpu':8}}");
  act(order, "approve_by_provider");
  act(order, "set_state_erred", failure);
  EXPECT_EQ(resource_state(p.resource), "Erred");
  EXPECT_EQ(resource(p.resource)["limits"]["cpu"].integer(), 2);
}

TEST_F(waldur_resources, switch_plans) {
  const std::string other = "e2ef0000000000000000000000000402";
  seed("{'plans':[{'uuid':'" + plan_uuid + "'},{'uuid':'" + other + "','quotas':{'cpu':8}}]}");
  const auto p = create();
  const auto order = order_by(
      p.resource, "switch_plan", "{'plan':'http://h/api/marketplace-public-plans/" + other + "/'}"
  );
  const auto o = agent->get(orders + order + "/").body;
  EXPECT_EQ(o["plan_uuid"].string_or(""), other);
  EXPECT_EQ(o["old_plan_uuid"].string_or(""), plan_uuid);
  EXPECT_EQ(o["new_plan_uuid"].string_or(""), other);
  act(order, "approve_by_provider");
  act(order, "set_state_done");
  EXPECT_EQ(resource(p.resource)["plan_uuid"].string_or(""), other);
  EXPECT_EQ(agent->get("/api/marketplace-plans/" + other + "/").body["quotas"]["cpu"].integer(), 8);
  EXPECT_EQ(
      staff->post(resources + p.resource + "/switch_plan/", quoted("{'plan':'x'}")).status, 400
  );
}

TEST_F(waldur_resources, are_restored_under_their_old_id) {
  const auto p = create();
  EXPECT_EQ(staff->post(resources + p.resource + "/restore/").status, 409);
  auto order = order_by(p.resource, "terminate");
  act(order, "approve_by_provider");
  act(order, "set_state_done");
  order = order_by(p.resource, "restore");
  EXPECT_EQ(resource_state(p.resource), "Terminated");
  act(order, "approve_by_provider");
  EXPECT_EQ(resource_state(p.resource), "Creating");
  EXPECT_EQ(resource(p.resource)["backend_id"].string_or(""), "vm-1");
  act(order, "set_state_done");
  EXPECT_EQ(resource_state(p.resource), "OK");
}

TEST_F(waldur_resources, stay_terminated_when_the_restore_is_rejected) {
  const auto p = create();
  auto order = order_by(p.resource, "terminate");
  act(order, "approve_by_provider");
  act(order, "set_state_done");
  order = order_by(p.resource, "restore");
  act(order, "reject_by_provider");
  EXPECT_EQ(resource_state(p.resource), "Terminated");
}

TEST_F(waldur_resources, are_paused_and_downscaled_by_staff) {
  const auto p = create();
  const std::string path = resources + p.resource;
  EXPECT_EQ(staff->post(path + "/set_paused/", quoted("{'paused':true}")).status, 200);
  EXPECT_EQ(resource(p.resource)["paused"].boolean(), true);
  EXPECT_EQ(staff->post(path + "/set_downscaled/", quoted("{'downscaled':true}")).status, 200);
  EXPECT_EQ(resource(p.resource)["downscaled"].boolean(), true);
  EXPECT_EQ(staff->post(path + "/set_paused/", quoted("{'paused':'x'}")).status, 400);
  EXPECT_EQ(agent->post(path + "/set_paused/", quoted("{'paused':false}")).status, 403);
  EXPECT_EQ(agent->post(path + "/update_limits/", quoted("{'limits':{}}")).status, 403);
  EXPECT_EQ(agent->post(path + "/set_backend_id/", quoted("{'backend_id':'x'}")).status, 404)
      << "the provider's actions are under provider-resources";
}

} // namespace

} // namespace siteagent::waldur_emulator
