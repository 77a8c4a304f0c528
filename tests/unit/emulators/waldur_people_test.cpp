// SPDX-License-Identifier: MIT
// Members of projects, their accounts with an offering, and the accounts of projects.
#include "tests/unit/emulators/queues_fixture.hpp"

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

const std::string users_path = "/api/marketplace-offering-users/";
const std::string offering_path = "/api/marketplace-provider-offerings/" + offering_uuid + "/";
const std::string ann = "e2ef00000000000000000000000000a1";
const std::string bob = "e2ef00000000000000000000000000b0";
const std::string the_resource = "e2ef0000000000000000000001000001";
const std::string the_account = "e2ef0000000000000000000004000001";

// Two members and a machine; `options` are the offering's, `more` further keys.
std::string world(const std::string& options, const std::string& more = "") {
  return "{'offerings':[{'plugin_options':" + options +
         "}],'users':["
         "{'username':'agent','token':'e2e0000000000000000000000000token001',"
         "'permissions':[{'role':'OFFERING.MANAGER','scope':'offering','scope_uuid':'" +
         offering_uuid +
         "'}]},{'username':'staff','is_staff':true,"
         "'token':'e2e0000000000000000000000000token002'},"
         "{'uuid':'" +
         ann +
         "','username':'ann','full_name':'Ann "
         "Lee','attributes':{'organization':'Org','phone_number':"
         "'1'},'token':'ann','permissions':[{'role':'PROJECT.ADMIN','scope':'project','scope_uuid':"
         "'" +
         project_uuid + "'}]},{'uuid':'" + bob +
         "','username':'bob','consents':[],'permissions':[{'role':'PROJECT.MEMBER','scope':"
         "'project','scope_uuid':'" +
         project_uuid + "'}]}],'resources':[{'backend_id':'vm-1'}]" + more + "}";
}

const std::string provider_makes_users =
    "{'service_provider_can_create_offering_user':true,'username_generation_policy':"
    "'service_provider'}";

class waldur_people : public emulated_waldur_with_broker {
protected:
  int act_on(
      const std::string& account, const std::string& action, const std::string& body = "{}"
  ) {
    return agent->post(users_path + account + "/" + action + "/", quoted(body)).status;
  }

  json account(const std::string& uuid) { return agent->get(users_path + uuid + "/").body; }

  int role(const std::string& call, const std::string& user, const std::string& name) {
    return staff
        ->post(
            "/api/projects/" + project_uuid + "/" + call + "/",
            json::object({{"user", user}, {"role", name}})
        )
        .status;
  }
};

TEST_F(waldur_people, shows_the_team_with_accounts_and_consent) {
  seed(world("{}", ",'offering_users':[{'user':'" + ann + "','username':'ann1'}]"));
  const std::string team = provider_resources + the_resource + "/team/";
  const auto all = agent->get(team);
  ASSERT_EQ(all.body.size(), 2U) << all.text;
  EXPECT_EQ(all.headers.at("x-result-count"), "2");
  EXPECT_EQ(all.body[0]["uuid"].string(), ann);
  EXPECT_EQ(all.body[0]["role"].string(), "PROJECT.ADMIN");
  EXPECT_EQ(all.body[0]["offering_user_username"].string(), "ann1");
  EXPECT_EQ(all.body[0]["offering_user_state"].string(), "OK");
  EXPECT_TRUE(all.body[1]["offering_user_username"].is_null());
  const auto consenting = agent->get(team + "?has_consent=true").body;
  ASSERT_EQ(consenting.size(), 1U);
  EXPECT_EQ(consenting[0]["username"].string(), "ann");
  EXPECT_EQ(agent->get(team + "?page_size=1").body.size(), 1U);
}

