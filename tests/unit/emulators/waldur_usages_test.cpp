// SPDX-License-Identifier: MIT
// Usage: what is booked, what is refused, and in which month.
#include "tests/unit/emulators/waldur_fixture.hpp"

namespace siteagent::waldur_emulator {

namespace {

using namespace test;

class waldur_usages : public emulated_waldur {
protected:
  void SetUp() override {
    emulated_waldur::SetUp();
    seed(
        "{'components':[{'type':'cpu','billing_type':'limit','name':'CPU'},"
        "{'type':'hours','billing_type':'usage','limit_amount':100,'limit_period':'month'},"
        "{'type':'fee','billing_type':'fixed'},{'type':'setup','billing_type':'one'},"
        "{'type':'pack','billing_type':'one','is_prepaid':true}],"
        "'resources':[{'uuid':'" +
        machine + "'}]}"
    );
  }

  reply report(
      const std::string& items, const std::string& date = "", const std::string& resource = machine
  ) {
    return agent->post(
        usages + "set_usage/",
        quoted(
            "{'resource':'" + resource + "'," + (date.empty() ? "" : "'date':'" + date + "',") +
            "'usages':[" + items + "]}"
        )
    );
  }

  json booked(const std::string& query = "") {
    return agent->get(usages + "?resource_uuid=" + machine + query).body;
  }

  static std::string first_of(base::month m) { return base::time_zone().start_text(m); }

  static base::month now() { return base::time_zone().month_of(base::real_clock().wall()); }

