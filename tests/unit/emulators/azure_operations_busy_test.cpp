// SPDX-License-Identifier: MIT
// Two writes at once, and readers that come early: what a seed lets the emulated cloud do.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

using azure_busy = cloud;

std::string rule_body(const std::string& port, int priority) {
  return R"({"properties":{"priority":)" + std::to_string(priority) +
         R"(,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*",)"
         R"("sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":")" +
         port + "\"}}";
}

std::string group_of(const std::string& tag) {
  return R"({"location":"westeurope","tags":{"t":")" + tag + "\"}}";
}

TEST_F(azure_busy, a_busy_network_answers_409_or_429_as_seeded) {
  make(rg, R"({"location":"westeurope"})");
  azure_.set_timing(timing::fast());
  put(nsg, group_of("1"));
  const auto conflict = put(nsg, group_of("2"));
  EXPECT_EQ(conflict.status, 409);
  EXPECT_EQ(conflict.code(), "AnotherOperationInProgress");
  seed(R"({"busy_network":"retryable"})");
  const auto retryable = put(nsg, group_of("2"));
  EXPECT_EQ(retryable.status, 429);
  EXPECT_EQ(retryable.code(), "RetryableError");
  EXPECT_EQ(retryable.header("Retry-After"), "10");
  EXPECT_EQ(
      retryable.body.at({"error", "details"})[0]["code"].string_or(""),
      "RetryableErrorDueToAnotherOperation"
  );
  seed(R"({"busy_network":"mixed"})");
  bool seen_409 = false;
  bool seen_429 = false;
  for (int i = 0; i < 100 && !(seen_409 && seen_429); ++i) {
    put(nsg + std::to_string(i), group_of("1"));
    const int status = put(nsg + std::to_string(i), group_of("2")).status;
    seen_409 = seen_409 || status == 409;
    seen_429 = seen_429 || status == 429;
  }
  EXPECT_TRUE(seen_409 && seen_429);
}

TEST_F(azure_busy, a_rule_write_supersedes_the_one_before_it_where_seeded) {
  make(rg, R"({"location":"westeurope"})");
  make(nsg, R"({"location":"westeurope"})");
  make(nsg + "/securityRules/old", rule_body("22", 100));
  azure_.set_timing(timing::fast());
  seed(R"({"rule_writes_supersede":true})");
  const auto change = put(nsg + "/securityRules/old", rule_body("23", 100));
  const auto second = put(nsg + "/securityRules/a", rule_body("80", 200));
  EXPECT_EQ(second.status, 201);
  const auto ended = settle(change);
  EXPECT_EQ(ended.body["status"].string_or(""), "Canceled");
  EXPECT_EQ(ended.code(), "Canceled");
  EXPECT_EQ(
      ended.body.at({"error", "details"})[0]["code"].string_or(""),
      "CanceledAndSupersededDueToAnotherOperation"
  );
  EXPECT_EQ(
      get(nsg + "/securityRules/old").body.at({"properties", "destinationPortRange"}).string_or(""),
      "22"
  ) << "the write is taken back";
  const auto third = put(nsg + "/securityRules/b", rule_body("81", 300));
  EXPECT_EQ(settle(second).body["status"].string_or(""), "Canceled");
  EXPECT_EQ(get(nsg + "/securityRules/a").status, 404);
  advance(std::chrono::seconds(1));
  EXPECT_EQ(settle(third).body["status"].string_or(""), "Succeeded");
  EXPECT_EQ(get(nsg + "/securityRules/b").state(), "Succeeded");
}

TEST_F(azure_busy, a_new_resource_is_not_found_at_first_where_seeded) {
  make_network();
  seed(R"({"missing_first_reads":1})");
  settle(put(nsg, R"({"location":"westeurope"})"));
  EXPECT_EQ(get(nsg).code(), "ResourceNotFound");
  EXPECT_EQ(get(nsg).status, 200);
  settle(put(vm, machine_body().dump()));
  EXPECT_EQ(get(vm).status, 404);
  EXPECT_EQ(get(vm).status, 200);
}