TEST_F(waldur_people, lists_accounts_by_offering_user_state_and_restriction) {
  seed(world(
      "{}",
      ",'offering_users':[{'username':'a'},{'state':'Creating'},{'user':'" + ann +
          "','username':'c','is_restricted':true}]"
  ));
  const auto size = [this](const std::string& query) {
    return agent->get(users_path + query).body.size();
  };
  EXPECT_EQ(size("?offering_uuid=" + offering_uuid), 3U);
  EXPECT_EQ(size("?offering_uuid=" + project_uuid), 0U);
  EXPECT_EQ(size("?is_restricted=false"), 2U);
  EXPECT_EQ(size("?user_uuid=" + ann), 2U);
  EXPECT_EQ(size("?state=Creating&state=OK"), 3U);
  EXPECT_EQ(size("?state=Requested"), 0U);
  EXPECT_EQ(agent->get(users_path + "?state=Dancing").status, 400);
  EXPECT_EQ(agent->get(users_path + "?offering_uuid=x").status, 400);
}

TEST_F(waldur_people, shows_of_a_user_what_the_offering_exposes) {
  seed(world("{}", ",'offering_users':[{'user':'" + ann + "'}]"));
  EXPECT_EQ(account(the_account)["user_email"].string(), "ann@example.com");
  EXPECT_EQ(account(the_account)["user_uuid"].string(), ann);
  EXPECT_EQ(account(the_account).find("user_organization"), nullptr);
  const auto config = agent->get(offering_path + "user-attribute-config/").body;
  EXPECT_EQ(config["exposed_fields"].size(), 3U);
  seed("{'offerings':[{'exposed_fields':['username','organization']}]}");
  EXPECT_EQ(account(the_account)["user_organization"].string(), "Org");
  EXPECT_EQ(account(the_account).find("user_email"), nullptr);
  const auto sparse = agent->get(users_path + "?field=uuid&field=user_organization").body;
  EXPECT_EQ(sparse[0].size(), 2U);
}

struct move {
  std::string action;
  std::string from; // states, separated by "|"
  std::string to;
};

class waldur_offering_user_states : public waldur_people,
                                    public testing::WithParamInterface<move> {};

TEST_P(waldur_offering_user_states, moves_only_from_the_states_it_may) {
  const std::vector<std::string> all{
      "Requested",
      "Creating",
      "Pending account linking",
      "Pending additional validation",
      "OK",
      "Requested deletion",
      "Deleting",
      "Deleted",
      "Error creating",
      "Error deleting"};
  const move& m = GetParam();
  for (const auto& state : all) {
    seed(world("{}", ",'offering_users':[{'user':'" + ann + "','state':'" + state + "'}]"));
    const bool may = ("|" + m.from + "|").find("|" + state + "|") != std::string::npos;
    EXPECT_EQ(act_on(the_account, m.action), may ? 200 : 409) << m.action << " from " << state;
    EXPECT_EQ(account(the_account)["state"].string(), may ? m.to : state);
  }
}

INSTANTIATE_TEST_SUITE_P(
    table,
    waldur_offering_user_states,
    testing::Values(
        move{"begin_creating", "Requested|Error creating", "Creating"},
        move{
            "set_pending_account_linking",
            "Creating|Error creating|Pending additional validation",
            "Pending account linking"},
        move{
            "set_pending_additional_validation",
            "Creating|Error creating|Pending account linking",
            "Pending additional validation"},
        move{
            "set_validation_complete",
            "Pending account linking|Pending additional validation",
            "OK"},
        move{
            "set_error_creating",
            "Requested|Creating|Pending account linking|Pending additional validation",
            "Error creating"},
        move{
            "request_deletion",
            "OK|Creating|Pending account linking|Pending additional validation|Error creating",
            "Requested deletion"},
        move{"set_deleting", "Requested deletion|Error deleting", "Deleting"},
        move{"set_deleted", "Requested|Deleting", "Deleted"},
        move{"set_error_deleting", "Requested deletion|Deleting", "Error deleting"},
        move{
            "set_ok",
            "Requested|Creating|Pending account linking|Pending additional validation|Error "
            "creating|Error deleting|Requested deletion|Deleting",
            "OK"}
    ),
    [](const auto& which) { return which.param.action; }
);