  inline static const std::string machine = "e2ef0000000000000000000001000001";
};

TEST_F(waldur_usages, are_booked_for_the_month_and_overwritten) {
  EXPECT_EQ(
      report("{'type':'cpu','amount':'2.00'},{'type':'hours','amount':'12.5'}", first_of(now()))
          .status,
      201
  );
  EXPECT_EQ(report("{'type':'cpu','amount':'3.00'}", first_of(now())).status, 201);
  const auto rows = booked(
      "&billing_period=" + first_of(now()).substr(0, 10) + "&field=uuid&field=type&field=usage"
  );
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["usage"].string(), "3.00");
  EXPECT_EQ(rows[1]["usage"].string(), "12.50");
  EXPECT_EQ(rows[0].size(), 3U);
  EXPECT_EQ(resource(machine)["current_usages"], quoted("{'cpu':'3.00'}"));
  EXPECT_EQ(booked("&type=hours").size(), 1U);
  EXPECT_EQ(booked("&billing_period=2001-01-01").size(), 0U);
  EXPECT_EQ(agent->get(usages + "?resource_uuid=x").status, 400);
}

TEST_F(waldur_usages, without_a_date_are_booked_now) {
  EXPECT_EQ(report("{'type':'hours','amount':1}").status, 201);
  EXPECT_EQ(booked()[0]["billing_period"].string(), first_of(now()).substr(0, 10));
}

struct refused {
  const char* items;
  const char* words;
};

TEST_F(waldur_usages, are_refused_as_a_whole) {
  const refused cases[] = {
      {"{'type':'cpu','amount':'1.00'},{'type':'hours','amount':'1.001'}",
       "no more than 2 decimal places"},
      {"{'type':'cpu','amount':'1.000'}", "no more than 2 decimal places"},
      {"{'type':'cpu','amount':'abc'}", "valid number"},
      {"{'type':'cpu','amount':'-1.00'}", "greater than or equal"},
      {"{'type':'cpu'}", "required"},
      {"{'amount':'1'}", "required"},
      {"{'type':'cpu','amount':'1'},{'type':'gpu','amount':'1'}", "components are invalid: gpu"},
      {"{'type':'fee','amount':'1'}", "components are invalid: fee"},
      {"{'type':'setup','amount':'1'}", "components are invalid: setup"},
      {"{'type':'hours','amount':'100.01'}", "exceeds limit"}};
  for (const auto& c : cases) {
    const auto r = report(c.items);
    EXPECT_EQ(r.status, 400) << c.items;
    EXPECT_NE(r.text.find(c.words), std::string::npos) << r.text;
  }
  EXPECT_EQ(booked().size(), 0U);
  EXPECT_EQ(report("{'type':'pack','amount':'1'}").status, 201);
  EXPECT_EQ(report("{'type':'hours','amount':'100'}").status, 201);
}

TEST_F(waldur_usages, name_the_place_of_a_bad_amount) {
  const auto r = report("{'type':'cpu','amount':'1'},{'type':'hours','amount':'1.234'}");
  EXPECT_EQ(r.body["usages"].size(), 2U);
  EXPECT_EQ(r.body["usages"][0].size(), 0U);
  EXPECT_TRUE(r.body["usages"][1]["amount"].is_array());
}

TEST_F(waldur_usages, need_a_resource_in_a_valid_state) {
  for (const char* state : {"Creating", "Erred", "Terminated"}) {
    seed(std::string("{'resources':[{'uuid':'") + machine + "','state':'" + state + "'}]}");
    const auto r = report("{'type':'cpu','amount':'1'}");
    EXPECT_EQ(r.status, 400) << state;
    EXPECT_EQ(r.body["resource"][0].string(), "Resource is not in valid state.");
  }
  for (const char* state : {"OK", "Updating", "Terminating"}) {
    seed(std::string("{'resources':[{'uuid':'") + machine + "','state':'" + state + "'}]}");
    EXPECT_EQ(report("{'type':'cpu','amount':'1'}").status, 201) << state;
  }
  EXPECT_EQ(report("{'type':'cpu','amount':'1'}", "", project_uuid).status, 400);
}

TEST_F(waldur_usages, of_past_months_are_booked_unless_billed_by_usage) {
  const std::string past = first_of(now().previous());
  EXPECT_EQ(report("{'type':'cpu','amount':'1'}", past).status, 201);
  const auto r = report("{'type':'hours','amount':'1'}", past);
  EXPECT_EQ(r.status, 400);
  EXPECT_NE(r.text.find("backfilling past billing periods"), std::string::npos);
  EXPECT_EQ(
      staff
          ->post(
              usages + "set_usage/",
              quoted(
                  "{'resource':'" + machine + "','date':'" + past +
                  "','usages':[{'type':'hours','amount':'1'}]}"
              )
          )
          .status,
      201
  );
  EXPECT_EQ(booked("&billing_period=" + past.substr(0, 10)).size(), 2U);
}

TEST_F(waldur_usages, of_the_future_or_of_no_date_are_refused) {
  EXPECT_EQ(report("{'type':'cpu','amount':'1'}", "2999-01-01T00:00:00Z").status, 400);
  EXPECT_EQ(report("{'type':'cpu','amount':'1'}", "yesterday").status, 400);
}

TEST_F(waldur_usages, fall_into_the_month_of_the_servers_zone) {
  seed("{'timezone':'Europe/Tallinn'}");
  // An hour before midnight UTC is the next day there.
  ASSERT_EQ(report("{'type':'cpu','amount':'1'}", "2026-01-31T23:00:00Z").status, 201);
  EXPECT_EQ(booked()[0]["billing_period"].string(), "2026-02-01");
  EXPECT_EQ(booked()[0]["date"].string(), "2026-01-31T23:00:00Z");
}

TEST_F(waldur_usages, need_the_permission) {
  seed(
      "{'users':[{'username':'agent','token':'e2e0000000000000000000000000token001','denied':['"
      "RESOURCE.SET_USAGE'],"
      "'permissions':[{'role':'OFFERING.MANAGER','scope':'offering','scope_uuid':'" +
      offering_uuid + "'}]}]}"
  );
  EXPECT_EQ(report("{'type':'cpu','amount':'1'}").status, 403);
}

TEST_F(waldur_usages, have_shares_of_users) {
  report("{'type':'cpu','amount':'5'}");
  const std::string uuid = booked()[0]["uuid"].string_or("");
  const std::string path = usages + uuid + "/";
  EXPECT_EQ(agent->get(path).status, 200);
  EXPECT_EQ(
      agent
          ->post(
              path + "set_user_usages/",
              quoted("{'usages':[{'username':'a','usage':'2.00'},{'username':'b','usage':'3'}]}")
          )
          .status,
      201
  );
  EXPECT_EQ(
      agent->post(path + "set_user_usage/", quoted("{'username':'a','usage':'1'}")).status, 201
  );
  const auto rows =
      agent->get("/api/marketplace-component-user-usages/?resource_uuid=" + machine).body;
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0]["usage"].string(), "1.00");
  EXPECT_NE(rows[0]["component_usage"].string_or("").find("/" + uuid + "/"), std::string::npos);
  EXPECT_EQ(
      agent->post(path + "set_user_usages/", quoted("{'usages':[{'usage':'1'}]}")).status, 400
  );
  EXPECT_EQ(
      agent
          ->post(path + "set_user_usages/", quoted("{'usages':[{'username':'a','usage':'1.999'}]}"))
          .status,
      400
  );
  EXPECT_EQ(agent->post(path + "set_user_usages/", quoted("{}")).status, 400);
  for (const char* bad :
       {"'user':'http://h/api/marketplace-offering-users/e2ef0000000000000000000000000999/'",
        "'user':'ann'",
        "'date':'today'"}) {
    const json item = quoted(std::string("{'username':'a','usage':'1',") + bad + "}");
    EXPECT_EQ(agent->post(path + "set_user_usage/", item).status, 400) << bad;
  }
  seed("{'offering_users':[{'username':'a'}]}");
  const json good = quoted("{'username':'a','usage':'1','date':'2026-11-01T00:00:00+02:00','user':"
                           "'http://h/api/marketplace-offering-users/"
                           "e2ef0000000000000000000004000001/'}");
  EXPECT_EQ(agent->post(path + "set_user_usage/", good).status, 201);
  EXPECT_EQ(agent->post(path + "dance/").status, 404);
  EXPECT_EQ(agent->get(usages + machine + "/").status, 404);
}

} // namespace

} // namespace siteagent::waldur_emulator
