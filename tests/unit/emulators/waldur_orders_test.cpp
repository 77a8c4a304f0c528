// SPDX-License-Identifier: MIT
// Orders: placing, the provider's actions, their state validators and what they do to the resource.
#include "tests/unit/emulators/waldur_fixture.hpp"

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

class waldur_orders : public emulated_waldur {};

TEST_F(waldur_orders, run_from_the_portal_to_a_running_resource) {
  const auto p = place();
  EXPECT_EQ(order_state(p.order), "pending-provider");
  EXPECT_EQ(resource_state(p.resource), "Creating");
  const auto approved = agent->post(orders + p.order + "/approve_by_provider/", json::object());
  EXPECT_EQ(approved.status, 200);
  EXPECT_EQ(order_state(p.order), "executing");
  EXPECT_EQ(act(p.order, "set_state_done"), 200);
  EXPECT_EQ(order_state(p.order), "done");
  EXPECT_EQ(resource_state(p.resource), "OK");
}

TEST_F(waldur_orders, show_what_an_agent_reads) {
  const auto p = place();
  const auto o = agent->get(orders + p.order + "/").body;
  EXPECT_EQ(o["type"].string_or(""), "Create");
  EXPECT_EQ(o["resource_name"].string_or(""), "web 1");
  EXPECT_EQ(o["attributes"]["name"].string_or(""), "web 1");
  EXPECT_EQ(o["limits"]["cpu"].integer(), 2);
  EXPECT_EQ(o["plan_uuid"].string_or(""), plan_uuid);
  EXPECT_EQ(o["project_slug"].string_or(""), "project-1");
  EXPECT_EQ(o["created_by_username"].string_or(""), "staff");
  EXPECT_TRUE(o.find("resource_uuid")->is_null());
  EXPECT_TRUE(base::parse_rfc3339(o["created"].string_or("")));
  EXPECT_EQ(agent->get(orders + p.order + "/?field=uuid&field=state").body.size(), 2U);
}

TEST_F(waldur_orders, are_listed_by_offering_state_and_time) {
  const auto a = create();
  const auto b = place();
  const auto count = [&](const std::string& query) {
    return agent->get(orders + "?" + query).body.size();
  };
  EXPECT_EQ(count("offering_uuid=" + offering_uuid), 2U);
  EXPECT_EQ(count("offering_uuid=" + project_uuid), 0U);
  EXPECT_EQ(count("state=pending-provider&state=executing"), 1U);
  EXPECT_EQ(count("state=done&type=Create&project_uuid=" + project_uuid), 1U);
  EXPECT_EQ(count("type=Terminate"), 0U);
  EXPECT_EQ(count("resource_uuid=" + a.resource), 1U);
  EXPECT_EQ(count("modified_before=2020-01-01T00:00:00Z"), 0U);
  EXPECT_EQ(count("created=2020-01-01T00:00:00Z"), 2U);
  EXPECT_EQ(agent->get(orders + "?o=-created").body[0]["uuid"].string_or(""), b.order);
  EXPECT_EQ(agent->get(orders + "?modified_before=yesterday").status, 400);
  EXPECT_EQ(agent->get(orders + "?state=unknown").status, 400);
}

TEST_F(waldur_orders, start_in_executing_with_auto_approve) {
  seed("{'auto_approve':true}");
  EXPECT_EQ(order_state(place().order), "executing");
}

TEST_F(waldur_orders, are_refused_with_the_field_that_is_wrong) {
  struct {
    const char* field;
    const char* value;
  } cases[] = {
      {"offering", "null"},
      {"offering", "'http://h/api/projects/1/'"},
      {"offering", "'http://h/api/marketplace-public-offerings/e2ef0000000000000000000000000999/'"},
      {"project", "'http://h/api/projects/e2ef0000000000000000000000000999/'"},
      {"plan", "null"},
      {"plan", "'http://h/api/marketplace-public-plans/e2ef0000000000000000000000000999/'"},
      {"attributes", "'text'"},
      {"limits", "{'gpu':1}"},
      {"limits", "{'cpu':1.5}"},
      {"limits", "{'cpu':-1}"},
      {"limits", "[]"},
      {"accepting_terms_of_service", "false"}};

  for (const auto& c : cases) {
    auto body = order_body();
    body.set(c.field, quoted(c.value));
    const auto r = staff->post(orders, body);
    EXPECT_EQ(r.status, 400) << c.field << " " << c.value;
    EXPECT_TRUE(r.body[c.field].is_array()) << r.text;
  }
  EXPECT_EQ(staff->get(orders).body.size(), 0U);
}

TEST_F(waldur_orders, cannot_be_placed_by_a_mere_provider) {
  EXPECT_EQ(agent->post(orders, order_body()).status, 400);
}

