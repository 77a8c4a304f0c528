// SPDX-License-Identifier: MIT
// Imports, API keys, policies, forced synchronisation: what else an agent is asked for by messages.
#include "tests/unit/emulators/queues_fixture.hpp"

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

const std::string requests = "/api/backend-resource-requests/";
const std::string importables = "/api/backend-resources/";
const std::string keys = "/api/marketplace-resource-api-keys/";
const std::string policies = "/api/marketplace-slurm-periodic-usage-policies/";
const std::string the_resource = "e2ef0000000000000000000001000001";

class waldur_imports : public emulated_waldur_with_broker {};

TEST_F(waldur_imports, asks_for_importable_resources_and_follows_the_answer) {
  listen("importable_resources");
  const auto made = staff->post(requests, json::object({{"offering", offering_uuid}}));
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body["state"].string(), "Sent");
  const std::string uuid = made.body["uuid"].string_or("");
  EXPECT_EQ(told(1)[0]["backend_resource_request_uuid"].string(), uuid);
  const std::string path = requests + uuid + "/";
  EXPECT_EQ(agent->get(path).body["offering_uuid"].string(), offering_uuid);
  EXPECT_EQ(agent->post(path + "set_done/").status, 409);
  EXPECT_EQ(agent->post(path + "start_processing/").status, 200);
  EXPECT_EQ(agent->post(path + "start_processing/").status, 409);
  EXPECT_EQ(agent->post(path + "set_done/").status, 200);
  EXPECT_EQ(agent->post(path + "set_erred/", quoted(failure)).status, 409);
  EXPECT_EQ(agent->get(path).body["state"].string(), "Done");
  EXPECT_EQ(staff->post(requests, json::object({{"offering", project_uuid}})).status, 400);
  EXPECT_EQ(agent->get(path + "dance/").status, 404);
}

TEST_F(waldur_imports, keeps_why_an_import_failed) {
  seed("{'import_requests':[{'state':'Processing'}]}");
  const std::string path = requests + "e2ef0000000000000000000007000001/";
  EXPECT_EQ(agent->post(path + "set_erred/", quoted("{}")).status, 400);
  EXPECT_EQ(agent->post(path + "set_erred/", quoted(failure)).status, 200);
  EXPECT_EQ(agent->get(path).body["state"].string(), "Erred");
  EXPECT_EQ(agent->get(path).body["error_message"].string(), "no room");
}

TEST_F(waldur_imports, takes_each_importable_once_and_imports_it) {
  const json body = json::object(
      {{"name", "vm-9"},
       {"project", project_uuid},
       {"offering", offering_uuid},
       {"backend_id", "vm-9"},
       {"backend_metadata", quoted("{'limits':{'cpu':2}}")}}
  );
  const auto made = agent->post(importables, body);
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(agent->post(importables, body).status, 400);
  EXPECT_EQ(agent->post(importables, json::object({{"offering", offering_uuid}})).status, 400);
  const std::string query = "?backend_id=vm-9&project_uuid=" + project_uuid + "&offering_uuid=";
  EXPECT_EQ(agent->get(importables + query + offering_uuid).body.size(), 1U);
  EXPECT_EQ(agent->get(importables + query + project_uuid).body.size(), 0U);
  const std::string path = importables + made.body["uuid"].string_or("") + "/";
  const auto imported = staff->post(path + "import_resource/", json::object());
  ASSERT_EQ(imported.status, 201) << imported.text;
  EXPECT_EQ(imported.body["state"].string(), "OK");
  EXPECT_EQ(imported.body["backend_id"].string(), "vm-9");
  EXPECT_EQ(imported.body["limits"]["cpu"].integer(), 2);
  EXPECT_EQ(agent->get(path).status, 404);
}

