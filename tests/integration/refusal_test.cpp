// SPDX-License-Identifier: MIT
// Orders that must not become machines, and keys that must be found.
#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::integration {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct refusal {
  const char* name;
  const char* attributes; // JSON
  const char* reason;     // part of the seed's text
};

constexpr refusal refusals[] = {
    {"without_a_key", R"({"ssh_public_key":""})", "carries no SSH key"},
    {"with_an_unknown_key_uuid",
     R"({"ssh_public_key":"","ssh_key":"deadbeefdeadbeefdeadbeefdeadbeef"})",
     "carries no SSH key"},
    {"with_a_bad_image",
     R"({"image":"Canonical:jammy"})",
     "is not in publisher:offer:sku:version form"},
    {"with_a_reserved_user_name", R"({"username":"root"})", "root"},
    {"with_a_key_that_is_none", R"({"ssh_public_key":"hello"})", "SSH"},
};

void PrintTo(const refusal& r, std::ostream* out) {
  *out << r.name;
}

class refused_order : public testing::TestWithParam<refusal> {};

TEST_P(refused_order, is_rejected_with_the_reason_and_nothing_is_written) {
  const site s;
  const std::string order = s.order_machine("web 1", *json::parse(GetParam().attributes));
  const agent_run run = s.run_agent();
  ASSERT_EQ(run.exit_code, 0);
  const json after = s.order(order);
  EXPECT_EQ(after["state"], json("rejected")) << after.pretty() << run.log;
  EXPECT_THAT(after["provider_rejection_comment"].string_or(""), HasSubstr(GetParam().reason));
  EXPECT_THAT(s.azure().writes(), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(seed, refused_order, testing::ValuesIn(refusals), [](const auto& test) {
  return std::string(test.param.name);
});

TEST(refused_order, without_any_location_names_what_is_missing) {
  const site s;
  std::string yaml = s.default_offering_yaml("Azure VM", offering_uuid);
  const std::string line = "      default_location: westeurope\n";
  yaml.erase(yaml.find(line), line.size());
  s.write_config(yaml);
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(order), "rejected");
  EXPECT_THAT(
      s.order(order)["provider_rejection_comment"].string_or(""),
      HasSubstr("Azure location is set neither on the order nor in backend_settings")
  );
  EXPECT_THAT(s.azure().writes(), IsEmpty());
}

TEST(refused_order, already_executing_is_erred_with_the_same_reason) {
  site_options options;
  options.waldur_seed = json::object({{"auto_approve", true}});
  const site s(options);
  const std::string order = s.order_machine("web 1", *json::parse(R"({"ssh_public_key":""})"));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "erred") << run.log;
  EXPECT_THAT(s.order(order)["error_message"].string_or(""), HasSubstr("carries no SSH key"));
  EXPECT_THAT(s.azure().writes(), IsEmpty());
}

TEST(erred_order, with_an_unknown_size_tells_the_customer_before_the_first_write) {
  const site s;
  const std::string order = s.order_machine("web 1", json::object({{"size", "Standard_Z99"}}));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "erred") << run.log;
  EXPECT_THAT(s.order(order)["error_message"].string_or(""), HasSubstr("Standard_Z99"));
  EXPECT_THAT(s.azure().writes(), IsEmpty());
}

TEST(erred_order, with_an_unknown_image_tells_the_customer_before_the_first_write) {
  const site s;
  const std::string order =
      s.order_machine("web 1", json::object({{"image", "Canonical:nothing:here:latest"}}));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "erred") << run.log;
  EXPECT_THAT(s.order(order)["error_message"].string_or(""), HasSubstr("Canonical:nothing:here"));
  EXPECT_THAT(s.azure().writes(), IsEmpty());
}

TEST(erred_order, refused_by_the_machines_quota_leaves_nothing_behind) {
  site_options options;
  options.azure_seed = *json::parse(R"({"quotas":{"cores":0}})");
  const site s(options);
  const std::string order = s.order_machine("web 1");
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "erred") << run.log;
  EXPECT_THAT(s.order(order)["error_message"].string_or(""), HasSubstr("quota"));
  EXPECT_THAT(s.cloud_objects(), IsEmpty());
}

class provider_key : public testing::TestWithParam<const char*> {};

TEST_P(provider_key, is_found_by_uuid_also_as_the_25th) {
  site_options options;
  options.waldur_seed = json::object({{"keys", 25}});
  const site s(options);
  const json keys = call(
                        "GET",
                        s.waldur().url() + "/api/marketplace-service-providers/"
                                           "e2ef0000000000000000000000000102/keys/?page_size=100",
                        {},
                        staff_token
  )
                        .body;
  ASSERT_EQ(keys.size(), 25U) << keys.dump();
  std::string uuid = keys[24]["uuid"].string_or("");
  if (std::string(GetParam()) == "dashed") {
    for (const std::size_t at : {20U, 16U, 12U, 8U}) {
      uuid.insert(at, 1, '-');
    }
  }
  const std::string order = s.order_machine("web 1", json::object({{"ssh_key", uuid}}));
  const agent_run run = s.run_agent();
  EXPECT_EQ(s.order_state(order), "done") << run.log;
  const json vm = s.azure().inventory()["virtualMachines"][0];
  const std::string sent =
      vm.at({"properties", "osProfile", "linuxConfiguration", "ssh", "publicKeys"})[0]["keyData"]
          .string_or("");
  EXPECT_EQ(sent, keys[24]["public_key"].string_or("?"));
}

INSTANTIATE_TEST_SUITE_P(
    forms,
    provider_key,
    testing::Values("hex", "dashed"),
    [](const auto& test) { return std::string(test.param); }
);

TEST(update_order, that_would_resize_is_rejected_and_changes_nothing) {
  const site s;
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string uuid = s.resource_of(order);
  const auto writes = s.azure().writes().size();
  const auto made = call(
      "POST",
      s.waldur().url() + "/api/marketplace-resources/" + uuid + "/update_limits/",
      json::object({{"limits", json::object({{"cpu", 8}, {"ram", 1024}, {"disk", 30720}})}}),
      staff_token
  );
  ASSERT_EQ(made.status, 200) << made.body.dump();
  ASSERT_EQ(s.run_agent().exit_code, 0);
  const std::string update = made.body["order_uuid"].string_or("");
  EXPECT_EQ(s.order_state(update), "rejected");
  EXPECT_EQ(s.resource(uuid)["state"], json("OK"));
  EXPECT_EQ(s.resource(uuid).at({"limits", "cpu"}).integer(), 1);
  EXPECT_EQ(s.azure().writes().size(), writes);
}

} // namespace
} // namespace siteagent::integration
