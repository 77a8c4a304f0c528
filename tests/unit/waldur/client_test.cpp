// SPDX-License-Identifier: MIT
// One test per call: method, path, body, success status, and what comes back.
#include "tests/unit/waldur/fake_transport.hpp"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace siteagent::waldur {
namespace {

using base::error_code;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

const std::string root = "https://waldur.example.com/api/";
const std::string order_path = root + "marketplace-orders/5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061/";
const std::string resource_path =
    root + "marketplace-provider-resources/0a1b2c3d4e5f60718293a4b5c6d7e8f9/";

std::string order_row(const std::string& uuid, const std::string& created) {
  return R"({"uuid":")" + uuid + R"(","type":"Create","state":"executing","created":)" + created +
         "}";
}

struct write_case {
  std::string name;
  std::function<base::result<void>(client&)> call;
  std::string url;
  std::string body;
  int success;
};

std::vector<write_case> write_cases() {
  return {
      {"approve",
       [](client& c) { return c.approve_by_provider(order_id); },
       order_path + "approve_by_provider/",
       "{}",
       200},
      {"reject",
       [](client& c) { return c.reject_by_provider(order_id, "No key."); },
       order_path + "reject_by_provider/",
       R"({"provider_rejection_comment":"No key."})",
       200},
      {"reject_silently",
       [](client& c) { return c.reject_by_provider(order_id, ""); },
       order_path + "reject_by_provider/",
       "{}",
       200},
      {"done",
       [](client& c) { return c.set_state_done(order_id); },
       order_path + "set_state_done/",
       "",
       200},
      {"erred",
       [](client& c) { return c.set_state_erred(order_id, "It \"broke\""); },
       order_path + "set_state_erred/",
       R"({"error_message":"It \"broke\"","error_traceback":""})",
       200},
      {"backend_id",
       [](client& c) { return c.set_backend_id(resource_id, "/vm/1"); },
       resource_path + "set_backend_id/",
       R"({"backend_id":"/vm/1"})",
       200},
      {"metadata",
       [](client& c) {
         return c.set_backend_metadata(resource_id, base::json::object({{"power", "running"}}));
       },
       resource_path + "set_backend_metadata/",
       R"({"backend_metadata":{"power":"running"}})",
       200},
      {"limits",
       [](client& c) {
         return c.set_limits(resource_id, {{"cpu", "2"}, {"ram", "0.5"}});
       },
       resource_path + "set_limits/",
       R"({"limits":{"cpu":2,"ram":0.5}})",
       200},
      {"endpoints",
       [](client& c) {
         return c.set_endpoints(resource_id, {{"ssh", "ssh://azureuser@192.0.2.1"}});
       },
       resource_path + "set_endpoints/",
       R"({"endpoints":[{"name":"ssh","url":"ssh://azureuser@192.0.2.1"}]})",
       200},
      {"resource_erred",
       [](client& c) { return c.set_as_erred(resource_id, "gone"); },
       resource_path + "set_as_erred/",
       R"({"error_message":"gone","error_traceback":""})",
       200},
      {"resource_ok",
       [](client& c) { return c.set_as_ok(resource_id); },
       resource_path + "set_as_ok/",
       "",
       200},
      {"refresh",
       [](client& c) { return c.refresh_last_sync(resource_id); },
       resource_path + "refresh_last_sync/",
       "",
       200},
      {"usage",
       [](client& c) {
         return c.set_usage(resource_id, "2026-11-01T00:00:00+01:00", {{"cpu", "12.50"}});
       },
       root + "marketplace-component-usages/set_usage/",
       R"({"resource":"0a1b2c3d4e5f60718293a4b5c6d7e8f9","date":"2026-11-01T00:00:00+01:00","usages":[{"type":"cpu","amount":"12.50"}]})",
       201},
  };
}

TEST_F(waldur_client, posts_every_write_as_documented) {
  for (const write_case& w : write_cases()) {
    http->expect(answer(w.success, R"({"status":"ok"})"));
    const auto done = w.call(waldur());
    EXPECT_TRUE(done.has_value()) << w.name;
    EXPECT_EQ(http->requests.back().method, "POST") << w.name;
    EXPECT_EQ(http->requests.back().url, w.url) << w.name;
    EXPECT_EQ(http->requests.back().body, w.body) << w.name;
    http->expect(answer(w.success == 200 ? 201 : 200, "{}"));
    EXPECT_EQ(w.call(waldur()).error().code, error_code::outcome_unknown) << w.name;
    http->expect(answer(409, R"({"detail":"Wrong state."})"));
    EXPECT_EQ(w.call(waldur()).error().code, error_code::conflict) << w.name;
  }
}

