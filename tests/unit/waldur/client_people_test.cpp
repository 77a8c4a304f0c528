// SPDX-License-Identifier: MIT
// Calls about people: method, path, body, and what comes back (contract 2.8, R10, R11, G6).
#include "tests/unit/waldur/fake_transport.hpp"

#include <gmock/gmock.h>

namespace siteagent::waldur {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string root = "https://waldur.example.com/api/";
const std::string user_path = root + "marketplace-offering-users/5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061/";
const base::uuid& user_id = order_id; // any

using people_client = waldur_client;

TEST_F(people_client, u1_lists_users_that_are_not_restricted_with_the_exposed_attributes) {
  http->expect(answer(200, R"([{
      "uuid":"5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061","user_uuid":"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
      "username":" alice ","state":"Odd state","user_full_name":"Alice","user_email":null}])"));
  const auto users =
      waldur().list_offering_users(offering_id, {"Requested"}, {"full_name", "email"});
  ASSERT_TRUE(users);
  ASSERT_THAT(*users, SizeIs(1));
  EXPECT_EQ(users->at(0).username, "alice");
  EXPECT_EQ(users->at(0).state, "Odd state") << "unknown states are kept";
  EXPECT_EQ(users->at(0).user, resource_id);
  EXPECT_EQ(users->at(0).attributes.dump(), R"({"full_name":"Alice"})");
  for (const char* part :
       {"offering_uuid=e2ef0000000000000000000000000201",
        "is_restricted=false",
        "state=Requested",
        "field=user_full_name",
        "field=user_email"}) {
    EXPECT_THAT(request(0).url, HasSubstr(part));
  }
}

TEST_F(people_client, u1_finds_the_accounts_of_one_user) {
  http->expect(answer(200, "[]"));
  EXPECT_THAT(*waldur().find_offering_users(offering_id, user_id), IsEmpty());
  EXPECT_THAT(request(0).url, HasSubstr("user_uuid=5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061"));
}

TEST_F(people_client, one_row_that_cannot_be_read_does_not_hide_the_others) {
  http->expect(answer(
      200,
      R"([{"uuid":"nonsense"},{"uuid":"5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061","username":null,"state":null}])"
  ));
  const auto users = waldur().list_offering_users(offering_id, {}, {});
  ASSERT_THAT(*users, SizeIs(1));
  EXPECT_EQ(users->at(0).username, "");
}

TEST_F(people_client, u2_to_u7_change_the_state_of_a_user) {
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(waldur().change_offering_user(user_id, "begin_creating", nullptr));
  EXPECT_EQ(request(0).method, "POST");
  EXPECT_EQ(request(0).url, user_path + "begin_creating/");
  const base::json body = base::json::object({{"comment", "c"}, {"comment_url", "https://x"}});
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(waldur().change_offering_user(user_id, "set_pending_account_linking", &body));
  EXPECT_EQ(request(1).body, R"({"comment":"c","comment_url":"https://x"})");
  http->expect(answer(409, R"({"detail":"Valid states"})"));
  EXPECT_EQ(
      waldur().change_offering_user(user_id, "set_deleted", nullptr).error().http_status, 409
  );
}

TEST_F(people_client, u3_sets_a_username) {
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(waldur().set_offering_username(user_id, "alice"));
  EXPECT_EQ(request(0).method, "PATCH");
  EXPECT_EQ(request(0).url, user_path);
  EXPECT_EQ(request(0).body, R"({"username":"alice"})");
}

TEST_F(people_client, u8_reads_the_names_of_exposed_attributes) {
  http->expect(answer(200, R"({"exposed_fields":["username",7,"email"]})"));
  EXPECT_THAT(*waldur().list_user_attributes(offering_id), ElementsAre("username", "email"));
  EXPECT_THAT(request(0).url, EndsWith("/user-attribute-config/"));
}

TEST_F(people_client, u10_lists_accounts_of_either_kind) {
  const std::string rows =
      R"([{"username":"robot","state":"OK","project_uuid":"0a1b2c3d4e5f60718293a4b5c6d7e8f9"},
          {"username":"other","state":"Closed","project_uuid":null}])";
  http->expect(answer(200, rows));
  const auto services = waldur().list_accounts(offering_id, account_kind::service);
  ASSERT_THAT(*services, SizeIs(2));
  EXPECT_EQ(services->at(0).project, resource_id);
  EXPECT_EQ(services->at(1).project, std::nullopt);
  EXPECT_THAT(request(0).url, HasSubstr("/list_project_service_accounts/"));
  http->expect(answer(200, "[]"));
  EXPECT_TRUE(waldur().list_accounts(offering_id, account_kind::course));
  EXPECT_THAT(request(1).url, HasSubstr("/list_course_accounts/"));
}

TEST_F(people_client, r10_reads_the_team_and_only_asks_for_consent_where_it_matters) {
  http->expect(answer(200, R"([{
      "uuid":"5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061","username":"login","role":"PROJECT.ADMIN",
      "offering_user_username":null,"offering_user_state":null}])"));
  const auto team = waldur().list_team(resource_id, false);
  ASSERT_THAT(*team, SizeIs(1));
  EXPECT_EQ(team->at(0).login, "login");
  EXPECT_EQ(team->at(0).username, "");
  EXPECT_THAT(request(0).url, Not(HasSubstr("has_consent")));
  http->expect(answer(200, "[]"));
  EXPECT_TRUE(waldur().list_team(resource_id, true));
  EXPECT_THAT(request(1).url, HasSubstr("has_consent=true"));
}

TEST_F(people_client, g6_reads_the_limits_of_users_by_their_links) {
  http->expect(answer(200, R"([
      {"resource":"https://x/api/marketplace-provider-resources/0a1b2c3d4e5f60718293a4b5c6d7e8f9/",
       "user":"https://x/api/marketplace-offering-users/5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061/",
       "component_type":"cpu","limit":"10.50"},
      {"resource":"odd","user":"odd","component_type":"cpu","limit":"1"}])"));
  const auto limits = waldur().list_user_limits(offering_id);
  ASSERT_THAT(*limits, SizeIs(1));
  EXPECT_EQ(limits->at(0).resource, resource_id);
  EXPECT_EQ(limits->at(0).offering_user, user_id);
  EXPECT_EQ(limits->at(0).limit, "10.50");
}

TEST_F(people_client, r11_reports_the_members_of_a_resource) {
  http->expect(answer(200, R"({"stored":2,"skipped":[]})"));
  EXPECT_TRUE(waldur().set_membership_statuses(
      resource_id,
      {{"alice", "PROJECT.MEMBER", "synced", ""}, {"bob", "PROJECT.MEMBER", "error", "no"}}
  ));
  EXPECT_EQ(
      request(0).body,
      R"({"statuses":[{"username":"alice","scope_type":"resource","role_name":"PROJECT.MEMBER",)"
      R"("state":"synced"},{"username":"bob","scope_type":"resource",)"
      R"("role_name":"PROJECT.MEMBER","state":"error","message":"no"}]})"
  );
}

TEST_F(people_client, r1_lists_the_resources_of_one_project) {
  http->expect(answer(200, "[]"));
  EXPECT_TRUE(waldur().list_resources(offering_id, {"OK"}, resource_id));
  EXPECT_THAT(request(0).url, HasSubstr("project_uuid=0a1b2c3d4e5f60718293a4b5c6d7e8f9"));
  EXPECT_THAT(request(0).url, HasSubstr("field=last_sync"));
  EXPECT_THAT(request(0).url, HasSubstr("field=restrict_member_access"));
}

} // namespace
} // namespace siteagent::waldur
