// SPDX-License-Identifier: MIT
// Who gets in, what lists look like, what the catalogue shows.
#include "tests/unit/emulators/waldur_fixture.hpp"

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

class waldur_access : public emulated_waldur {};

TEST_F(waldur_access, needs_a_known_token) {
  api_client stranger(frame->port());
  auto r = stranger.get("/api/users/me/");
  EXPECT_EQ(r.status, 401);
  EXPECT_EQ(r.headers.at("www-authenticate"), "Token");
  for (const std::string header : {"Token wrong", "Token ", "Basic YTpi", "Token"}) {
    stranger.authorize(header);
    EXPECT_EQ(stranger.get("/api/users/me/").status, 401) << header;
  }
  stranger.authorize("Bearer e2e0000000000000000000000000token001");
  EXPECT_EQ(stranger.get("/api/users/me/").status, 200);
}

TEST_F(waldur_access, shows_the_caller_without_his_token) {
  const auto r = agent->get("/api/users/me/");
  EXPECT_EQ(r.body["username"].string_or(""), "agent");
  EXPECT_EQ(r.body["is_staff"].boolean(), false);
  EXPECT_EQ(r.body["permissions"][0]["role_name"].string_or(""), "OFFERING.MANAGER");
  EXPECT_EQ(r.text.find("token001"), std::string::npos);
  EXPECT_EQ(agent->get("/api/users/me/?field=uuid").body.size(), 1U);
  EXPECT_EQ(staff->get("/api/users/").body.size(), 2U);
  EXPECT_EQ(agent->get("/api/users/").body.size(), 1U);
}

TEST_F(waldur_access, redirects_a_path_without_its_final_slash) {
  const auto r = agent->get("/api/users/me?field=uuid");
  EXPECT_EQ(r.status, 301);
  EXPECT_EQ(r.headers.at("location"), "/api/users/me/?field=uuid");
}

TEST_F(waldur_access, answers_unknown_paths_and_methods) {
  for (const std::string path : {"/", "/api/", "/api/nothing/", "/api/marketplace-orders/a/b/c/"}) {
    EXPECT_EQ(agent->get(path).status, 404) << path;
  }
  for (const std::string path :
       {"/api/marketplace-orders/",
        "/api/version/",
        "/api/users/me/",
        "/api/projects/",
        "/api/customers/",
        "/api/marketplace-plans/",
        "/api/marketplace-offering-users/",
        "/api/marketplace-service-providers/",
        "/api/marketplace-provider-offerings/",
        "/api/marketplace-provider-resources/",
        "/api/marketplace-component-usages/set_usage/"}) {
    EXPECT_EQ(agent->call("PUT", path, "{}").status, 405) << path;
  }
}

TEST_F(waldur_access, refuses_bodies_it_cannot_read) {
  const auto r = staff->call("POST", orders, "{");
  EXPECT_EQ(r.status, 400);
  EXPECT_NE(r.text.find("JSON parse error"), std::string::npos);
  net::test::raw_client c(frame->port());
  const auto form = c.send("POST /api/marketplace-orders/ HTTP/1.1\r\nHost: h\r\n"
                           "Authorization: Token e2e0000000000000000000000000token002\r\n"
                           "Content-Type: text/plain\r\nContent-Length: 1\r\n\r\nx")
                        .read();
  EXPECT_EQ(form.status, 415);
}

TEST_F(waldur_access, pages_by_ten_with_links_and_a_count) {
  seed("{'keys':25}");
  const std::string path =
      "/api/marketplace-service-providers/e2ef0000000000000000000000000102/keys/";
  const auto first = agent->get(path);
  EXPECT_EQ(first.body.size(), 10U);
  EXPECT_EQ(first.headers.at("x-result-count"), "25");
  const std::string& link = first.headers.at("link");
  EXPECT_NE(link.find(path + "?page=2>; rel=\"next\""), std::string::npos) << link;
  EXPECT_NE(link.find("?page=3>; rel=\"last\""), std::string::npos) << link;
  EXPECT_EQ(link.find("prev"), std::string::npos) << link;
  const auto last = agent->get(path + "?page=3&field=uuid&field=name");
  EXPECT_EQ(last.body.size(), 5U);
  EXPECT_EQ(last.body[4].size(), 2U);
  EXPECT_EQ(last.body[4]["uuid"].string_or(""), "e2ef0000000000000000000000000525");
  EXPECT_NE(last.headers.at("link").find("rel=\"prev\""), std::string::npos);
  EXPECT_EQ(last.headers.at("link").find("rel=\"next\""), std::string::npos);
  EXPECT_NE(last.headers.at("link").find("field=uuid&field=name&page=2"), std::string::npos);
}

