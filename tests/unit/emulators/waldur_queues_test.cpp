// SPDX-License-Identifier: MIT
// Queues and messages of the emulated Waldur, against a stand-in for the broker's management API.
#include "tests/emulators/waldur/events.hpp"
#include "tests/unit/emulators/queues_fixture.hpp"

#include <thread>

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

const std::string subscriptions = "/api/event-subscriptions/";
const std::string agent_token = "e2e0000000000000000000000000token001";

class waldur_queues : public emulated_waldur_with_broker {
protected:
  reply subscribe(const std::string& type) {
    return agent->post(
        identities + identity + "/register_event_subscription/",
        quoted("{'observable_object_type':'" + type + "'}")
    );
  }

  reply create_queue(const std::string& subscription, const std::string& type) {
    return agent->post(
        subscriptions + subscription + "/create_queue/",
        quoted("{'offering_uuid':'" + offering_uuid + "','object_type':'" + type + "'}")
    );
  }

  std::vector<std::string> order_states_of(const std::vector<fake_broker::message>& all) {
    std::vector<std::string> states;
    for (const auto& m : all) {
      if (m.content["object_type"].string() == "order") {
        states.push_back(m.content["order_state"].string_or(""));
      }
    }
    return states;
  }
};

TEST_F(waldur_queues, makes_host_user_permissions_and_queue_in_the_broker) {
  const auto made = register_queue("{'object_types':['order','resource']}");
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string vhost = made.body["vhost"].string_or("");
  const std::string queue = made.body["queue_name"].string_or("");
  const std::string user = made.body["rmq_username"].string_or("");
  EXPECT_EQ(vhost.size(), 32U);
  EXPECT_TRUE(queue.starts_with("consumer_"));
  EXPECT_EQ(made.body["observable_object_types"].size(), 2U);
  EXPECT_TRUE(rabbit.was_asked("PUT /api/vhosts/" + vhost));
  EXPECT_EQ(rabbit.body_of("PUT /api/users/" + user)["password"].string(), agent_token);
  EXPECT_EQ(rabbit.body_of("PUT /api/permissions/" + vhost + "/" + user)["read"].string(), ".*");
  EXPECT_TRUE(rabbit.was_asked("PUT /api/permissions/" + vhost + "/boss"));
  const json q = rabbit.body_of("PUT /api/queues/" + vhost + "/" + queue);
  EXPECT_EQ(q["durable"].boolean(), true);
  EXPECT_EQ(q["arguments"]["x-message-ttl"].integer(), 3'600'000);
  EXPECT_EQ(q["arguments"]["x-max-length"].integer(), 10'000);
  EXPECT_EQ(q["arguments"]["x-overflow"].string(), "reject-publish-dlx");
  EXPECT_EQ(q["arguments"]["x-dead-letter-exchange"].string(), "");
  EXPECT_EQ(q["arguments"]["x-dead-letter-routing-key"].string(), "waldur.dlq.messages");
  // Base64 of "boss:p@ss".
  EXPECT_EQ(rabbit.calls().front().authorization, "Basic Ym9zczpwQHNz");
}

TEST_F(waldur_queues, registers_again_with_the_token_of_now) {
  const auto first = register_queue();
  ASSERT_EQ(first.status, 201);
  EXPECT_EQ(first.body["observable_object_types"].size(), observable_types.size());
  const auto rotated = staff->post(
      "/_emu/rotate_token", quoted("{'old':'" + agent_token + "','new':'fresh-token'}")
  );
  EXPECT_EQ(rotated.status, 204);
  EXPECT_EQ(register_queue().status, 401);
  agent->authorize("Bearer fresh-token");
  rabbit.forget();
  const auto second = register_queue("{'object_types':['order']}");
  EXPECT_EQ(second.status, 200) << second.text;
  EXPECT_EQ(second.body["queue_name"].string(), first.body["queue_name"].string());
  const std::string user = second.body["rmq_username"].string_or("");
  EXPECT_EQ(user, first.body["rmq_username"].string());
  EXPECT_EQ(rabbit.body_of("PUT /api/users/" + user)["password"].string(), "fresh-token");
  // Without the key the types stay.
  EXPECT_EQ(register_queue("{}").body["observable_object_types"].size(), 1U);
  EXPECT_EQ(staff->post("/_emu/rotate_token", quoted("{'old':'x','new':'y'}")).status, 400);
}

TEST_F(waldur_queues, makes_a_queue_again_that_is_gone_from_the_broker) {
  const auto first = register_queue();
  ASSERT_EQ(first.status, 201);
  const auto gone =
      staff->post("/_emu/delete_queue", quoted("{'offering':'" + offering_uuid + "'}"));
  EXPECT_EQ(gone.status, 200) << gone.text;
  EXPECT_EQ(gone.body["deleted"].integer(), 1);
  const auto again = register_queue();
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(again.body["queue_name"].string(), first.body["queue_name"].string());
  EXPECT_EQ(staff->post("/_emu/delete_queue", quoted("{'queue':'other'}")).status, 404);
}

TEST_F(waldur_queues, keeps_a_queue_for_the_user_that_registered_it) {
  ASSERT_EQ(register_queue().status, 201);
  const auto other =
      staff->post(identities + identity + "/register_queue/", quoted("{'object_types':[]}"));
  EXPECT_EQ(other.status, 409);
  EXPECT_TRUE(other.body["detail"].is_string());
}

TEST_F(waldur_queues, refuses_object_types_it_does_not_know) {
  EXPECT_EQ(register_queue("{'object_types':['order','dance']}").status, 400);
  EXPECT_EQ(register_queue("{'object_types':'order'}").status, 400);
  EXPECT_EQ(subscribe("dance").status, 400);
  seed("{'observable_types':['order']}");
  EXPECT_EQ(register_queue("{'object_types':['resource']}").status, 400);
  EXPECT_EQ(register_queue("{'object_types':['order']}").status, 201);
}

TEST_F(waldur_queues, says_what_the_broker_refused_as_a_validation_error) {
  rabbit.break_calls("/api/queues/", 500);
  const auto refused = register_queue();
  EXPECT_EQ(refused.status, 400);
  EXPECT_EQ(refused.body[0].string(), "Failed to create RabbitMQ queue");
  rabbit.break_calls("", 0);
  EXPECT_EQ(register_queue().status, 201);
}

TEST_F(waldur_queues, is_a_server_before_unified_queues_when_seeded_so) {
  seed("{'unified_queues':false}");
  EXPECT_EQ(register_queue().status, 404);
  const auto first = subscribe("order");
  ASSERT_EQ(first.status, 201) << first.text;
  EXPECT_EQ(first.body["observable_objects"][0]["object_type"].string(), "order");
  const std::string uuid = first.body["uuid"].string_or("");
  EXPECT_EQ(subscribe("order").status, 200);
  EXPECT_EQ(subscribe("order").body["uuid"].string(), uuid);
  const auto queue = create_queue(uuid, "order");
  ASSERT_EQ(queue.status, 201) << queue.text;
  EXPECT_EQ(create_queue(uuid, "order").status, 200);
  const std::string name = "subscription_" + uuid + "_offering_" + offering_uuid + "_order";
  EXPECT_EQ(queue.body["queue_name"].string(), name);
  const std::string vhost = first.body["user_uuid"].string_or("");
  EXPECT_EQ(queue.body["vhost"].string(), vhost);
  EXPECT_EQ(rabbit.body_of("PUT /api/users/" + uuid)["password"].string(), agent_token);
  EXPECT_TRUE(rabbit.was_asked("PUT /api/queues/" + vhost + "/" + name));
  EXPECT_EQ(create_queue(uuid, "resource").status, 400);

  place();
  const auto told = rabbit.messages(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].queue, name);
  EXPECT_EQ(told[0].content["order_state"].string(), "pending-provider");
  EXPECT_EQ(told[0].content.find("object_type"), nullptr);
  EXPECT_EQ(told[0].content.find("order_type"), nullptr);
}

