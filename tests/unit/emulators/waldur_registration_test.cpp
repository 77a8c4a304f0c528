// SPDX-License-Identifier: MIT
// Identities, services, processors and logs of agents.
#include "tests/unit/emulators/waldur_fixture.hpp"

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

const std::string identities = "/api/marketplace-site-agent-identities/";
const std::string services = "/api/marketplace-site-agent-services/";

class waldur_registration : public emulated_waldur {
protected:
  json identity_body(const std::string& version) const {
    return quoted(
        "{'offering':'" + offering_uuid + "','name':'agent-" + offering_uuid + "','version':'" +
        version +
        "','last_restarted':'2026-01-01T00:00:00Z','dependencies':[{'package':'null','version':'1'}"
        "],"
        "'config_file_path':'','config_file_content':''}"
    );
  }

  std::string make_identity() {
    return agent->post(identities, identity_body("2.0.0")).body["uuid"].string_or("");
  }
};

TEST_F(waldur_registration, keeps_one_identity_by_name) {
  const std::string by_name = identities + "?name=agent-" + offering_uuid;
  EXPECT_EQ(agent->get(by_name).body.size(), 0U);
  const auto made = agent->post(identities, identity_body("2.0.0"));
  EXPECT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(agent->get(by_name).body.size(), 1U);
  EXPECT_EQ(agent->get(identities + "?name=agent").body.size(), 0U);
  EXPECT_EQ(agent->post(identities, identity_body("2.0.0")).status, 400);
  const std::string path = identities + made.body["uuid"].string_or("") + "/";
  EXPECT_EQ(agent->call("PUT", path, identity_body("2.0.1").dump()).status, 200);
  EXPECT_EQ(agent->get(path).body["version"].string(), "2.0.1");
  EXPECT_EQ(agent->get(path).body["dependencies"][0]["package"].string(), "null");
}

TEST_F(waldur_registration, refuses_identities_of_nothing) {
  EXPECT_EQ(agent->post(identities, quoted("{'name':'x'}")).status, 400);
  EXPECT_EQ(
      agent->post(identities, quoted("{'offering':'" + project_uuid + "','name':'x'}")).status, 400
  );
  EXPECT_EQ(agent->post(identities, quoted("{'offering':'" + offering_uuid + "'}")).status, 400);
}

TEST_F(waldur_registration, registers_services_and_processors_by_name) {
  const std::string uuid = make_identity();
  const std::string register_service = identities + uuid + "/register_service/";
  const json body = quoted("{'name':'order_process','mode':'order_process'}");
  const auto first = agent->post(register_service, body);
  EXPECT_EQ(first.status, 201);
  const auto second = agent->post(register_service, body);
  EXPECT_EQ(second.status, 200);
  EXPECT_EQ(first.body["uuid"].string(), second.body["uuid"].string());
  EXPECT_EQ(second.body["state"].string(), "Active");

  const std::string path = services + first.body["uuid"].string_or("");
  const json processor =
      quoted("{'name':'OfferingOrderProcessor','backend_type':'null','backend_version':'1'}");
  EXPECT_EQ(agent->post(path + "/register_processor/", processor).status, 201);
  EXPECT_EQ(agent->post(path + "/register_processor/", processor).status, 200);
  EXPECT_EQ(agent->post(path + "/set_statistics/", quoted("{'statistics':{'n':1}}")).status, 200);
  EXPECT_EQ(agent->post(path + "/set_statistics/", quoted("{}")).status, 400);
  const auto shown = agent->get(identities + uuid + "/").body;
  EXPECT_EQ(shown["services"][0]["processors"].size(), 1U);
  EXPECT_EQ(shown["services"][0]["statistics"]["n"].integer(), 1);
  EXPECT_EQ(agent->get(services).body.size(), 1U);
}

TEST_F(waldur_registration, refuses_incomplete_registrations) {
  const std::string uuid = make_identity();
  EXPECT_EQ(
      agent->post(identities + uuid + "/register_service/", quoted("{'name':'x'}")).status, 400
  );
  EXPECT_EQ(
      agent->post(identities + uuid + "/register_service/", quoted("{'mode':'x'}")).status, 400
  );
  const auto s =
      agent->post(identities + uuid + "/register_service/", quoted("{'name':'x','mode':'x'}"));
  const std::string path = services + s.body["uuid"].string_or("");
  EXPECT_EQ(agent->post(path + "/register_processor/", quoted("{}")).status, 400);
  EXPECT_EQ(
      agent
          ->post(
              path + "/register_processor/",
              quoted("{'name':'x','backend_type':'" + std::string(101, 'x') + "'}")
          )
          .status,
      400
  );
  EXPECT_EQ(agent->post(path + "/dance/").status, 404);
  EXPECT_EQ(agent->get(path + "/register_processor/").status, 405);
}