TEST_F(waldur_people, lets_users_see_their_own_account_and_change_none) {
  seed(world("{}", ",'offering_users':[{'user':'" + ann + "'},{'user':'" + bob + "'}]"));
  api_client hers(frame->port());
  hers.authorize("Token ann");
  const std::string path = users_path + the_account + "/";
  EXPECT_EQ(hers.get(users_path).body.size(), 1U);
  EXPECT_EQ(hers.get(path).status, 200);
  EXPECT_EQ(hers.get(users_path + "e2ef0000000000000000000004000002/").status, 404);
  EXPECT_EQ(hers.post(path + "begin_creating/").status, 403);
  EXPECT_EQ(hers.call("PATCH", path, R"({"username":"me"})").status, 403);
  EXPECT_EQ(hers.call("DELETE", path).status, 403);
  EXPECT_EQ(hers.get(path + "begin_creating/").status, 405);
  EXPECT_EQ(hers.get("/api/backend-resource-requests/").body.size(), 0U);
  EXPECT_EQ(
      hers.post(
              "/api/backend-resource-requests/", json::object({{"offering", offering_uuid}})
      ).status,
      403
  );
  EXPECT_EQ(hers.get("/api/marketplace-resource-api-keys/").body.size(), 0U);
  EXPECT_EQ(hers.post(provider_resources + the_resource + "/sync_user_roles/").status, 404);
  EXPECT_EQ(hers.post(offering_path + "sync_resources/").status, 404);
}

TEST_F(waldur_people, makes_an_account_ok_when_it_gets_a_name) {
  seed(world("{}", ",'offering_users':[{'user':'" + ann + "','state':'Creating'}]"));
  listen("offering_user");
  const std::string path = users_path + the_account + "/";
  EXPECT_EQ(agent->call("PATCH", path, R"({"username":"ann1"})").status, 200);
  EXPECT_EQ(account(the_account)["state"].string(), "OK");
  EXPECT_EQ(account(the_account)["username"].string(), "ann1");
  EXPECT_EQ(agent->call("PATCH", path, R"({"username":"ann1"})").status, 200); // tells nothing
  EXPECT_EQ(agent->call("PATCH", path, R"({"username":7})").status, 400);
  EXPECT_EQ(
      agent->call("PATCH", path, R"({"username":")" + std::string(101, 'x') + "\"}").status, 400
  );
  EXPECT_EQ(act_on(the_account, "request_deletion"), 200);
  EXPECT_EQ(agent->call("PATCH", path, R"({"username":"ann2"})").status, 200);
  EXPECT_EQ(account(the_account)["state"].string(), "Requested deletion");
  const auto all = told(3);
  EXPECT_EQ(all[0]["action"].string(), "username_set");
  EXPECT_EQ(all[0]["username"].string(), "ann1");
  EXPECT_EQ(all[0]["resource_backend_ids"][0].string(), "vm-1");
  EXPECT_EQ(all[1]["action"].string(), "update");
  EXPECT_EQ(all[1]["state"].string(), "Requested deletion");
  EXPECT_EQ(all[1]["changed_fields"][0].string(), "state");
}

TEST_F(waldur_people, keeps_the_comment_of_a_pending_account) {
  seed(world("{}", ",'offering_users':[{'user':'" + ann + "','state':'Creating'}]"));
  EXPECT_EQ(act_on(the_account, "set_pending_account_linking", "{'comment_url':'no'}"), 400);
  EXPECT_EQ(
      act_on(
          the_account,
          "set_pending_account_linking",
          "{'comment':'link it','comment_url':'https://example.com/link'}"
      ),
      200
  );
  EXPECT_EQ(account(the_account)["service_provider_comment"].string(), "link it");
  EXPECT_EQ(act_on(the_account, "set_validation_complete"), 200);
  EXPECT_EQ(account(the_account)["service_provider_comment"].string(), "");
  EXPECT_EQ(act_on(the_account, "update_restricted", "{'is_restricted':true}"), 200);
  EXPECT_EQ(act_on(the_account, "update_restricted"), 400);
  EXPECT_EQ(act_on(the_account, "dance"), 404);
}