TEST_F(waldur_queues, drops_a_subscription_with_its_queues) {
  const std::string uuid = subscribe("order").body["uuid"].string_or("");
  ASSERT_EQ(create_queue(uuid, "order").status, 201);
  EXPECT_EQ(agent->get(subscriptions).body.size(), 1U);
  EXPECT_EQ(agent->get(subscriptions + uuid + "/").status, 200);
  EXPECT_EQ(agent->call("DELETE", subscriptions + uuid + "/").status, 204);
  EXPECT_EQ(agent->get(subscriptions + uuid + "/").status, 404);
  EXPECT_TRUE(rabbit.waits_for_call("DELETE /api/users/" + uuid));
}

TEST_F(waldur_queues, tells_every_state_of_an_order_in_order) {
  const std::string queue =
      register_queue("{'object_types':['order']}").body["queue_name"].string_or("");
  const auto p = create("vm-1");
  const auto told = rabbit.messages(3);
  ASSERT_EQ(told.size(), 3U);
  EXPECT_EQ(
      order_states_of(told), (std::vector<std::string>{"pending-provider", "executing", "done"})
  );
  std::int64_t number = 0;
  std::set<std::string> ids;
  for (const auto& m : told) {
    EXPECT_EQ(m.queue, queue);
    EXPECT_EQ(m.content["order_uuid"].string(), p.order);
    EXPECT_EQ(m.content["offering_uuid"].string(), offering_uuid);
    EXPECT_EQ(m.content["schema_version"].integer(), 1);
    EXPECT_EQ(m.content["sequence_number"].integer(), ++number);
    EXPECT_EQ(m.properties["delivery_mode"].integer(), 2);
    EXPECT_EQ(m.properties["content_type"].string(), "application/json");
    EXPECT_EQ(m.properties["headers"]["durable"].string(), "true");
    EXPECT_EQ(m.properties["headers"]["auto-delete"].string(), "false");
    ids.insert(m.properties["headers"]["x-message-id"].string_or(""));
  }
  EXPECT_EQ(ids.size(), 3U);
  EXPECT_EQ(ids.begin()->size(), 32U);
  EXPECT_EQ(told[2].content["order_type"].string(), "Create");
  EXPECT_EQ(told[2].content["resource_uuid"].string(), p.resource);
  EXPECT_EQ(told[2].content["resource_backend_id"].string(), "vm-1");
  EXPECT_EQ(told[2].content["project_uuid"].string(), project_uuid);
  EXPECT_EQ(told[2].content["limits"]["cpu"].integer(), 2);
  EXPECT_EQ(told[2].content["plan_uuid"].string(), plan_uuid);
}