TEST_F(waldur_registration, has_no_message_broker) {
  const std::string uuid = make_identity();
  EXPECT_EQ(
      agent->post(identities + uuid + "/register_queue/", quoted("{'object_types':[]}")).status, 424
  );
  EXPECT_EQ(
      agent
          ->post(
              identities + uuid + "/register_event_subscription/",
              quoted("{'observable_object_type':'order'}")
          )
          .status,
      424
  );
}

TEST_F(waldur_registration, forgets_what_is_deleted) {
  const std::string uuid = make_identity();
  const auto s =
      agent->post(identities + uuid + "/register_service/", quoted("{'name':'x','mode':'x'}"));
  agent->post(identities + uuid + "/register_service/", quoted("{'name':'y','mode':'y'}"));
  const std::string path = services + s.body["uuid"].string_or("") + "/";
  EXPECT_EQ(agent->call("DELETE", path).status, 204);
  EXPECT_EQ(agent->get(path).status, 404);
  EXPECT_EQ(agent->call("DELETE", identities + uuid + "/").status, 204);
  EXPECT_EQ(agent->get(identities + uuid + "/").status, 404);
  EXPECT_EQ(agent->get(services).body.size(), 0U);
}

TEST_F(waldur_registration, takes_logs_by_the_hundred) {
  const json record = json::object(
      {{"agent_identity_uuid", make_identity()},
       {"timestamp", json::number("1767225600.25")},
       {"level", "WARNING"},
       {"message", "m"},
       {"module", "agent"}}
  );
  std::vector<json> records(100, record);
  const std::string path = "/api/marketplace-site-agent-logs/";
  EXPECT_EQ(agent->post(path, json::array(records)).status, 201);
  records.push_back(record);
  EXPECT_EQ(agent->post(path, json::array(records)).status, 400);
  EXPECT_EQ(agent->post(path, json::object()).status, 400);
  EXPECT_EQ(staff->get("/_emu/inventory").body["logs"].size(), 100U);
  for (const auto& [key, value] :
       {std::pair<const char*, json>{"level", "LOUD"},
        {"timestamp", "yesterday"},
        {"message", nullptr},
        {"agent_identity_uuid", offering_uuid}}) {
    json bad = record;
    bad.set(key, value);
    EXPECT_EQ(agent->post(path, json::array({record, bad})).status, 400) << key;
  }
  EXPECT_EQ(staff->get("/_emu/inventory").body["logs"].size(), 100U);
  seed("{'log_shipping':false}");
  EXPECT_EQ(agent->post(path, json::array({record})).status, 404);
}

TEST_F(waldur_registration, calls_a_service_idle_whose_processors_rest_for_ten_minutes) {
  const std::string uuid = make_identity();
  const auto s =
      agent->post(identities + uuid + "/register_service/", quoted("{'name':'x','mode':'x'}"));
  const std::string path = services + s.body["uuid"].string_or("") + "/";
  const json processor = quoted("{'name':'p','backend_type':'null','backend_version':'1'}");
  const auto pass = [&](int seconds) {
    staff->post("/_emu/clock", json::object({{"advance_s", seconds}}));
    return agent->get(path).body["state"].string_or("");
  };
  EXPECT_EQ(agent->post(path + "register_processor/", processor).status, 201);
  EXPECT_EQ(pass(590), "Active");
  EXPECT_EQ(agent->post(path + "register_processor/", processor).status, 200);
  EXPECT_EQ(pass(590), "Active");
  EXPECT_EQ(pass(61), "Idle");
  EXPECT_EQ(agent->post(path + "register_processor/", processor).status, 200);
  EXPECT_EQ(agent->get(path).body["state"].string(), "Active");
  const auto processors = agent->get("/api/marketplace-site-agent-processors/").body;
  ASSERT_EQ(processors.size(), 1U);
  EXPECT_EQ(
      agent
          ->get(
              "/api/marketplace-site-agent-processors/" + processors[0]["uuid"].string_or("") + "/"
          )
          .status,
      200
  );
}

} // namespace

} // namespace siteagent::waldur_emulator
