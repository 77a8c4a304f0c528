// SPDX-License-Identifier: MIT
#include "core/fleet/registry.hpp"

#include "core/fleet/digest.hpp"
#include "core/fleet/registry_document.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <set>

namespace siteagent::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::parsed;
using tests::sample_registry;
using tests::scratch;

const base::wall_time noon = *base::parse_rfc3339("2026-11-29T12:00:00Z");

TEST(registry, R94_the_root_is_the_variables_the_files_or_the_default) {
  scratch s;
  EXPECT_EQ(s.store().location(), s.path(".stado/local-storage/registry.json"));
  s.write_profile(R"({"storage":{"backend":"local","local":{"path":"~/shared"}}})");
  EXPECT_EQ(s.store().location(), s.path("shared/registry.json"));
  s.set("WC_LOCAL_STORAGE_PATH", "/elsewhere");
  EXPECT_EQ(s.store().location(), "/elsewhere/registry.json");
  s.set("WC_LOCAL_STORAGE_PATH", "relative");
  EXPECT_FALSE(registry_store::open(s.profile(), s.where(), base::real_clock()));
}

TEST(registry, R94_another_backend_is_refused_by_name) {
  scratch s;
  s.set("WC_STORAGE_BACKEND", "s3");
  const auto opened = registry_store::open(s.profile(), s.where(), base::real_clock());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, base::error_code::refused);
  EXPECT_THAT(opened.error().message, HasSubstr("'s3'"));
}

TEST(registry, R94_the_generation_is_the_sha256_of_the_bytes) {
  const scratch s;
  const std::string text = R"({"schema_version":2,"targets":[]})";
  s.write_registry(text);
  const auto read = s.store().read();
  ASSERT_TRUE(read);
  EXPECT_EQ(read->generation, sha256_hex(text));
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(registry, F7_an_absent_broken_or_misshapen_registry_is_named) {
  const scratch s;
  const auto absent = s.store().read();
  ASSERT_FALSE(absent);
  EXPECT_EQ(absent.error().code, base::error_code::not_found);
  EXPECT_THAT(absent.error().message, HasSubstr("stado config init"));
  s.write_registry("{\n]");
  EXPECT_THAT(
      s.store().read().error().message, StartsWith(s.store().location() + ":2:1: not JSON: ")
  );
  s.write_registry(R"({"schema_version":1,"targets":[]})");
  EXPECT_THAT(
      s.store().read().error().message, HasSubstr("registry.schema_version is not the integer 2")
  );
}

TEST(registry, R95_a_write_needs_the_generation_that_was_read) {
  const scratch s;
  s.write_registry(sample_registry);
  const registry_store store = s.store();
  const auto read = store.read();
  base::json mine = read->document;
  mine.set("mine", 1);
  const auto first = store.write(mine, read->generation);
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_EQ(first->generation, store.read()->generation);
  mine.set("mine", 2);
  const auto second = store.write(mine, read->generation);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::error_code::conflict);
  EXPECT_EQ(parsed(second.error().detail)["lost_race"].boolean(), true);
  EXPECT_EQ(parsed(second.error().detail)["generation"].string(), first->generation);
  EXPECT_EQ(store.read()->document["mine"].integer(), 1);
}

TEST(registry, R95_the_lock_lies_where_other_programs_look_for_it) {
  const scratch s;
  s.write_registry(sample_registry);
  const registry_store store = s.store();
  const auto read = store.read();
  ASSERT_TRUE(store.write(read->document, read->generation));
  EXPECT_TRUE(
      std::filesystem::exists(s.path(".stado/local-storage/.locks/" + sha256_hex("registry.json")))
  );
}

TEST(registry, R96_output_is_pretty_json_with_a_line_feed) {
  const scratch s;
  s.write_registry(R"({"schema_version":2,"targets":[],"empty":{},"list":[1]})");
  const registry_store store = s.store();
  ASSERT_TRUE(store.change([](base::json& document) {
    document.set("x", "y");
    return base::result<bool>(true);
  }));
  EXPECT_EQ(
      s.registry(),
      R"({
  "schema_version": 2,
  "targets": [],
  "empty": {},
  "list": [
    1
  ],
  "x": "y"
}
)"
  );
}

