// SPDX-License-Identifier: MIT
// What nobody stands behind: found by Waldur's positive word only, deleted only when old enough.
#include "world.hpp"

#include "core/agent/orphans.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace siteagent::agent::test {

namespace {

using base::error_code;
using base::json;
using host::operation;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class orphans_test : public ::testing::Test {
protected:
  orphans_test() {
    w.cloud->on(operation::list_resources, [this](const host::call_request& r, const auto&) {
      const bool single = r.body["objects"].boolean().value_or(false);
      EXPECT_EQ(r.body["prices"].boolean(), single);
      return fake_cloud::emitted(single ? objects : machines);
    });
    w.cloud->on(operation::pull_resources, [this](const host::call_request& r, const auto&) {
      std::vector<json> rows;
      for (const json& asked : r.body["resources"].items()) {
        rows.push_back(json::object({{"uuid", asked["uuid"]}, {"presence", presence}}));
      }
      return fake_cloud::emitted(rows);
    });
  }

  json& object(const std::string& id, const std::string& uuid, int hours = 48) {
    objects.push_back(json::object(
        {{"id", id},
         {"kind", "disk"},
         {"uuid", uuid},
         {"created_at", base::to_rfc3339(w.clock.wall() - std::chrono::hours(hours))},
         {"price_month", "12.50"},
         {"currency", "EUR"}}
    ));
    return objects.back();
  }

  orphan_report find() {
    base::result<orphan_report> report = find_orphans(*w.offering, w.waldur, w.env);
    EXPECT_TRUE(report) << report.error().message;
    return *std::move(report);
  }

  std::vector<deletion> remove(const std::vector<orphan_object>& chosen) {
    return *delete_orphans(*w.offering, w.waldur, w.env, chosen);
  }

  world w;
  std::vector<json> objects;
  std::vector<json> machines;
  std::string presence = "present";
};

TEST_F(orphans_test, are_objects_of_a_terminated_resource_with_their_price_and_age) {
  w.waldur.add_resource(1, "Terminated").name = "web-1";
  object("/disk/1", uuid_of(1).hex());
  const orphan_report report = find();
  ASSERT_THAT(report.objects, SizeIs(1));
  const orphan_object& o = report.objects[0];
  EXPECT_EQ(o.id, "/disk/1");
  EXPECT_EQ(o.price_month, "12.50");
  EXPECT_EQ(o.currency, "EUR");
  EXPECT_EQ(o.why, "resource web-1 is Terminated");
  EXPECT_EQ(o.why_not, "");
  EXPECT_THAT(w.waldur.writes(), IsEmpty());
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), IsEmpty());
}

struct state_case {
  const char* name;
  const char* state;
  const char* backend_id;
  bool orphan;
};

class orphan_states : public orphans_test, public ::testing::WithParamInterface<state_case> {};

TEST_P(orphan_states, decide) {
  w.waldur.add_resource(1, GetParam().state).backend_id = GetParam().backend_id;
  object("/disk/1", uuid_of(1).hex());
  EXPECT_THAT(find().objects, SizeIs(GetParam().orphan ? 1U : 0U));
}

INSTANTIATE_TEST_SUITE_P(
    waldur,
    orphan_states,
    ::testing::Values(
        state_case{"terminated", "Terminated", "/vm/1", true},
        state_case{"erred_without_machine", "Erred", "", true},
        state_case{"erred_with_machine", "Erred", "/vm/1", false},
        state_case{"being_created", "Creating", "", false},
        state_case{"ok", "OK", "/vm/1", false},
        state_case{"being_terminated", "Terminating", "/vm/1", false},
        state_case{"state_of_the_future", "Sleeping", "", false}
    ),
    [](const auto& c) { return c.param.name; }
);

TEST_F(orphans_test, of_a_resource_that_waldur_does_not_show_are_unknown_and_never_deletable) {
  object("/disk/1", uuid_of(1).hex());
  object("/disk/2", "");
  const orphan_report report = find();
  ASSERT_THAT(report.objects, SizeIs(2));
  EXPECT_EQ(report.objects[0].why_not, "unknown is not gone");
  EXPECT_EQ(report.objects[1].why_not, "nobody can tell whose it is");
  for (const deletion& d : remove(report.objects)) {
    EXPECT_TRUE(d.failure);
  }
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), IsEmpty());
}