TEST_F(waldur_orders, of_a_member_wait_for_the_consumer) {
  seed(
      "{'users':[{'username':'member','token':'member','permissions':[{'role':'PROJECT.MEMBER',"
      "'scope':'project','scope_uuid':'" +
      project_uuid +
      "'}]},"
      "{'username':'staff','is_staff':true,'token':'e2e0000000000000000000000000token002'}]}"
  );
  api_client member(frame->port());
  member.authorize("Token member");
  auto r = member.post(orders, order_body());
  EXPECT_EQ(r.body["state"].string_or(""), "pending-consumer");
  const std::string path = orders + r.body["uuid"].string_or("");
  EXPECT_EQ(staff->post(path + "/approve_by_consumer/").status, 200);
  EXPECT_EQ(staff->get(path + "/").body["state"].string_or(""), "pending-provider");
  EXPECT_EQ(staff->post(path + "/reject_by_consumer/").status, 409);
}

struct transition {
  const char* action;
  const char* from;
  int status;
};

class waldur_order_states : public emulated_waldur,
                            public testing::WithParamInterface<transition> {};

TEST_P(waldur_order_states, are_validated) {
  const auto& c = GetParam();
  seed("{'orders':[{'state':'" + std::string(c.from) + "'}]}");
  const std::string uuid = agent->get(orders).body[0]["uuid"].string_or("");
  EXPECT_EQ(staff->post(orders + uuid + "/" + c.action + "/", quoted(failure)).status, c.status);
  if (c.status == 409) {
    EXPECT_EQ(order_state(uuid), c.from);
  }
}

INSTANTIATE_TEST_SUITE_P(
    table,
    waldur_order_states,
    testing::Values(
        transition{"approve_by_provider", "pending-provider", 200},
        transition{"approve_by_provider", "executing", 409},
        transition{"approve_by_provider", "done", 409},
        transition{"reject_by_provider", "pending-provider", 200},
        transition{"reject_by_provider", "executing", 409},
        transition{"set_state_executing", "pending-consumer", 200},
        transition{"set_state_executing", "pending-provider", 200},
        transition{"set_state_executing", "erred", 200},
        transition{"set_state_executing", "done", 409},
        transition{"set_state_done", "executing", 200},
        transition{"set_state_done", "pending-provider", 409},
        transition{"set_state_done", "done", 409},
        transition{"set_state_done", "canceled", 409},
        transition{"set_state_erred", "executing", 200},
        transition{"set_state_erred", "done", 200},
        transition{"retry", "erred", 200},
        transition{"retry", "executing", 409},
        transition{"cancel", "pending-provider", 200},
        transition{"cancel", "executing", 200},
        transition{"cancel", "done", 409},
        transition{"cancel", "erred", 409}
    )
);

TEST_F(waldur_orders, erred_keep_the_reason_and_err_the_resource) {
  const auto p = place();
  act(p.order, "approve_by_provider");
  EXPECT_EQ(act(p.order, "set_state_erred", "{'error_message':'no room'}"), 400);
  EXPECT_EQ(act(p.order, "set_state_erred", "{'error_traceback':''}"), 400);
  EXPECT_EQ(order_state(p.order), "executing");
  EXPECT_EQ(act(p.order, "set_state_erred", failure), 200);
  const auto o = staff->get(orders + p.order + "/").body;
  EXPECT_EQ(o["state"].string_or(""), "erred");
  EXPECT_EQ(o["error_message"].string_or(""), "no room");
  EXPECT_EQ(resource_state(p.resource), "Erred");
}

TEST_F(waldur_orders, can_be_retried_after_they_erred) {
  const auto p = place();
  act(p.order, "approve_by_provider");
  act(p.order, "set_state_erred", failure);
  EXPECT_EQ(staff->post(orders + p.order + "/retry/").status, 200);
  const auto o = staff->get(orders + p.order + "/").body;
  EXPECT_EQ(o["state"].string_or(""), "executing");
  EXPECT_EQ(o["error_message"].string_or("?"), "");
  EXPECT_EQ(resource_state(p.resource), "Creating");
}

TEST_F(waldur_orders, rejected_carry_the_comment_and_end_the_resource) {
  const auto p = place();
  EXPECT_EQ(act(p.order, "reject_by_provider", "{'provider_rejection_comment':'no key'}"), 200);
  EXPECT_EQ(
      staff->get(orders + p.order + "/").body["provider_rejection_comment"].string_or(""), "no key"
  );
  EXPECT_EQ(resource_state(p.resource), "Terminated");
}

TEST_F(waldur_orders, canceled_while_executing_end_the_resource) {
  const auto p = place();
  act(p.order, "approve_by_provider");
  EXPECT_EQ(act(p.order, "cancel"), 403) << "the agent is no consumer";
  EXPECT_EQ(staff->post(orders + p.order + "/cancel/").status, 200);
  EXPECT_EQ(order_state(p.order), "canceled");
  EXPECT_EQ(resource_state(p.resource), "Terminated");
  EXPECT_EQ(act(p.order, "set_state_done"), 409);
}