TEST_F(waldur_queues, tells_what_changes_about_a_resource_and_nothing_else) {
  const auto p = create();
  ASSERT_EQ(register_queue("{'object_types':['resource']}").status, 201);
  const std::string path = provider_resources + p.resource + "/";
  EXPECT_EQ(staff->post(path + "set_paused/", quoted("{'paused':true}")).status, 200);
  EXPECT_EQ(staff->post(path + "set_paused/", quoted("{'paused':true}")).status, 200);
  EXPECT_EQ(
      agent->post(path + "set_backend_metadata/", quoted("{'backend_metadata':{}}")).status, 200
  );
  EXPECT_EQ(agent->post(path + "set_limits/", quoted("{'limits':{'cpu':9}}")).status, 200);
  EXPECT_EQ(agent->post(path + "set_as_erred/", quoted("{'error_message':'x'}")).status, 200);
  EXPECT_EQ(agent->post(path + "set_as_ok/").status, 200);
  const auto told = rabbit.messages(4);
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0].content["paused"].boolean(), true);
  EXPECT_EQ(told[0].content["resource_backend_id"].string(), "vm-1");
  EXPECT_EQ(told[1].content["limits"]["cpu"].integer(), 9);
  EXPECT_EQ(told[2].content["resource_state"].string(), "Erred");
  EXPECT_EQ(told[3].content["resource_state"].string(), "OK");
}

TEST_F(waldur_queues, tells_the_older_queues_nothing_once_there_is_a_unified_one) {
  const std::string uuid = subscribe("order").body["uuid"].string_or("");
  ASSERT_EQ(create_queue(uuid, "order").status, 201);
  ASSERT_EQ(register_queue().status, 201);
  place();
  EXPECT_EQ(
      staff->post(
               "/_emu/publish", json::object({{"offering", offering_uuid}, {"body", "last"}})
      ).status,
      200
  );
  const auto told = rabbit.messages(3);
  ASSERT_EQ(told.size(), 3U); // the order once, "last" to both
  EXPECT_TRUE(told[0].queue.starts_with("consumer_"));
}

TEST_F(waldur_queues, tells_nothing_to_a_user_that_may_not_see_the_offering_any_more) {
  ASSERT_EQ(register_queue().status, 201);
  seed(
      "{'users':[{'username':'agent','token':'" + agent_token +
      "'},{'username':'staff','is_staff':true,'token':'e2e0000000000000000000000000token002'}]}"
  );
  staff->post(orders, order_body());
  EXPECT_EQ(
      staff->post(
               "/_emu/publish", json::object({{"offering", offering_uuid}, {"body", "x"}})
      ).status,
      200
  );
  const auto told = rabbit.messages(1);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].payload, "x");
}