TEST_F(waldur_imports, keeps_api_keys_and_never_shows_them) {
  seed("{'resources':[{'backend_id':'vm-1'}]}");
  listen("resource_api_key_rotation");
  const json body =
      json::object({{"resource", the_resource}, {"client_id", "c1"}, {"api_key", "very-secret-key"}}
      );
  const auto made = agent->post(keys + "report_created/", body);
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body["state"].string(), "OK");
  EXPECT_EQ(agent->post(keys + "report_created/", body).status, 400);
  EXPECT_EQ(resource(the_resource)["has_api_keys"].boolean(), true);
  const std::string path = keys + made.body["uuid"].string_or("") + "/";
  EXPECT_EQ(agent->post(path + "set_key/", quoted("{'api_key':'x'}")).status, 409);
  EXPECT_EQ(staff->post(path + "rotate/").status, 200);
  EXPECT_EQ(told(1)[0]["action"].string(), "rotate");
  EXPECT_EQ(told(1)[0]["resource_backend_id"].string(), "vm-1");
  EXPECT_EQ(
      agent->get(keys + "?resource_uuid=" + the_resource + "&state=Updating").body.size(), 1U
  );
  EXPECT_EQ(agent->get(keys + "?state=Dancing").status, 400);
  EXPECT_EQ(
      agent->get(keys + "?offering_uuid=" + offering_uuid + "&modified_before=2001-01-01T00:00:00Z")
          .body.size(),
      0U
  );
  EXPECT_EQ(agent->post(path + "set_key/", quoted("{}")).status, 400);
  EXPECT_EQ(agent->post(path + "set_key/", quoted("{'api_key':'other-secret'}")).status, 200);
  EXPECT_EQ(agent->post(path + "set_erred/", quoted("{'error_message':'no'}")).status, 200);
  EXPECT_EQ(agent->get(path).body["state"].string(), "Erred");
  const auto inventory = staff->get("/_emu/inventory").text;
  EXPECT_EQ(inventory.find("secret"), std::string::npos);
}

TEST_F(waldur_imports, records_how_periodic_settings_went) {
  seed("{'resources':[{'backend_id':'vm-1'}],'periodic_policies':1}");
  listen("resource_periodic_limits");
  const std::string path = policies + "e2ef0000000000000000000008000001/";
  const json order =
      json::object({{"resource_uuid", the_resource}, {"settings", quoted("{'limit':5}")}});
  EXPECT_EQ(staff->post(path + "evaluate/", order).status, 200);
  EXPECT_EQ(agent->post(path + "evaluate/", order).status, 403);
  const auto message = told(1)[0];
  EXPECT_EQ(message["action"].string(), "apply_periodic_settings");
  EXPECT_EQ(message["backend_id"].string(), "vm-1");
  EXPECT_EQ(message["settings"]["limit"].integer(), 5);
  const json result = json::object(
      {{"resource_uuid", the_resource}, {"success", false}, {"error_message", "unsupported"}}
  );
  EXPECT_EQ(agent->post(path + "report-command-result/", result).status, 200);
  EXPECT_EQ(agent->post(path + "report-command-result/", order).status, 400);
  EXPECT_EQ(agent->get(path).body["command_results"].size(), 1U);
}

TEST_F(waldur_imports, starts_with_the_usages_of_its_seed) {
  seed("{'resources':[{'backend_id':'vm-1'}],'component_usages':[{'usage':'2.5',"
       "'billing_period':'2026-01-01'}]}");
  const auto shown = agent->get(usages + "?resource_uuid=" + the_resource).body;
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0]["usage"].string(), "2.50");
  EXPECT_EQ(shown[0]["billing_period"].string(), "2026-01-01");
}

TEST_F(waldur_imports, forces_a_synchronisation_of_the_offering) {
  listen("offering_resources_sync");
  const std::string path =
      "/api/marketplace-provider-offerings/" + offering_uuid + "/sync_resources/";
  EXPECT_EQ(staff->post(path).status, 200);
  const auto message = told(1)[0];
  EXPECT_EQ(message["offering_uuid"].string(), offering_uuid);
  EXPECT_EQ(
      message["requested_by_user_uuid"].string(), staff->get("/api/users/me/").body["uuid"].string()
  );
}

} // namespace

} // namespace siteagent::waldur_emulator