struct page_case {
  const char* query;
  int status;
  std::size_t rows;
};

TEST_F(waldur_access, bounds_pages) {
  seed("{'keys':400}");
  const page_case cases[] = {
      {"page_size=100", 200, 100},
      {"page_size=1000", 200, 300},
      {"page_size=0", 200, 10},
      {"page_size=x", 200, 10},
      {"page=40", 200, 10},
      {"page=41", 404, 0},
      {"page=0", 404, 0},
      {"page=x", 404, 0},
      {"page_size=300&page=2", 200, 100}};
  for (const auto& c : cases) {
    const auto r = agent->get(
        std::string("/api/marketplace-service-providers/e2ef0000000000000000000000000102/keys/?") +
        c.query
    );
    EXPECT_EQ(r.status, c.status) << c.query;
    EXPECT_EQ(r.body.is_array() ? r.body.size() : 0, c.rows) << c.query;
  }
}

TEST_F(waldur_access, shows_an_empty_list_as_one_page) {
  for (const std::string& path :
       {"/api/marketplace-offering-users/?offering_uuid=" + offering_uuid,
        std::string("/api/component-user-usage-limits/"),
        std::string("/api/backend-resources/"),
        "/api/marketplace-provider-offerings/" + offering_uuid + "/list_course_accounts/"}) {
    const auto r = agent->get(path);
    EXPECT_EQ(r.status, 200) << path;
    EXPECT_TRUE(r.body.is_array() && r.body.size() == 0) << path;
    EXPECT_EQ(r.headers.at("x-result-count"), "0");
  }
}

TEST_F(waldur_access, accepts_both_forms_of_a_uuid_and_answers_hex) {
  const auto r = agent->get(
      "/api/marketplace-provider-offerings/e2ef0000-0000-0000-0000-000000000201/?field=uuid"
  );
  EXPECT_EQ(r.body["uuid"].string_or(""), offering_uuid);
  EXPECT_EQ(agent->get("/api/marketplace-provider-offerings/zz/").status, 404);
  EXPECT_EQ(agent->get(orders + "?offering_uuid=zz").status, 400);
}

TEST_F(waldur_access, shows_the_catalogue) {
  const auto o = agent->get("/api/marketplace-public-offerings/" + offering_uuid + "/");
  EXPECT_EQ(o.body["type"].string_or(""), "Marketplace.Slurm");
  EXPECT_EQ(o.body["plans"][0]["uuid"].string_or(""), plan_uuid);
  EXPECT_EQ(o.body["components"][0]["type"].string_or(""), "cpu");
  EXPECT_EQ(o.body["components"][0]["billing_type"].string_or(""), "limit");
  EXPECT_TRUE(o.body["components"][0].find("limit_amount")->is_null());
  EXPECT_EQ(o.body["customer_uuid"].string_or(""), "e2ef0000000000000000000000000101");
  EXPECT_EQ(
      agent->get("/api/marketplace-plans/" + plan_uuid + "/").body["offering_uuid"].string_or(""),
      offering_uuid
  );
  const auto sp = agent->get("/api/marketplace-service-providers/"
                             "?customer_uuid=e2ef0000000000000000000000000101&field=uuid");
  EXPECT_EQ(sp.body[0]["uuid"].string_or(""), "e2ef0000000000000000000000000102");
  EXPECT_EQ(agent->get("/api/projects/" + project_uuid + "/").status, 200);
  EXPECT_EQ(agent->get("/api/projects/?slug=project-1&field=uuid").body.size(), 1U);
  EXPECT_EQ(agent->get("/api/projects/?slug=other").body.size(), 0U);
  EXPECT_EQ(agent->get("/api/customers/e2ef0000000000000000000000000101/").status, 200);
  EXPECT_TRUE(agent->get("/api/version/").body["version"].is_string());
}

