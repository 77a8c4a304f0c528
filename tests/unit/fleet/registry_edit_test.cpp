// SPDX-License-Identifier: MIT
#include "core/fleet/registry.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::fleet {
namespace {

using ::testing::HasSubstr;
using tests::parsed;
using tests::sample_registry;
using tests::scratch;

TEST(registry_set, R18_the_seeds_own_example_declares_who_is_admitted) {
  const scratch s;
  s.write_registry(R"({"schema_version":2,"targets":[
    {"name":"build-host","kind":"local","release_platform":"linux-amd64"},
    {"name":"always-on-mac","kind":"local","release_platform":"darwin-arm64"}]})");
  const auto set =
      set_in_registry(s.store(), "cloud_hosts", R"({"admit_from":["build-host","always-on-mac"]})");
  ASSERT_TRUE(set) << set.error().message;
  EXPECT_TRUE(set->changed);
  EXPECT_TRUE(set->previous.is_null());
  EXPECT_NE(set->read_generation, set->generation);
  EXPECT_EQ(set->generation, s.store().read()->generation);
  EXPECT_EQ(
      parsed(s.registry())["cloud_hosts"].dump(), R"({"admit_from":["build-host","always-on-mac"]})"
  );
}

TEST(registry_set, R103_reaches_elements_by_index_and_by_name) {
  const scratch s;
  s.write_registry(sample_registry);
  ASSERT_TRUE(set_in_registry(s.store(), "targets.0.notes", "first"));
  ASSERT_TRUE(set_in_registry(s.store(), "targets.b1.cloud.idle_minutes", "45"));
  const auto again = set_in_registry(s.store(), "targets.build-host.notes", "second");
  EXPECT_EQ(again->previous.string(), "first");
  const base::json now = parsed(s.registry());
  EXPECT_EQ(now["targets"][0]["notes"].string(), "second");
  EXPECT_EQ(now["targets"][1]["cloud"]["idle_minutes"].integer(), 45);
}

TEST(registry_set, R103_values_are_json_or_else_texts) {
  const scratch s;
  s.write_registry(sample_registry);
  for (const auto& [text, stored] : std::vector<std::pair<const char*, const char*>>{
           {"1.0", "1.0"},
           {"true", "true"},
           {"null", "null"},
           {"\"7\"", "\"7\""},
           {"plain words", "\"plain words\""},
           {"{broken", "\"{broken\""},
           {"", "\"\""},
       }) {
    ASSERT_TRUE(set_in_registry(s.store(), "x", text)) << text;
    EXPECT_EQ(parsed(s.registry())["x"].dump(), stored) << text;
  }
}

TEST(registry_set, R96_a_number_that_cannot_be_read_again_is_refused) {
  const scratch s;
  s.write_registry(sample_registry);
  EXPECT_FALSE(set_in_registry(s.store(), "x", "1e400"));
  EXPECT_EQ(s.registry(), sample_registry);
}

TEST(registry_set, R103_only_the_last_segment_may_be_new) {
  const scratch s;
  s.write_registry(sample_registry);

  struct row {
    const char* path;
    const char* message; // "" = done
  };

  for (const row& r : {
           row{"new", ""},
           row{"cloud_hosts.new", ""},
           row{"cloud_host.admit_from",
               "in the registry there is schema_version, targets, cloud_hosts"},
           row{"targets.b2.notes", "in targets there is build-host, b1"},
           row{"targets.9.notes", "in targets there is build-host, b1"},
           row{"targets.b2", "in targets there is build-host, b1"},
           row{"targets.9", "in targets there is build-host, b1"},
           row{"targets.0.name.x", "in targets.0.name it holds a plain value"},
           row{"targets.b1.hostnames.x", "in targets.b1.hostnames it is empty"},
           row{"", "is no path"},
           row{"a..b", "is no path"},
           row{".a", "is no path"},
       }) {
    const std::string before = s.registry();
    const auto set = set_in_registry(s.store(), r.path, "1");
    if (std::string_view(r.message).empty()) {
      EXPECT_TRUE(set) << r.path << set.error().message;
    } else {
      ASSERT_FALSE(set) << r.path;
      EXPECT_THAT(set.error().message, HasSubstr(r.message)) << r.path;
      EXPECT_EQ(s.registry(), before) << r.path;
    }
  }
}

TEST(registry_set, R103_the_index_behind_the_end_appends) {
  const scratch s;
  s.write_registry(sample_registry);
  ASSERT_TRUE(set_in_registry(
      s.store(), "targets.2", R"({"name":"c","kind":"local","release_platform":"linux-amd64"})"
  ));
  EXPECT_EQ(parsed(s.registry())["targets"].size(), 3U);
}