TEST_F(waldur_client, refuses_to_send_limits_that_are_no_numbers) {
  const auto done = waldur().set_limits(resource_id, {{"cpu", "two"}});
  ASSERT_FALSE(done.has_value());
  EXPECT_EQ(done.error().code, error_code::invalid);
  EXPECT_THAT(done.error().message, HasSubstr("the limit of cpu is no number"));
}

TEST_F(waldur_client, lists_open_orders_oldest_first) {
  http->expect(answer(
      200,
      "[" + order_row("00000000000000000000000000000001", "null") + "," +
          order_row("00000000000000000000000000000002", "\"2026-11-02T10:00:00Z\"") + "," +
          order_row("00000000000000000000000000000003", "\"2026-11-02T10:30:00+01:00\"") + "," +
          order_row("00000000000000000000000000000004", "\"garbage\"") + "]"
  ));
  const auto orders = waldur().list_orders(offering_id);
  ASSERT_TRUE(orders.has_value());
  std::vector<std::string> ends;
  for (const order& o : *orders) {
    ends.push_back(o.uuid.hex().substr(31));
  }
  EXPECT_THAT(ends, ElementsAre("3", "2", "1", "4"));
  EXPECT_EQ(
      request(0).url,
      root + "marketplace-orders/?offering_uuid=e2ef0000000000000000000000000201"
             "&state=pending-provider&state=executing&page_size=100"
  );
  EXPECT_EQ(warnings.size(), 1U) << "the unreadable time";
}

TEST_F(waldur_client, leaves_out_one_bad_order_and_keeps_the_others) {
  http->expect(answer(
      200,
      "[" + order_row("00000000000000000000000000000001", "null") +
          R"(,{"uuid":"00000000000000000000000000000002","type":"Create"},)" +
          order_row("00000000000000000000000000000003", "null") + "]"
  ));
  EXPECT_EQ(waldur().list_orders(offering_id)->size(), 2U);
  EXPECT_THAT(
      warnings,
      ElementsAre(HasSubstr(
          "the row 00000000000000000000000000000002 was left out: field 'state' is missing"
      ))
  );
}

TEST_F(waldur_client, gets_one_order_and_names_it_in_errors) {
  http->expect(answer(200, order_row(order_id.hex(), "null")));
  EXPECT_EQ(waldur().get_order(order_id)->uuid, order_id);
  EXPECT_EQ(request(0).url, order_path);
  http->expect(answer(200, R"({"uuid":"5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061"})"));
  EXPECT_EQ(
      waldur().get_order(order_id).error().message,
      "waldur: get order " + order_id.hex() + ": field 'type' is missing"
  );
  http->expect(answer(200, "{}"));
  EXPECT_FALSE(waldur().get_order_state(order_id).has_value()) << "no state is not an empty state";
}

TEST_F(waldur_client, tolerates_a_trimmed_users_me) {
  http->expect(answer(200, R"({"uuid":"x","permissions":[{"scope_type":"offering"}]})"));
  EXPECT_EQ((*waldur().users_me())["uuid"].string(), "x");
  EXPECT_EQ(request(0).url, root + "users/me/");
  http->expect(answer(200, "[]"));
  EXPECT_FALSE(waldur().users_me().has_value());
}

TEST_F(waldur_client, gets_the_offering_with_the_fields_it_needs) {
  http->expect(answer(200, R"({"components":[{"type":"cpu"}]})"));
  EXPECT_EQ(waldur().get_offering(offering_id)->components.size(), 1U);
  EXPECT_EQ(
      request(0).url,
      root + "marketplace-provider-offerings/e2ef0000000000000000000000000201/"
             "?field=components&field=customer_uuid&field=name&field=options&field=partitions"
             "&field=plugin_options&field=state&field=type"
  );
}

TEST_F(waldur_client, gets_a_plan) {
  http->expect(answer(200, R"({"name":"Basic","quotas":{"cpu":1}})"));
  EXPECT_EQ(waldur().get_plan(offering_id)->name, "Basic");
  EXPECT_EQ(request(0).url, root + "marketplace-plans/e2ef0000000000000000000000000201/");
}