TEST_F(waldur_access, hides_what_belongs_to_others) {
  seed("{'users':[{'username':'agent','token':'e2e0000000000000000000000000token001'},"
       "{'username':'staff','is_staff':true,'token':'e2e0000000000000000000000000token002'}]}");
  const auto p = place();
  EXPECT_EQ(agent->get(orders).body.size(), 0U);
  EXPECT_EQ(agent->get(orders + p.order + "/").status, 404);
  EXPECT_EQ(agent->get(provider_resources + p.resource + "/").status, 404);
  EXPECT_EQ(agent->get("/api/marketplace-provider-offerings/" + offering_uuid + "/").status, 404);
  EXPECT_EQ(agent->get("/api/marketplace-public-offerings/" + offering_uuid + "/").status, 200);
  EXPECT_EQ(agent->get("/api/projects/" + project_uuid + "/").status, 404);
  EXPECT_EQ(agent->get("/api/customers/e2ef0000000000000000000000000101/").status, 404);
  EXPECT_EQ(
      agent->get("/api/marketplace-service-providers/e2ef0000000000000000000000000102/keys/")
          .status,
      403
  );
}

TEST_F(waldur_access, manages_components) {
  const std::string base = "/api/marketplace-provider-offerings/" + offering_uuid + "/";
  const auto made = agent->post(
      base + "create_offering_component/",
      quoted("{'type':'gpu','name':'GPU','billing_type':'usage','measured_unit':'h','limit_amount':"
             "null}")
  );
  EXPECT_EQ(made.status, 201) << made.text;
  const std::string uuid = made.body["uuid"].string_or("");
  const auto changed = agent->post(
      base + "update_offering_component/",
      quoted("{'uuid':'" + uuid + "','type':'gpu','name':'Cards','billing_type':'limit'}")
  );
  EXPECT_EQ(changed.status, 200);
  EXPECT_EQ(changed.body["name"].string_or(""), "Cards");
  EXPECT_EQ(changed.body["measured_unit"].string_or(""), "h");
  EXPECT_EQ(agent->get(base).body["components"].size(), 4U);
  for (const char* bad :
       {"{'type':'cpu','name':'x','billing_type':'limit'}",
        "{'type':'z','name':'x','billing_type':'gift'}",
        "{'type':'z','name':'x','billing_type':'limit','limit_period':'week'}",
        "{'name':'x','billing_type':'limit'}"}) {
    EXPECT_EQ(agent->post(base + "create_offering_component/", quoted(bad)).status, 400) << bad;
  }
  EXPECT_EQ(agent->post(base + "update_offering_component/", quoted("{'uuid':'1'}")).status, 400);
  const json which = json::object({{"uuid", uuid}});
  EXPECT_EQ(agent->post(base + "remove_offering_component/", which).status, 204);
  EXPECT_EQ(agent->post(base + "remove_offering_component/", which).status, 400);
  EXPECT_EQ(agent->get(base).body["components"].size(), 3U);
}

TEST_F(waldur_access, may_trim_the_permissions_of_a_user) {
  EXPECT_NE(agent->get("/api/users/me/").body.find("permissions"), nullptr);
  seed("{'users':[{'username':'agent','token':'t','shows_permissions':false}]}");
  agent->authorize("Token t");
  EXPECT_EQ(agent->get("/api/users/me/").body.find("permissions"), nullptr);
}

TEST_F(waldur_access, tells_whether_a_backend_id_is_taken) {
  create("vm-1");
  const std::string path =
      "/api/marketplace-provider-offerings/" + offering_uuid + "/check_unique_backend_id/";
  const auto unique = [&](const char* body) {
    return agent->post(path, quoted(body)).body["is_unique"].boolean();
  };
  EXPECT_EQ(unique("{'backend_id':'vm-1'}"), false);
  EXPECT_EQ(unique("{'backend_id':'vm-2','check_all_offerings':true}"), true);
  EXPECT_EQ(agent->post(path, quoted("{}")).status, 400);
}

} // namespace

} // namespace siteagent::waldur_emulator