TEST(registry_set, R103_the_same_value_writes_nothing) {
  const scratch s;
  s.write_registry(sample_registry);
  const auto same = set_in_registry(s.store(), "targets.b1.cloud.disk_gb", "128");
  ASSERT_TRUE(same);
  EXPECT_FALSE(same->changed);
  EXPECT_EQ(same->generation, same->read_generation);
  EXPECT_EQ(s.registry(), sample_registry); // byte for byte, whatever its layout
  const auto other_text = set_in_registry(s.store(), "targets.b1.cloud.hourly_usd", "0.3840");
  EXPECT_TRUE(other_text->changed);
}

TEST(registry_set, R103_the_whole_document_is_checked) {
  const scratch s;
  s.write_registry(sample_registry);
  const auto set = set_in_registry(s.store(), "targets.b1.cloud.size", "[]");
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().code, base::error_code::invalid);
  EXPECT_THAT(set.error().message, HasSubstr("registry.targets[1].cloud.size"));
}

TEST(registry_set, R102_a_cloud_host_is_neither_removed_nor_replaced) {
  const scratch s;
  s.write_registry(sample_registry);
  const std::string ordinary = parsed(sample_registry)["targets"][0].dump();
  base::json without_cloud = parsed(sample_registry)["targets"][1];
  without_cloud.erase("cloud");

  struct row {
    std::string path;
    std::string value;
    const char* message;
  };

  for (const row& r : {
           row{"targets", "[" + ordinary + "]", "its entry,"},
           row{"targets.b1", without_cloud.dump(), "its entry's cloud"},
           row{"targets.b1.name", "b9", "its entry,"},
           row{"targets.b1.cloud.vm_id", "generation-2", "cloud.vm_id"},
           row{"targets.b1.cloud.resources", "{}", "cloud.resources"},
           row{"targets.b1.cloud.resources.vm", "id-2", "cloud.resources"},
           row{"targets.b1.cloud.provider", "other", "cloud.provider"},
           row{"targets.b1.cloud.location", "westus2", "cloud.location"},
       }) {
    const auto set = set_in_registry(s.store(), r.path, r.value);
    ASSERT_FALSE(set) << r.path;
    EXPECT_EQ(set.error().code, base::error_code::refused) << set.error().message;
    EXPECT_THAT(set.error().message, HasSubstr(r.message)) << r.path;
    EXPECT_THAT(set.error().message, HasSubstr("stado cloud host delete b1 --provider null"))
        << r.path;
    EXPECT_EQ(s.registry(), sample_registry);
  }
}

TEST(registry_push, R102_R103_replaces_the_whole_under_the_same_rules) {
  const scratch s;
  s.write_registry(sample_registry);
  base::json document = parsed(sample_registry);
  document.set("x", 1);
  const auto pushed = push_registry(s.store(), document);
  ASSERT_TRUE(pushed) << pushed.error().message;
  EXPECT_TRUE(pushed->changed);
  EXPECT_FALSE(push_registry(s.store(), document)->changed);
  base::json dropped = document;
  dropped.erase("x");
  EXPECT_THAT(push_registry(s.store(), dropped).error().message, HasSubstr("'x'"));
  base::json without_host = document;
  without_host.find("targets")->items().pop_back();
  EXPECT_THAT(
      push_registry(s.store(), without_host).error().message, HasSubstr("cloud host delete")
  );
}

TEST(registry_push, R95_a_stale_generation_loses) {
  const scratch s;
  s.write_registry(sample_registry);
  const std::string old = s.store().read()->generation;
  ASSERT_TRUE(set_in_registry(s.store(), "x", "1"));
  base::json document = parsed(sample_registry);
  document.set("x", 2);
  const auto lost = push_registry(s.store(), document, old);
  ASSERT_FALSE(lost);
  EXPECT_EQ(parsed(lost.error().detail)["lost_race"].boolean(), true);
  EXPECT_TRUE(push_registry(s.store(), document, s.store().read()->generation));
}

TEST(registry_get, R103_prints_what_is_there_and_else_says_what_is) {
  const base::json document = parsed(sample_registry);
  EXPECT_EQ(get_in_registry(document, "targets.b1.cloud.hourly_usd")->number_text(), "0.384");
  EXPECT_EQ(get_in_registry(document, "targets.1.name")->string(), "b1");
  const auto none = get_in_registry(document, "targets.b1.clod");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, base::error_code::not_found);
  EXPECT_THAT(none.error().message, HasSubstr("there is name, kind, ssh"));
}

} // namespace
} // namespace siteagent::fleet
