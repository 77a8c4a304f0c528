// SPDX-License-Identifier: MIT
// The documents of --json against the schemas that ship.
#include "core/fleet/cloud_host/check.hpp"
#include "core/fleet/cloud_host/list.hpp"
#include "core/fleet/cloud_host/reap.hpp"
#include "core/fleet/cloud_host/remove.hpp"
#include "tests/fleet/cloud_host_rig.hpp"
#include "tests/fleet/schema_check.hpp"

#include <gtest/gtest.h>

namespace siteagent::fleet::test {

namespace {

TEST(cloud_host_documents, R81_R82_R83_R84_keep_to_the_schemas_that_ship) {
  fleet_rig rig;
  const auto rehearsed = cloud_host::rehearse_create(rig.at(), rig.request());
  ASSERT_TRUE(rehearsed);
  EXPECT_EQ(schema_fault("cloud-host-dry-run", to_json(*rehearsed, "fake")), "");
  const auto made = rig.create();
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(schema_fault("cloud-host-create", to_json(*made)), "");
  rig.declare("b2");
  rig.stand_idle("b2", std::chrono::minutes(90));
  rig.declare("b3");
  rig.hosts.fail("b3", failure(base::error_code::transient, "no route"));
  rig.cloud.machines["stranger"].name = "stranger";
  rig.cloud.fail("host_state", failure(base::error_code::transient, "HTTP 503"));
  const auto listed = cloud_host::list(rig.at());
  ASSERT_TRUE(listed);
  EXPECT_EQ(schema_fault("cloud-host-list", to_json(*listed)), "");
  const auto reaped = cloud_host::reap(rig.at(), true);
  ASSERT_TRUE(reaped);
  EXPECT_EQ(schema_fault("cloud-host-reap", to_json(*reaped)), "");
  const auto deleted = cloud_host::remove(rig.at(), "b3");
  ASSERT_TRUE(deleted) << deleted.error().message;
  EXPECT_EQ(schema_fault("cloud-host-delete", to_json(*deleted)), "");
}

TEST(cloud_host_documents, a_dry_run_without_a_price_keeps_to_its_schema_too) {
  fleet_rig rig;
  rig.cloud.fail("price_size", failure(base::error_code::transient, "no prices"));
  const auto rehearsed = cloud_host::rehearse_create(rig.at(), rig.request());
  ASSERT_TRUE(rehearsed);
  EXPECT_EQ(schema_fault("cloud-host-dry-run", to_json(*rehearsed, "fake")), "");
}

TEST(cloud_host_documents, the_schemas_refuse_what_they_do_not_know) {
  EXPECT_NE(schema_fault("error", *base::json::parse(R"({"status":"fine"})")), "");
  EXPECT_NE(schema_fault("cloud-host-check", *base::json::parse(R"({"provider":"x"})")), "");
}

} // namespace

} // namespace siteagent::fleet::test