TEST_F(waldur_client, lists_the_providers_keys_by_hex_uuid_over_all_pages) {
  http->expect(answer(200, R"([{"uuid":"e2ef0000000000000000000000000102"}])"));
  http->expect(answer(
      200,
      R"([{"uuid":"E2EF0000-0000-0000-0000-000000000501","name":"k","public_key":"ssh-ed25519 A"},{"uuid":"e2ef0000000000000000000000000502"}])",
      {{"link", "<https://x/?page=2>; rel=\"next\""}}
  ));
  http->expect(
      answer(200, R"([{"uuid":"e2ef0000000000000000000000000503","public_key":"ssh-rsa B"}])")
  );
  const auto keys = waldur().list_ssh_keys(offering_id);
  ASSERT_TRUE(keys.has_value());
  EXPECT_THAT(
      *keys,
      ElementsAre(
          Pair("e2ef0000000000000000000000000501", "ssh-ed25519 A"),
          Pair("e2ef0000000000000000000000000503", "ssh-rsa B")
      )
  );
  EXPECT_EQ(
      request(0).url,
      root + "marketplace-service-providers/"
             "?customer_uuid=e2ef0000000000000000000000000201&field=uuid&page_size=100"
  );
  EXPECT_EQ(
      request(1).url,
      root + "marketplace-service-providers/e2ef0000000000000000000000000102/keys/?page_size=100"
  );
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("field 'public_key' is missing")));
}

TEST_F(waldur_client, has_no_keys_when_the_customer_is_no_service_provider) {
  http->expect(answer(200, "[]"));
  EXPECT_THAT(*waldur().list_ssh_keys(offering_id), IsEmpty());
  http->expect(answer(403));
  EXPECT_EQ(waldur().list_ssh_keys(offering_id).error().code, error_code::forbidden)
      << "unreadable is not none";
}

TEST_F(waldur_client, lists_resources_with_every_field_that_decides_something) {
  http->expect(answer(200, R"([{"uuid":"0a1b2c3d4e5f60718293a4b5c6d7e8f9","backend_id":"x"}])"));
  EXPECT_EQ(waldur().list_resources(offering_id, {"OK", "Erred"})->size(), 1U);
  EXPECT_THAT(
      request(0).url,
      testing::StartsWith(
          root + "marketplace-provider-resources/"
                 "?offering_uuid=e2ef0000000000000000000000000201&state=OK&state=Erred&field=uuid&"
                 "field=backend_id&"
      )
  );
  for (const std::string field :
       {"slug",
        "state",
        "project_slug",
        "customer_slug",
        "limits",
        "plan_uuid",
        "paused",
        "downscaled",
        "attributes",
        "backend_metadata"}) {
    EXPECT_THAT(request(0).url, HasSubstr("&field=" + field + "&"));
  }
}

TEST_F(waldur_client, gets_one_resource) {
  http->expect(answer(
      200, R"({"uuid":"0a1b2c3d4e5f60718293a4b5c6d7e8f9","backend_id":null,"state":"Creating"})"
  ));
  const auto r = waldur().get_resource(resource_id);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->backend_id, "");
  EXPECT_EQ(request(0).url, resource_path);
}

// Registration

base::result<void> registered(client& c) {
  const auto service = c.register_service(
      offering_id,
      {"2.0.0", "2026-11-01T00:00:00Z", {{"null", "2.0.1"}}},
      "order_process",
      "order_process"
  );
  if (!service) {
    return service.error();
  }
  return c.register_processor(*service, "OfferingOrderProcessor", std::string(150, 'b'), "2.0.1");
}

const std::string identity_body = R"({"uuid":"000000000000000000000000000000a1"})";
const std::string service_body = R"({"uuid":"000000000000000000000000000000b1"})";