TEST_F(waldur_people, makes_accounts_for_the_members_of_a_new_machine) {
  seed(world(provider_makes_users));
  listen("offering_user");
  create("vm-2");
  const auto all = agent->get(users_path + "?offering_uuid=" + offering_uuid).body;
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["state"].string(), "Requested");
  EXPECT_EQ(told(2)[0]["action"].string(), "create");
}

TEST_F(waldur_people, names_accounts_by_the_policy_of_the_offering) {
  const std::string may = "{'service_provider_can_create_offering_user':true,";
  const std::pair<const char*, const char*> policies[] = {
      {"waldur_username", "ann"}, {"full_name", "ann_lee"}, {"anonymized", "walduruser_00000"}};
  for (const auto& [policy, name] : policies) {
    seed(world(may + "'username_generation_policy':'" + policy + "'}", ",'offering_users':[]"));
    create();
    const auto all = agent->get(users_path + "?user_uuid=" + ann).body;
    ASSERT_EQ(all.size(), 1U) << policy;
    EXPECT_EQ(all[0]["username"].string(), name);
    EXPECT_EQ(all[0]["state"].string(), "OK");
  }
}

TEST_F(waldur_people, tells_of_roles_given_and_taken) {
  seed(world(provider_makes_users, ",'offering_users':[{'user':'" + bob + "','username':'b'}]"));
  listen("user_role");
  EXPECT_EQ(role("delete_user", bob, "PROJECT.MEMBER"), 200);
  EXPECT_EQ(role("delete_user", bob, "PROJECT.MEMBER"), 400);
  EXPECT_EQ(account(the_account)["state"].string(), "Requested deletion");
  EXPECT_EQ(role("add_user", bob, "PROJECT.MANAGER"), 201);
  EXPECT_EQ(role("add_user", bob, "PROJECT.MANAGER"), 400);
  EXPECT_EQ(role("add_user", bob, "OFFERING.MANAGER"), 400);
  EXPECT_EQ(role("add_user", project_uuid, "PROJECT.MANAGER"), 400);
  const auto all = told(2);
  EXPECT_EQ(all[0]["user_uuid"].string(), bob);
  EXPECT_EQ(all[0]["user_username"].string(), "bob");
  EXPECT_EQ(all[0]["project_uuid"].string(), project_uuid);
  EXPECT_EQ(all[0]["role_name"].string(), "PROJECT.MEMBER");
  EXPECT_EQ(all[0]["granted"].boolean(), false);
  EXPECT_EQ(all[1]["granted"].boolean(), true);
  EXPECT_EQ(all[1]["user_email"].string(), "bob@example.com");
  EXPECT_EQ(
      agent->post("/api/projects/" + project_uuid + "/add_user/", json::object()).status, 403
  );
}

TEST_F(waldur_people, asks_for_a_new_look_at_members_of_a_project_or_a_machine) {
  seed(world("{}"));
  listen("user_role");
  EXPECT_EQ(staff->post("/api/projects/" + project_uuid + "/sync_user_roles/").status, 200);
  EXPECT_EQ(agent->post(provider_resources + the_resource + "/sync_user_roles/").status, 200);
  const auto all = told(2);
  EXPECT_EQ(all[0].find("resource_uuid"), nullptr);
  EXPECT_EQ(all[0].find("user_uuid"), nullptr);
  EXPECT_EQ(all[1]["resource_uuid"].string(), the_resource);
}