TEST_F(orphans_test, of_an_unreadable_waldur_are_unknown) {
  w.waldur.add_resource(1, "Terminated");
  w.waldur.fail("get_resource", http_failure(503, "maintenance"));
  object("/disk/1", uuid_of(1).hex());
  const orphan_report report = find();
  ASSERT_THAT(report.objects, SizeIs(1));
  EXPECT_EQ(report.objects[0].why_not, "unknown is not gone");
  EXPECT_THAT(report.objects[0].why, HasSubstr("maintenance"));
}

TEST_F(orphans_test, younger_than_a_day_or_of_unknown_age_stay) {
  w.waldur.add_resource(1, "Terminated");
  object("/disk/young", uuid_of(1).hex(), 23);
  object("/disk/ageless", uuid_of(1).hex()).erase("created_at");
  const orphan_report report = find();
  ASSERT_THAT(report.objects, SizeIs(2));
  EXPECT_THAT(report.objects[0].why_not, HasSubstr("younger than a day"));
  EXPECT_THAT(report.objects[1].why_not, HasSubstr("does not say when"));
}

TEST_F(orphans_test, show_a_second_machine_of_a_live_resource_and_never_offer_it_for_deletion) {
  w.waldur.add_resource(1, "OK").backend_id = "/VM/1";
  for (const char* id : {"/vm/1", "/vm/2"}) {
    machines.push_back(json::object({{"backend_id", id}, {"uuid", uuid_of(1).hex()}}));
    object(id, uuid_of(1).hex());
  }
  const orphan_report report = find();
  ASSERT_THAT(report.objects, SizeIs(1));
  EXPECT_EQ(report.objects[0].id, "/vm/2");
  EXPECT_THAT(report.objects[0].why, HasSubstr("/VM/1"));
  EXPECT_EQ(report.objects[0].why_not, "its resource is alive");
}

TEST_F(orphans_test, are_deleted_again_while_that_frees_others) {
  w.waldur.add_resource(1, "Terminated");
  object("/address/1", uuid_of(1).hex());
  object("/nic/1", uuid_of(1).hex());
  bool nic_is_gone = false;
  w.cloud->on(operation::delete_resource, [&](const host::call_request& r, const auto&) {
    EXPECT_EQ(r.body.at({"tags", "waldur-resource-uuid"}).string_or(""), uuid_of(1).hex());
    if (r.target == "/nic/1") {
      nic_is_gone = true;
    } else if (!nic_is_gone) {
      return fake_cloud::emitted(failure(error_code::transient, "in use"));
    }
    return fake_cloud::emitted(std::vector<json>{});
  });
  for (const deletion& d : remove(find().objects)) {
    EXPECT_FALSE(d.failure) << d.id;
  }
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), SizeIs(3));
}

TEST_F(orphans_test, whose_resource_came_back_meanwhile_stay) {
  waldur::resource& r = w.waldur.add_resource(1, "Terminated");
  object("/disk/1", uuid_of(1).hex());
  const orphan_report report = find();
  r.state = "OK";
  const std::vector<deletion> done = remove(report.objects);
  ASSERT_THAT(done, SizeIs(1));
  EXPECT_TRUE(done[0].failure);
  EXPECT_THAT(w.cloud->calls(operation::delete_resource), IsEmpty());
}

TEST_F(orphans_test, that_are_gone_already_count_as_deleted) {
  w.waldur.add_resource(1, "Terminated");
  object("/disk/1", uuid_of(1).hex());
  w.cloud->fail(operation::delete_resource, failure(error_code::not_found));
  EXPECT_FALSE(remove(find().objects)[0].failure);
}

TEST_F(orphans_test, list_resources_whose_machine_is_positively_absent) {
  w.waldur.add_resource(1, "OK").backend_id = "/vm/1";
  presence = "unknown";
  EXPECT_THAT(find().missing, IsEmpty());
  presence = "absent";
  const orphan_report report = find();
  ASSERT_THAT(report.missing, SizeIs(1));
  EXPECT_EQ(report.missing[0].backend_id, "/vm/1");
}

TEST_F(orphans_test, are_no_answer_when_a_list_fails) {
  w.cloud->fail(operation::list_resources, failure(error_code::throttled));
  EXPECT_FALSE(find_orphans(*w.offering, w.waldur, w.env));
}

} // namespace

} // namespace siteagent::agent::test
