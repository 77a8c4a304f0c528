// SPDX-License-Identifier: MIT
// Event queues, orders of one resource, imports, policies: what is sent and what counts as an
// answer.
#include "fake_transport.hpp"

#include <gmock/gmock.h>

namespace siteagent::waldur {

namespace {

using base::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string root = "https://waldur.example.com/api/";
const std::string identity = "000000000000000000000000000000a1";
const std::string identity_list = R"([{"uuid":")" + identity + R"("}])";
const agent_build build{"2.0.0", "2026-11-01T00:00:00Z", {}};

TEST_F(waldur_client, registers_the_event_queue_of_a_known_identity_without_telling_it_more) {
  http->expect(answer(200, identity_list));
  http->expect(answer(
      200,
      R"({"rmq_username":"reader","queue_name":"consumer_1","vhost":"v","observable_object_types":["order"]})"
  ));
  const auto queue = waldur().register_queue(offering_id, build, {"order", "resource"});
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->login, "reader");
  EXPECT_EQ(queue->queue, "consumer_1");
  EXPECT_EQ(queue->virtual_host, "v");
  EXPECT_THAT(queue->object_types, ElementsAre("order"));
  EXPECT_EQ(
      request(1).url, root + "marketplace-site-agent-identities/" + identity + "/register_queue/"
  );
  EXPECT_EQ(request(1).body, R"({"object_types":["order","resource"]})");
  // The build is told by whoever registers the service.
  http->expect(answer(200, identity_list));
  http->expect(answer(200, "{}"));
  http->expect(answer(200, R"({"uuid":"000000000000000000000000000000b1"})"));
  EXPECT_TRUE(waldur().register_service(offering_id, build, "event_process", "event_process"));
  EXPECT_EQ(request(3).method, "PUT");
}

TEST_F(waldur_client, makes_the_identity_for_the_event_queue_where_there_is_none) {
  http->expect(answer(200, "[]"));
  http->expect(answer(200, "[]"));
  http->expect(answer(201, R"({"uuid":")" + identity + R"("})"));
  http->expect(answer(201, R"({"rmq_username":"r","queue_name":"q","vhost":"v"})"));
  EXPECT_TRUE(waldur().register_queue(offering_id, build, {"order"}));
  EXPECT_EQ(request(2).method, "POST");
}

TEST_F(waldur_client, an_event_queue_without_login_name_or_host_is_no_answer) {
  for (const char* body :
       {R"({"queue_name":"q","vhost":"v"})",
        R"({"rmq_username":"r","vhost":"v"})",
        R"({"rmq_username":"r","queue_name":"q"})",
        "[]",
        ""}) {
    http = std::make_shared<fake_transport>();
    client c(options, http);
    http->expect(answer(200, identity_list));
    http->expect(answer(200, body));
    const auto queue = c.register_queue(offering_id, build, {});
    ASSERT_FALSE(queue) << body;
    EXPECT_EQ(queue.error().code, base::error_code::transient) << body;
  }
}

TEST_F(waldur_client, tells_how_the_registration_of_a_queue_was_refused) {
  for (const int status : {400, 409, 405, 403}) {
    http = std::make_shared<fake_transport>();
    client c(options, http);
    http->expect(answer(200, identity_list));
    http->expect(answer(status, R"({"detail":"no"})"));
    const auto queue = c.register_queue(offering_id, build, {"order"});
    ASSERT_FALSE(queue);
    EXPECT_EQ(queue.error().http_status, status);
  }
}

TEST_F(waldur_client, a_server_without_unified_queues_is_told_from_a_deleted_identity) {
  http->expect(answer(200, identity_list));
  http->expect(answer(404));
  http->expect(answer(200, identity_list));
  http->expect(answer(404));
  const auto queue = waldur().register_queue(offering_id, build, {"order"});
  ASSERT_FALSE(queue);
  EXPECT_EQ(queue.error().http_status, 404);
}

TEST_F(waldur_client, registers_a_queue_per_type_on_older_servers) {
  const std::string subscription = "000000000000000000000000000000c1";
  const std::string user = "000000000000000000000000000000d1";
  http->expect(answer(200, identity_list));
  http->expect(answer(201, R"({"uuid":")" + subscription + R"(","user_uuid":")" + user + R"("})"));
  http->expect(answer(201, "{}"));
  const auto queue = waldur().register_legacy_queue(offering_id, build, "order");
  ASSERT_TRUE(queue);
  EXPECT_EQ(queue->login, subscription);
  EXPECT_EQ(queue->virtual_host, user);
  EXPECT_EQ(
      queue->queue, "subscription_" + subscription + "_offering_" + offering_id.hex() + "_order"
  );
  EXPECT_THAT(request(1).url, HasSubstr("/register_event_subscription/"));
  EXPECT_THAT(request(1).body, HasSubstr(R"("observable_object_type":"order")"));
  EXPECT_EQ(request(2).url, root + "event-subscriptions/" + subscription + "/create_queue/");
  EXPECT_EQ(
      request(2).body, R"({"offering_uuid":")" + offering_id.hex() + R"(","object_type":"order"})"
  );
}

TEST_F(waldur_client, lists_the_open_orders_of_one_resource_oldest_first) {
  const auto row = [](const std::string& id, const std::string& resource, const char* created) {
    return R"({"uuid":")" + id + R"(","type":"Create","state":"executing",)" +
           R"("marketplace_resource_uuid":")" + resource + R"(","created":")" + created + R"("})";
  };
  const std::string other = "000000000000000000000000000000ff";
  http->expect(answer(
      200,
      "[" + row(order_id.hex(), resource_id.hex(), "2026-11-02T00:00:00Z") + "," +
          row("00000000000000000000000000000001", other, "2026-11-01T00:00:00Z") + "," +
          row("00000000000000000000000000000002", resource_id.hex(), "2026-11-01T00:00:00Z") + "]"
  ));
  const auto orders = waldur().list_orders_of(offering_id, resource_id);
  ASSERT_TRUE(orders);
  ASSERT_EQ(orders->size(), 2U) << "a server that ignores the filter sends every order";
  EXPECT_EQ(orders->back().uuid, order_id);
  EXPECT_THAT(request(0).url, HasSubstr("resource_uuid=" + resource_id.hex()));
  EXPECT_THAT(request(0).url, HasSubstr("state=pending-provider&state=executing"));
}

struct write_case {
  std::function<base::result<void>(client&)> call;
  int success;
  std::string path;
  std::string body;
};

TEST_F(waldur_client, answers_imports_and_policies) {
  const std::string r = resource_id.hex();
  const std::vector<write_case> cases = {
      {[](client& c) { return c.start_import(resource_id); },
       200,
       "backend-resource-requests/" + r + "/start_processing/",
       ""},
      {[](client& c) { return c.finish_import(resource_id); },
       200,
       "backend-resource-requests/" + r + "/set_done/",
       ""},
      {[](client& c) { return c.fail_import(resource_id, "why"); },
       200,
       "backend-resource-requests/" + r + "/set_erred/",
       R"({"error_message":"why","error_traceback":""})"},
      {[](client& c) {
         return c.submit_importable(
             offering_id, order_id, "/vm/1", json::object({{"limits", json::object()}})
         );
       },
       201,
       "backend-resources/",
       R"({"name":"/vm/1","project":")" + order_id.hex() + R"(","offering":")" + offering_id.hex() +
           R"(","backend_id":"/vm/1","backend_metadata":{"limits":{}}})"},
      {[](client& c) { return c.report_policy_result(order_id, resource_id, false, "no"); },
       200,
       "marketplace-slurm-periodic-usage-policies/" + order_id.hex() + "/report-command-result/",
       R"({"resource_uuid":")" + r + R"(","success":false,"error_message":"no"})"},
  };
  for (const write_case& c : cases) {
    http->expect(answer(c.success, "{}"));
    EXPECT_TRUE(c.call(waldur())) << c.path;
    const net::request& sent = http->requests.back();
    EXPECT_EQ(sent.method, "POST");
    EXPECT_EQ(sent.url, root + c.path);
    EXPECT_EQ(sent.body, c.body);
    http->expect(answer(c.success == 200 ? 202 : 200, "{}"));
    EXPECT_FALSE(c.call(waldur())) << c.path << ": only the documented code is success";
  }
}