TEST_F(waldur_people, takes_the_right_to_hear_with_the_role_in_the_offering) {
  seed(world("{}"));
  listen("resource");
  const json change = json::object(
      {{"user", agent->get("/api/users/me/").body["uuid"]}, {"role", "OFFERING.MANAGER"}}
  );
  EXPECT_EQ(staff->post(offering_path + "delete_user/", change).status, 200);
  EXPECT_EQ(agent->get(offering_path).status, 404);
  EXPECT_EQ(staff->post(offering_path + "add_user/", change).status, 201);
  EXPECT_EQ(agent->get(offering_path).status, 200);
}

TEST_F(waldur_people, tells_of_a_changed_profile_what_the_offering_may_know) {
  seed(world("{}", ",'offering_users':[{'user':'" + ann + "','username':'ann1'}]"));
  listen("offering_user");
  const std::string path = "/api/users/" + ann + "/";
  EXPECT_EQ(staff->call("PATCH", path, R"({"phone_number":"2"})").status, 200); // not exposed
  EXPECT_EQ(staff->call("PATCH", path, R"({"email":"new@example.com"})").status, 200);
  EXPECT_EQ(agent->call("PATCH", path, "{}").status, 404);
  const auto all = told(1);
  EXPECT_EQ(all[0]["action"].string(), "attribute_update");
  EXPECT_EQ(all[0]["changed_attributes"][0].string(), "email");
  EXPECT_EQ(all[0]["attributes"]["email"].string(), "new@example.com");
  EXPECT_EQ(staff->get(path).body["phone_number"].string(), "2");
}

TEST_F(waldur_people, creates_and_removes_accounts_by_hand) {
  seed(world("{}"));
  const json body = json::object(
      {{"offering", "http://h/api/marketplace-provider-offerings/" + offering_uuid + "/"},
       {"user", "http://h/api/users/" + ann + "/"},
       {"username", "ann1"}}
  );
  const auto made = agent->post(users_path, body);
  ASSERT_EQ(made.status, 201) << made.text;
  EXPECT_EQ(made.body["state"].string(), "OK");
  EXPECT_EQ(agent->post(users_path, body).status, 400);
  EXPECT_EQ(agent->post(users_path, json::object({{"offering", offering_uuid}})).status, 400);
  const std::string path = users_path + made.body["uuid"].string_or("") + "/";
  EXPECT_EQ(agent->call("DELETE", path).status, 204);
  EXPECT_EQ(agent->get(path).status, 404);
}

TEST_F(waldur_people, keeps_what_the_agent_says_about_members) {
  const std::string path = provider_resources + the_resource + "/set_membership_sync_statuses/";
  seed(world("{}"));
  EXPECT_EQ(agent->post(path, quoted("{'statuses':[]}")).status, 409);
  seed(world("{'enable_membership_sync_status':true}"));
  const auto stored = agent->post(
      path,
      quoted("{'statuses':[{'username':'ann','scope_type':'resource','role_name':'PROJECT.ADMIN',"
             "'state':'synced'},{'username':'nobody','state':'error'}]}")
  );
  EXPECT_EQ(stored.status, 200) << stored.text;
  EXPECT_EQ(stored.body["stored"].integer(), 1);
  EXPECT_EQ(stored.body["skipped"].size(), 1U);
  EXPECT_EQ(
      agent->post(path, quoted("{'statuses':[{'username':'ann','state':'fine'}]}")).status, 400
  );
  EXPECT_EQ(agent->post(path, quoted("{}")).status, 400);
  const auto inventory = staff->get("/_emu/inventory").body;
  EXPECT_EQ(inventory["member_statuses"][the_resource].size(), 1U);
}