TEST_F(waldur_queues, sends_hostile_messages_as_they_are) {
  const std::string queue = register_queue().body["queue_name"].string_or("");
  const std::string publish = "/_emu/publish";
  const auto text =
      staff->post(publish, json::object({{"queue", queue}, {"body", "{\"half"}, {"times", 2}}));
  EXPECT_EQ(text.status, 200) << text.text;
  EXPECT_EQ(text.body["published"].integer(), 2);
  const auto object = staff->post(
      publish,
      quoted("{'offering':'" + offering_uuid + "','object_type':'order','body':{'order_uuid':'x'}}")
  );
  EXPECT_EQ(object.status, 200);
  const auto bare = staff->post(
      publish, quoted("{'queue':'" + queue + "','body':{'a':1},'headers':{'x-message-id':'same'}}")
  );
  EXPECT_EQ(bare.status, 200);
  const auto told = rabbit.messages(4);
  ASSERT_EQ(told.size(), 4U);
  EXPECT_EQ(told[0].payload, "{\"half");
  EXPECT_EQ(told[2].content["object_type"].string(), "order");
  EXPECT_EQ(told[2].content["offering_uuid"].string(), offering_uuid);
  EXPECT_EQ(told[3].payload, "{\"a\":1}");
  EXPECT_EQ(told[3].properties["headers"]["x-message-id"].string(), "same");
  EXPECT_EQ(staff->post(publish, quoted("{'queue':'other','body':'x'}")).status, 404);
  EXPECT_EQ(
      staff->post(publish, quoted("{'queue':'" + queue + "','body':'x','times':0}")).status, 400
  );
  EXPECT_EQ(staff->post("/_emu/dance", quoted("{}")).status, 404);
}

TEST_F(waldur_queues, offers_messages_again_while_the_broker_is_down_and_answers_meanwhile) {
  ASSERT_EQ(register_queue("{'object_types':['order']}").status, 201);
  rabbit.break_calls("/publish", 503);
  const auto p = create();
  EXPECT_EQ(order_state(p.order), "done");
  rabbit.break_calls("", 0);
  EXPECT_EQ(
      order_states_of(rabbit.messages(3)),
      (std::vector<std::string>{"pending-provider", "executing", "done"})
  );
}

TEST_F(waldur_queues, forgets_messages_that_wait_when_it_is_reset) {
  ASSERT_EQ(register_queue().status, 201);
  rabbit.break_calls("/publish", 503);
  const json message = json::object({{"offering", offering_uuid}, {"body", "x"}, {"times", 3}});
  std::jthread waiting([&] {
    api_client other(frame->port());
    EXPECT_EQ(other.post("/_emu/publish", message).status, 503);
  });
  while (staff->get("/_emu/inventory").body["messages"]["waiting"].integer() != 3) {
    std::this_thread::yield();
  }
  EXPECT_EQ(staff->post("/_emu/reset").status, 204);
  waiting.join();
}

TEST_F(waldur_queues, reminds_of_waiting_orders_and_stale_resources_by_the_hour) {
  const auto p = create();
  const auto waiting = place();
  ASSERT_EQ(register_queue("{'object_types':['order','resource']}").status, 201);
  EXPECT_EQ(staff->post("/_emu/clock", quoted("{'advance_s':3700}")).status, 200);
  const auto told = rabbit.messages(2);
  ASSERT_EQ(told.size(), 2U);
  EXPECT_EQ(told[0].content["order_uuid"].string(), waiting.order);
  EXPECT_EQ(told[1].content["resource_uuid"].string(), p.resource);
}

TEST_F(waldur_queues, removes_from_the_broker_what_goes_with_an_identity_or_a_reset) {
  const auto made = register_queue();
  const std::string user = made.body["rmq_username"].string_or("");
  EXPECT_EQ(agent->call("DELETE", identities + identity + "/").status, 204);
  EXPECT_TRUE(rabbit.waits_for_call("DELETE /api/users/" + user));
  EXPECT_TRUE(rabbit.was_asked(
      "DELETE /api/queues/" + made.body["vhost"].string_or("") + "/" +
      made.body["queue_name"].string_or("")
  ));
  EXPECT_EQ(subscribe("order").status, 404);
  EXPECT_EQ(staff->post("/_emu/reset").status, 204);
}

TEST_F(waldur_queues, never_shows_a_password) {
  ASSERT_EQ(register_queue().status, 201);
  const auto inventory = staff->get("/_emu/inventory");
  EXPECT_EQ(inventory.body["event_consumers"].size(), 1U);
  EXPECT_TRUE(inventory.body["messages"].is_object());
  EXPECT_EQ(inventory.text.find(agent_token), std::string::npos);
  EXPECT_EQ(inventory.text.find("p@ss"), std::string::npos);
}

TEST(waldur_broker_url, wants_a_user_a_password_and_an_origin) {
  const auto good = parse_broker_url("http://guest:a%3Ab@localhost:15672/");
  ASSERT_TRUE(good);
  EXPECT_EQ(good->user, "guest");
  EXPECT_EQ(good->password, "a:b");
  EXPECT_EQ(good->origin.port, 15672);
  for (const char* bad :
       {"",
        "localhost:15672",
        "http://localhost:15672",
        "http://guest@localhost:15672",
        "http://:x@localhost",
        "ftp://a:b@h",
        "http://a:b@h/path"}) {
    const auto refused = parse_broker_url(bad);
    EXPECT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().message.find("a:b"), std::string::npos);
  }
}

} // namespace

} // namespace siteagent::waldur_emulator