TEST_F(waldur_client, finds_projects_by_slug_and_importables_by_id) {
  http->expect(answer(
      200,
      R"([{"uuid":"000000000000000000000000000000e1","slug":"other"},)"
      R"({"uuid":"000000000000000000000000000000e2","slug":"mine"}])"
  ));
  const auto project = waldur().find_project("mine");
  ASSERT_TRUE(project);
  ASSERT_TRUE(*project);
  EXPECT_EQ((*project)->hex(), "000000000000000000000000000000e2");
  http->expect(answer(200, "[]"));
  const auto none = waldur().find_project("mine");
  ASSERT_TRUE(none);
  EXPECT_FALSE(*none);
  http->expect(answer(200, R"([{"uuid":"000000000000000000000000000000e3"}])"));
  const auto known = waldur().is_importable_known(offering_id, order_id, "/vm/1");
  ASSERT_TRUE(known);
  EXPECT_TRUE(*known);
  http->expect(answer(200, R"({"state":"Sent"})"));
  EXPECT_EQ(waldur().get_import_request(resource_id).value_or(""), "Sent");
}

TEST_F(waldur_client, the_sign_of_life_reads_one_order_at_most) {
  http->expect(answer(200, "[]"));
  EXPECT_TRUE(waldur().ping_offering(offering_id));
  EXPECT_THAT(request(0).url, HasSubstr("offering_uuid=" + offering_id.hex()));
  EXPECT_THAT(request(0).url, HasSubstr("page_size=1"));
}

} // namespace

} // namespace siteagent::waldur