TEST_F(waldur_people, closes_the_accounts_of_projects_and_tells_it) {
  seed(world("{}", ",'service_accounts':1,'course_accounts':[{'username':'c','state':'Closed'}]"));
  listen("service_account");
  const std::string list = offering_path + "list_project_service_accounts/";
  const auto shown = agent->get(list).body;
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0]["username"].string(), "svc-1");
  EXPECT_EQ(shown[0]["project_uuid"].string(), project_uuid);
  EXPECT_EQ(
      agent->get(offering_path + "list_course_accounts/").body[0]["state"].string(), "Closed"
  );
  const std::string accounts = "/api/marketplace-project-service-accounts/";
  const auto made = staff->post(
      accounts, json::object({{"project", project_uuid}, {"username", "robot"}, {"email", "a@b"}})
  );
  ASSERT_EQ(made.status, 201) << made.text;
  const std::string path = accounts + made.body["uuid"].string_or("") + "/";
  EXPECT_EQ(staff->call("DELETE", path).status, 204);
  EXPECT_EQ(staff->call("DELETE", path).status, 409);
  EXPECT_EQ(agent->call("DELETE", path).status, 403);
  EXPECT_EQ(agent->get(list).body[1]["state"].string(), "Closed");
  const auto all = told(2);
  EXPECT_EQ(all[0]["action"].string(), "create");
  EXPECT_EQ(all[0]["account_username"].string(), "robot");
  EXPECT_EQ(all[0]["scope_type"].string(), "project");
  EXPECT_EQ(all[1]["action"].string(), "delete");
  EXPECT_EQ(staff->post("/api/marketplace-course-accounts/", json::object()).status, 400);
}

TEST_F(waldur_people, has_limits_of_single_users) {
  seed(world("{}", ",'offering_users':[{'user':'" + ann + "'}],'user_limits':[{'limit':'2.50'}]"));
  const std::string path = "/api/component-user-usage-limits/";
  const auto shown = agent->get(path + "?resource_uuid=" + the_resource).body;
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0]["component_type"].string(), "cpu");
  EXPECT_EQ(shown[0]["limit"].string(), "2.50");
  EXPECT_TRUE(
      shown[0]["user"].string_or("").ends_with("/marketplace-offering-users/" + the_account + "/")
  );
  EXPECT_EQ(agent->get(path + "?resource_uuid=" + project_uuid).body.size(), 0U);
  const json more = json::object(
      {{"resource", the_resource}, {"user", the_account}, {"component_type", "ram"}, {"limit", "4"}}
  );
  EXPECT_EQ(staff->post(path, more).status, 201);
  EXPECT_EQ(agent->post(path, more).status, 403);
  EXPECT_EQ(agent->get(path + "?offering_uuid=" + offering_uuid).body.size(), 2U);
}

TEST_F(waldur_people, renames_moves_and_unlinks_a_machine) {
  seed(world("{}", ",'projects':2"));
  const std::string path = provider_resources + the_resource + "/";
  EXPECT_EQ(staff->call("PATCH", path, R"({"name":"other"})").body["name"].string(), "other");
  EXPECT_EQ(agent->call("PATCH", path, R"({"name":"mine"})").status, 403);
  const json there =
      quoted("{'project':{'url':'http://h/api/projects/e2ef0000000000000000000000000302/'}}");
  EXPECT_EQ(staff->post(path + "move_resource/", there).status, 200);
  EXPECT_EQ(staff->post(path + "move_resource/", quoted("{}")).status, 400);
  EXPECT_EQ(agent->post(path + "unlink/").status, 403);
  EXPECT_EQ(resource(the_resource)["project_uuid"].string(), "e2ef0000000000000000000000000302");
  EXPECT_EQ(staff->post(path + "unlink/").status, 204);
  EXPECT_EQ(agent->get(path).status, 404);
}

TEST_F(waldur_people, shuts_members_out_of_a_machine_when_staff_says_so) {
  seed(world("{}"));
  listen("resource");
  const std::string path = provider_resources + the_resource + "/set_restrict_member_access/";
  const json on = json::object({{"restrict_member_access", true}});
  EXPECT_EQ(staff->post(path, on).status, 200);
  EXPECT_EQ(agent->post(path, on).status, 403);
  EXPECT_EQ(told(1)[0]["restrict_member_access"].boolean(), true);
}

} // namespace

} // namespace siteagent::waldur_emulator