TEST(registry, R96_duplicate_keys_invalid_utf8_and_deep_nesting_are_refused_and_left_alone) {
  const scratch s;
  const auto nested = [](int levels) {
    return R"({"schema_version":2,"targets":[],"deep":)" +
           std::string(static_cast<std::size_t>(levels - 1), '[') +
           std::string(static_cast<std::size_t>(levels - 1), ']') + "}";
  };
  const std::string invalid =
      R"({"schema_version":2,"targets":[],"x":")" + std::string("\xC3\x28") + "\"}";
  const std::string surrogate = R"({"schema_version":2,"targets":[],"x":"\ud800"})";
  for (const std::string& text :
       {std::string(R"({"schema_version":2,"targets":[],"x":1,"x":2})"),
        std::string(R"({"schema_version":2,"targets":[{"a":{"b":1,"b":1}}]})"),
        invalid,
        surrogate,
        nested(201),
        std::string(R"({"schema_version":2,"targets":[]} x)"),
        std::string(R"({"schema_version":2,"targets":[],})"),
        std::string(R"({"schema_version":2,"targets":[],"x":NaN})")}) {
    s.write_registry(text);
    EXPECT_FALSE(s.store().read()) << text;
    EXPECT_FALSE(set_in_registry(s.store(), "y", "1")) << text;
    EXPECT_EQ(s.registry(), text);
  }
  s.write_registry(nested(200));
  EXPECT_TRUE(s.store().read());
  EXPECT_TRUE(set_in_registry(s.store(), "y", "1"));
  const auto too_deep =
      set_in_registry(s.store(), "z", std::string(200, '[') + std::string(200, ']'));
  ASSERT_FALSE(too_deep);
  EXPECT_THAT(too_deep.error().message, HasSubstr("200 levels"));
}

TEST(registry, R96_a_text_that_is_no_utf8_is_never_written) {
  const scratch s;
  s.write_registry(sample_registry);
  const std::string before = s.registry();
  const auto changed = s.store().change([](base::json& document) {
    document.set("x", std::string("\xFF"));
    return base::result<bool>(true);
  });
  EXPECT_FALSE(changed);
  EXPECT_EQ(s.registry(), before);
}

TEST(registry, R96_a_write_that_would_drop_a_top_level_key_is_refused) {
  const scratch s;
  s.write_registry(R"({"schema_version":2,"targets":[],"theirs":{"x":1}})");
  const registry_store store = s.store();
  base::json without = store.read()->document;
  without.erase("theirs");
  const auto written = store.write(without, store.read()->generation);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, base::error_code::refused);
  EXPECT_THAT(written.error().message, HasSubstr("'theirs'"));
  EXPECT_TRUE(store.write(without, store.read()->generation, {"theirs"}));
}

TEST(registry, every_rule_is_checked_before_a_write) {
  const scratch s;
  s.write_registry(sample_registry);
  const registry_store store = s.store();
  base::json broken = store.read()->document;
  broken.find("targets")->items()[0].set("kind", 1);
  const auto written = store.write(broken, store.read()->generation);
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, base::error_code::invalid);
  EXPECT_THAT(written.error().message, HasSubstr("registry.targets[0].kind"));
  EXPECT_EQ(s.registry(), sample_registry);
}

TEST(registry, R95_is_created_once) {
  const scratch s;
  const registry_store store = s.store();
  const base::json first = parsed(R"({"schema_version":2,"targets":[]})");
  ASSERT_TRUE(store.create(first));
  EXPECT_EQ(store.create(first).error().code, base::error_code::conflict);
  EXPECT_EQ(tests::mode_of(store.location()), 0600U);
  EXPECT_FALSE(s.store().create(parsed(R"({"schema_version":2})")));
}

TEST(registry, R97_an_edit_is_applied_again_to_what_another_writer_left) {
  const scratch s;
  s.write_registry(sample_registry);
  const registry_store store = s.store();
  int calls = 0;
  const auto changed = store.change([&](base::json& document) -> base::result<bool> {
    if (++calls <= 2) { // another machine is faster
      base::json other = parsed(s.registry());
      other.set("other" + std::to_string(calls), calls);
      s.write_registry(other.pretty() + "\n");
    }
    document.set("mine", 1);
    return true;
  });
  ASSERT_TRUE(changed) << changed.error().message;
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(changed->document["other1"].integer(), 1);
  EXPECT_EQ(changed->document["other2"].integer(), 2);
  EXPECT_EQ(parsed(s.registry())["mine"].integer(), 1);
}

TEST(registry, R97_gives_up_after_ten_times) {
  const scratch s;
  s.write_registry(sample_registry);
  int calls = 0;
  const auto changed = s.store().change([&](base::json& document) -> base::result<bool> {
    base::json other = parsed(s.registry()); // a writer that heeds no lock
    other.set("other", ++calls);
    s.write_registry(other.pretty() + "\n");
    document.set("mine", 1);
    return true;
  });
  ASSERT_FALSE(changed);
  EXPECT_EQ(changed.error().code, base::error_code::conflict);
  EXPECT_EQ(calls, 10);
  EXPECT_EQ(parsed(s.registry()).find("mine"), nullptr);
}