TEST_F(azure_busy, pages_may_be_empty_repeat_items_and_have_links_that_expire) {
  make(rg, R"({"location":"westeurope"})");
  const std::string list = networks + "/networkSecurityGroups";
  for (const auto* name : {"a", "b", "c"}) {
    make(list + "/" + name, R"({"location":"westeurope"})");
  }
  seed(
      R"({"page_size":2,"empty_pages":true,"repeat_items_across_pages":true,"next_link_life_s":60})"
  );
  const auto empty = get(list);
  EXPECT_EQ(empty.body["value"].size(), 0U);
  const auto first = get(empty.body["nextLink"].string_or(""));
  EXPECT_EQ(first.body["value"].size(), 2U);
  const auto second = get(first.body["nextLink"].string_or(""));
  ASSERT_EQ(second.body["value"].size(), 2U);
  EXPECT_EQ(second.body["value"][0]["name"].string_or(""), "b") << "seen before";
  EXPECT_EQ(second.body["value"][1]["name"].string_or(""), "c");
  EXPECT_EQ(second.body.find("nextLink"), nullptr);
  advance(std::chrono::seconds(60));
  EXPECT_EQ(get(first.body["nextLink"].string_or("")).status, 410);
  EXPECT_EQ(get(list + "?$skiptoken=bm9uc2Vuc2U=").status, 400);
}

TEST_F(azure_busy, etags_guard_every_network_type_and_machines) {
  make_machine();
  make(nsg, R"({"location":"westeurope"})");
  make(nsg + "/securityRules/r", rule_body("22", 100));
  make(networks + "/applicationSecurityGroups/a", R"({"location":"westeurope"})");

  struct row {
    std::string path;
    std::string body;
  };

  const row rows[] = {
      {net,
       R"({"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"sub","properties":{"addressPrefix":"10.0.0.0/24"}}]}})"},
      {net + "/subnets/sub", R"({"properties":{"addressPrefix":"10.0.0.0/24"}})"},
      {ip,
       R"({"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})"},
      {nsg + "/securityRules/r", rule_body("22", 100)},
      {nsg, R"({"location":"westeurope","tags":{"a":"b"}})"},
      {networks + "/applicationSecurityGroups/a", R"({"location":"westeurope"})"},
      {nic, interface_body("sub", "ip")},
      {vm, machine_body().dump()},
  };
  for (const auto& r : rows) {
    const std::string etag = get(r.path).header("ETag");
    EXPECT_FALSE(etag.empty()) << r.path;
    EXPECT_EQ(etag, get(r.path).body["etag"].string_or("?")) << r.path;
    const auto stale = put(r.path, r.body, {{"if-match", "\"other\""}});
    EXPECT_EQ(stale.status, 412) << r.path;
    EXPECT_EQ(stale.code(), "PreconditionFailed") << r.path;
    EXPECT_EQ(put(r.path, r.body, {{"if-none-match", "*"}}).status, 412) << r.path;
    EXPECT_EQ(put(r.path + "9", r.body, {{"if-match", "*"}}).status, 412) << r.path;
    const auto fresh = put(r.path, r.body, {{"if-match", etag}});
    EXPECT_EQ(fresh.status, 200) << r.path << fresh.body.dump();
    settle(fresh);
    EXPECT_NE(get(r.path).header("ETag"), etag) << r.path << ": a write changes it";
  }
}

TEST_F(azure_busy, empty_answers_have_no_content_type_and_head_works) {
  make(rg, R"({"location":"westeurope"})");
  make(nsg, R"({"location":"westeurope"})");
  EXPECT_EQ(arm("HEAD", nsg).status, 204);
  EXPECT_EQ(arm("HEAD", nsg).header("Content-Type"), "");
  EXPECT_EQ(arm("HEAD", nsg + "9").status, 404);
  EXPECT_TRUE(arm("HEAD", nsg + "9").body.is_null());
  const auto gone = remove(nsg);
  EXPECT_EQ(gone.header("Content-Type"), "");
  EXPECT_EQ(arm("GET", gone.header("Location")).header("Content-Type"), "");
  EXPECT_EQ(remove(nsg).status, 204);
  EXPECT_EQ(remove(nsg).header("Content-Type"), "");
  EXPECT_EQ(get(nsg).header("Content-Type"), "application/json; charset=utf-8");
}

} // namespace
} // namespace siteagent::azure_emulator