TEST_F(waldur_client, registers_identity_service_and_processor) {
  http->expect(answer(200, "[]"));
  http->expect(answer(200, "[]"));
  http->expect(answer(201, identity_body));
  http->expect(answer(201, service_body));
  http->expect(answer(201, "{}"));
  ASSERT_TRUE(registered(waldur()).has_value());
  EXPECT_EQ(
      request(0).url,
      root + "marketplace-site-agent-identities/"
             "?name=agent-e2ef0000000000000000000000000201&page_size=100"
  );
  EXPECT_EQ(
      request(1).url,
      root + "marketplace-site-agent-identities/"
             "?name=agent-e2ef0000-0000-0000-0000-000000000201&page_size=100"
  );
  EXPECT_EQ(
      request(2).body,
      R"({"offering":"e2ef0000000000000000000000000201","name":"agent-e2ef0000000000000000000000000201","version":"2.0.0","last_restarted":"2026-11-01T00:00:00Z","dependencies":[{"package":"null","version":"2.0.1"}],"config_file_path":"","config_file_content":""})"
  );
  EXPECT_EQ(
      request(3).url,
      root + "marketplace-site-agent-identities/000000000000000000000000000000a1/register_service/"
  );
  EXPECT_EQ(request(3).body, R"({"name":"order_process","mode":"order_process"})");
  EXPECT_EQ(
      request(4).url,
      root + "marketplace-site-agent-services/000000000000000000000000000000b1/register_processor/"
  );
  EXPECT_EQ(
      request(4).body,
      R"({"name":"OfferingOrderProcessor","backend_type":")" + std::string(100, 'b') +
          R"(","backend_version":"2.0.1"})"
  );
}

TEST_F(waldur_client, updates_a_known_identity_once_per_process) {
  http->expect(answer(200, "[]"));
  http->expect(answer(200, "[" + identity_body + "]"));
  http->expect(answer(200, identity_body));
  http->expect(answer(200, service_body));
  http->expect(answer(200, "{}"));
  ASSERT_TRUE(registered(waldur()).has_value());
  EXPECT_EQ(request(2).method, "PUT");
  EXPECT_THAT(request(2).body, HasSubstr(R"("name":"agent-e2ef0000-0000-0000-0000-000000000201")"));
  http->expect(answer(200, service_body));
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(registered(waldur()).has_value());
  EXPECT_EQ(http->requests.size(), 7U) << "only service and processor the second time";
}

TEST_F(waldur_client, looks_the_identity_up_again_after_it_was_deleted) {
  http->expect(answer(200, "[" + identity_body + "]"));
  http->expect(answer(200, identity_body));
  http->expect(answer(404));
  http->expect(answer(200, "[" + identity_body + "]"));
  http->expect(answer(200, identity_body));
  http->expect(answer(200, service_body));
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(registered(waldur()).has_value());
}

TEST_F(waldur_client, takes_the_identity_that_another_agent_made_meanwhile) {
  http->expect(answer(200, "[]"));
  http->expect(answer(200, "[]"));
  http->expect(answer(409, R"({"name":["exists"]})"));
  http->expect(answer(200, "[" + identity_body + "]"));
  http->expect(answer(200, identity_body));
  http->expect(answer(200, service_body));
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(registered(waldur()).has_value());
}

TEST_F(waldur_client, sets_the_statistics_of_a_service) {
  http->expect(answer(200, "{}"));
  ASSERT_TRUE(waldur().set_statistics(resource_id, base::json::object({{"queue_depth", 3}})));
  EXPECT_EQ(
      request(0).url,
      root + "marketplace-site-agent-services/" + resource_id.hex() + "/set_statistics/"
  );
  EXPECT_EQ(request(0).body, R"({"statistics":{"queue_depth":3}})");
}

TEST_F(waldur_client, reports_registration_answers_without_a_uuid) {
  http->expect(answer(200, "[]"));
  http->expect(answer(200, "[]"));
  http->expect(answer(201, "{}"));
  EXPECT_THAT(registered(waldur()).error().message, HasSubstr("field 'uuid' is missing"));
}

TEST_F(waldur_client, fetches_one_access_token_for_many_threads) {
  use_oidc();
  std::atomic<int> tokens = 0;
  http->handler = [&](const net::request& r) -> fake_transport::reply {
    if (r.method == "POST") {
      ++tokens;
      return answer(200, R"({"access_token":"shared","expires_in":300})");
    }
    return answer(200, R"({"state":"done"})");
  };
  client& c = waldur();
  std::atomic<int> succeeded = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] { succeeded += c.get_order_state(order_id).has_value() ? 1 : 0; });
    }
  }
  EXPECT_EQ(succeeded, 8);
  EXPECT_EQ(tokens, 1);
}

} // namespace
} // namespace siteagent::waldur