TEST(registry, an_edit_may_have_nothing_to_do_or_refuse) {
  const scratch s;
  s.write_registry(sample_registry);
  const auto nothing = s.store().change([](base::json& document) -> base::result<bool> {
    document.set("x", 1);
    return false;
  });
  ASSERT_TRUE(nothing);
  EXPECT_EQ(nothing->document.find("x"), nullptr);
  const auto refused = s.store().change([](base::json&) -> base::result<bool> {
    return base::error{base::error_code::refused, "no"};
  });
  EXPECT_EQ(refused.error().message, "no");
  EXPECT_EQ(s.registry(), sample_registry);
}

TEST(registry, an_edit_may_drop_the_marker_of_a_create) {
  const scratch s;
  s.write_registry(sample_registry);
  ASSERT_TRUE(s.store().change([](base::json& document) -> base::result<bool> {
    set_creating(
        document,
        {.name = "b2",
         .provider = "null",
         .location = {},
         .size = {},
         .hourly = {},
         .started_at = {},
         .by = {}}
    );
    return true;
  }));
  const std::string with_marker = s.registry();
  EXPECT_THAT(with_marker, HasSubstr("cloud_hosts_creating"));
  ASSERT_TRUE(s.store().change([](base::json& document) -> base::result<bool> {
    clear_creating(document, "b2");
    return true;
  }));
  EXPECT_EQ(s.registry(), parsed(sample_registry).pretty() + "\n");
}

TEST(registry, T6_fifty_processes_that_change_it_at_once_lose_nothing) {
  const scratch s;
  s.write_registry(sample_registry);
  std::vector<pid_t> children;
  for (int n = 0; n < 50; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      const auto changed = s.store().change([n](base::json& document) -> base::result<bool> {
        document.member_ref("writers").set("w" + std::to_string(n), n);
        return true;
      });
      _exit(changed ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(parsed(s.registry())["writers"].size(), 50U);
}

TEST(registry, T6_killed_writers_leave_a_whole_document_and_no_lock) {
  const scratch s;
  s.write_registry(sample_registry);
  for (int round = 0; round < 5; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int n = 0;; ++n) {
        (void)s.store()
            .change([n](base::json& document) -> base::result<bool> {
              document.set("n", n);
              return true;
            })
            .has_value();
      }
    }
    const std::string first = s.registry();
    while (s.registry() == first) {
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(validate_registry(parsed(s.registry())));
    EXPECT_TRUE(set_in_registry(s.store(), "round", std::to_string(round)));
  }
}

TEST(registry, the_last_good_reading_is_kept_with_its_time) {
  const scratch s;
  s.write_registry(sample_registry);
  base::manual_clock clock(noon);
  const registry_store store = s.store(clock);
  const auto good = store.read();
  ASSERT_TRUE(good);
  EXPECT_EQ(s.read(".stado/cache/registry-last-good.json"), sample_registry);
  const base::json meta = parsed(s.read(".stado/cache/registry-last-good.meta.json"));
  EXPECT_EQ(meta["read_at"].string(), "2026-11-29T12:00:00Z");
  EXPECT_EQ(meta["generation"].string(), good->generation);
  clock.advance(std::chrono::hours(1));
  s.write_registry("broken");
  EXPECT_FALSE(store.read());
  const auto kept = store.read_or_last_good();
  ASSERT_TRUE(kept);
  EXPECT_EQ(kept->last_good_of, noon);
  EXPECT_EQ(kept->document.dump(), parsed(sample_registry).dump());
  EXPECT_EQ(kept->generation, good->generation);
}

TEST(registry, a_copy_that_does_not_belong_to_its_meta_file_or_this_store_is_not_used) {
  scratch s;
  s.write_registry(sample_registry);
  ASSERT_TRUE(s.store().read());
  std::filesystem::remove(s.path(".stado/local-storage/registry.json"));
  ASSERT_TRUE(s.store().read_or_last_good());
  s.set("WC_LOCAL_STORAGE_PATH", s.path("other"));
  EXPECT_FALSE(s.store().read_or_last_good());
  s.set("WC_LOCAL_STORAGE_PATH", "");
  s.write(".stado/cache/registry-last-good.json", R"({"schema_version":2,"targets":[]})");
  const auto mixed = s.store().read_or_last_good();
  ASSERT_FALSE(mixed);
  EXPECT_EQ(mixed.error().code, base::error_code::not_found);
}

TEST(registry, a_reading_is_as_good_without_a_copy) {
  const scratch s;
  s.write_registry(sample_registry);
  s.write(".stado/cache", "in the way");
  EXPECT_TRUE(s.store().read());
}

TEST(registry, R76_showing_the_registry_changes_nothing_in_the_store) {
  const scratch s;
  s.write_registry(sample_registry);
  ASSERT_TRUE(s.store().read_or_last_good());
  EXPECT_EQ(
      tests::names_in(s.path(".stado/local-storage"), true),
      std::vector<std::string>{"registry.json"}
  );
}

} // namespace
} // namespace siteagent::fleet