TEST_F(waldur_orders, erred_late_change_the_resource_only) {
  const auto p = create();
  EXPECT_EQ(act(p.order, "set_state_erred", failure), 200);
  EXPECT_EQ(order_state(p.order), "done");
  EXPECT_EQ(resource_state(p.resource), "Erred");
}

TEST_F(waldur_orders, two_executing_of_a_type_are_not_told_apart) {
  seed(
      "{'resources':[{'uuid':'" + project_uuid +
      "'}],'orders':["
      "{'type':'Terminate','state':'executing','resource':'" +
      project_uuid +
      "'},"
      "{'type':'Terminate','state':'executing','resource':'" +
      project_uuid + "'}]}"
  );
  const std::string uuid = agent->get(orders).body[0]["uuid"].string_or("");
  EXPECT_EQ(act(uuid, "set_state_done"), 200);
  EXPECT_EQ(order_state(uuid), "executing");
  EXPECT_EQ(resource_state(project_uuid), "Terminated");
}

TEST_F(waldur_orders, of_other_offering_types_cannot_be_reported) {
  seed("{'offerings':[{'uuid':'" + offering_uuid + "','type':'Marketplace.Basic'}]}");
  const auto p = place();
  act(p.order, "approve_by_provider");
  EXPECT_EQ(act(p.order, "set_state_done"), 405);
  EXPECT_EQ(act(p.order, "set_state_erred", failure), 405);
  EXPECT_EQ(act(p.order, "set_state_executing"), 405);
}

TEST_F(waldur_orders, wait_for_their_start_date) {
  auto body = order_body();
  body.set(
      "start_date",
      base::to_rfc3339(base::real_clock().wall() + std::chrono::hours(72)).substr(0, 10)
  );
  const std::string uuid = staff->post(orders, body).body["uuid"].string_or("");
  EXPECT_EQ(act(uuid, "approve_by_provider"), 200);
  EXPECT_EQ(order_state(uuid), "pending-start-date");
  staff->post("/_emu/clock", quoted("{'advance_s':86400}"));
  EXPECT_EQ(order_state(uuid), "pending-start-date");
  staff->post("/_emu/clock", quoted("{'advance_s':259200}"));
  EXPECT_EQ(order_state(uuid), "executing");
}

TEST_F(waldur_orders, wait_for_their_project_or_find_it_ended) {
  seed("{'projects':[{'uuid':'" + project_uuid + "','start_date':'2999-01-01'}]}");
  const auto early = place();
  EXPECT_EQ(act(early.order, "approve_by_provider"), 200);
  EXPECT_EQ(order_state(early.order), "pending-project");
  seed("{'projects':[{'uuid':'" + project_uuid + "','end_date':'2001-01-01'}]}");
  EXPECT_EQ(act(place().order, "approve_by_provider"), 400);
}

TEST_F(waldur_orders, of_a_blocked_customer_cannot_be_approved) {
  seed("{'customers':[{'blocked':true}]}");
  EXPECT_EQ(act(place().order, "approve_by_provider"), 400);
}

TEST_F(waldur_orders, take_a_backend_id_and_words_of_the_provider) {
  const auto p = place();
  EXPECT_EQ(act(p.order, "set_backend_id", "{'backend_id':'b'}"), 200);
  EXPECT_EQ(act(p.order, "set_backend_id", "{}"), 400);
  EXPECT_EQ(act(p.order, "set_provider_info", "{'provider_message':'soon'}"), 200);
  const auto o = agent->get(orders + p.order + "/").body;
  EXPECT_EQ(o["backend_id"].string_or(""), "b");
  EXPECT_EQ(o["provider_message"].string_or(""), "soon");
  EXPECT_EQ(act(p.order, "approve_by_provider", "{'attributes':{'zone':'2'}}"), 200);
  EXPECT_EQ(agent->get(orders + p.order + "/").body["attributes"]["zone"].string_or(""), "2");
  EXPECT_EQ(act(p.order, "dance"), 404);
  EXPECT_EQ(agent->get(orders + p.order + "/approve_by_provider/").status, 405);
  EXPECT_EQ(agent->call("DELETE", orders + p.order + "/").status, 405);
}

TEST_F(waldur_orders, need_the_permission_that_fits) {
  seed(
      "{'users':[{'username':'staff','is_staff':true,'token':'e2e0000000000000000000000000token002'"
      "},"
      "{'username':'agent','token':'e2e0000000000000000000000000token001','denied':['ORDER.APPROVE'"
      ",'ORDER.REJECT'],"
      "'permissions':[{'role':'OFFERING.MANAGER','scope':'offering','scope_uuid':'" +
      offering_uuid + "'}]}]}"
  );
  const auto p = place();
  for (const char* action :
       {"approve_by_provider",
        "reject_by_provider",
        "set_state_done",
        "set_state_erred",
        "retry",
        "set_backend_id"}) {
    EXPECT_EQ(act(p.order, action, failure), 403) << action;
  }
  EXPECT_EQ(agent->get(orders + p.order + "/").status, 200);
}

} // namespace

} // namespace siteagent::waldur_emulator
