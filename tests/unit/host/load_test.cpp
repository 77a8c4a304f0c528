// SPDX-License-Identifier: MIT
#include "support.hpp"

#include <algorithm>

namespace {

using namespace support;
using siteagent::base::error_code;

std::string refusal(const std::string& id, const std::string& directory = broken_plugins()) {
  auto loaded = host::load_plugin(id, developer(directory));
  if (loaded) {
    ADD_FAILURE() << id << " was loaded";
    return "";
  }
  EXPECT_EQ(loaded.error().code, error_code::invalid);
  EXPECT_EQ(loaded.error().message.find('\n'), std::string::npos) << "must be one line";
  return loaded.error().message;
}

TEST(plugin_loading, gives_what_the_plugin_says_about_itself) {
  const auto plugin = load("minimal", good_plugins());
  ASSERT_NE(plugin, nullptr);
  const host::plugin_info info = host::info_of(*plugin);
  EXPECT_EQ(info.id, "minimal");
  EXPECT_EQ(info.version, "1.0");
  EXPECT_EQ(info.threads, "per_instance");
  EXPECT_EQ(info.abi_minor, static_cast<unsigned>(SAGENT_ABI_MINOR));
  EXPECT_EQ(info.extensions, std::vector<std::string>{SAGENT_EXT_RESOURCE_BACKEND});
  EXPECT_EQ(info.settings_schema(), "");
  EXPECT_NE(info.path.find("/minimal.so"), std::string::npos);
}

TEST(plugin_loading, happens_once_per_path) {
  EXPECT_EQ(load("minimal", good_plugins()), load("minimal", good_plugins()));
}

TEST(plugin_loading, takes_tables_of_a_newer_plugin) {
  const auto opened = open("longer-tables", broken_plugins());
  ASSERT_NE(opened, nullptr);
  EXPECT_TRUE(opened->call(host::operation::ping, {}));
}

struct refused_file {
  const char* id;
  std::vector<std::string> words;
};

class broken_plugin : public testing::TestWithParam<refused_file> {};

TEST_P(broken_plugin, is_refused_with_path_and_reason) {
  const std::string message = refusal(GetParam().id);
  EXPECT_NE(message.find(broken_plugins() + "/" + GetParam().id + ".so"), std::string::npos)
      << message;
  for (const std::string& word : GetParam().words) {
    EXPECT_NE(message.find(word), std::string::npos) << message;
  }
  EXPECT_EQ(message.find("Bad file descriptor"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(
    zoo,
    broken_plugin,
    testing::Values(
        refused_file{"entry-null", {"returned NULL"}},
        refused_file{"entry-missing", {"no plugin entry", "sagent_plugin_v0"}},
        refused_file{"wrong-major", {"sagent_plugin_v2", "sagent_plugin_v0", "another ABI major"}},
        refused_file{"minor-too-new", {"needs ABI 0.42", "offers 0.1", "upgrade"}},
        refused_file{"descriptor-too-short", {"bytes long", "rebuild"}},
        refused_file{"size-not-set", {"struct_size"}},
        refused_file{"backend-too-short", {"bytes long"}},
        refused_file{"lacks-create", {"create_resource"}},
        refused_file{"lacks-destroy", {"destroy"}},
        refused_file{"id-mismatch", {"another-id"}},
        refused_file{"bad-id", {"[a-z]"}},
        refused_file{"unresolved-symbol", {"function_of_a_missing_library"}},
        refused_file{"crashes-on-load", {"crashes while being loaded", "signal 9"}},
        refused_file{"exits-on-load", {"ended the process"}}
    ),
    [](const auto& given) {
      std::string name = given.param.id;
      std::replace(name.begin(), name.end(), '-', '_');
      return name;
    }
);

TEST(plugin_loading, of_one_bad_file_leaves_the_good_one_alone) {
  refusal("unresolved-symbol");
  EXPECT_NE(load("minimal", good_plugins()), nullptr);
}

TEST(plugin_name, with_a_slash_or_dots_never_reaches_the_file_system) {
  for (const char* id : {"../minimal", "a/b", "", "Minimal", "minimal.so"}) {
    auto loaded = host::load_plugin(id, developer(good_plugins()));
    ASSERT_FALSE(loaded);
    EXPECT_NE(loaded.error().message.find("no plugin name"), std::string::npos);
  }
}

TEST(plugin_search, names_the_directories_it_looked_in) {
  const temporary_directory first;
  const temporary_directory second;
  auto loaded = host::load_plugin("absent", host::search_path({first.path(), second.path()}));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("absent.so"), std::string::npos);
  EXPECT_NE(loaded.error().message.find(first.path()), std::string::npos);
  EXPECT_NE(loaded.error().message.find(second.path()), std::string::npos);
}

TEST(plugin_search, refuses_a_name_that_exists_in_two_directories) {
  const temporary_directory first;
  const temporary_directory second;
  for (const auto* d : {&first, &second}) {
    d->write("minimal.so", contents(good_plugins() + "/minimal.so"), 0755);
  }
  auto loaded = host::load_plugin("minimal", host::search_path({first.path(), second.path()}));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("exists twice"), std::string::npos);
  EXPECT_NE(loaded.error().message.find(first.path()), std::string::npos);
  EXPECT_NE(loaded.error().message.find(second.path()), std::string::npos);
}

TEST(plugin_search, takes_the_same_directory_twice_for_one) {
  auto loaded = host::load_plugin(
      "minimal", host::search_path({good_plugins(), good_plugins() + "/../plugins"})
  );
  EXPECT_TRUE(loaded) << loaded.error().message;
}

TEST(plugin_search, makes_developer_directories_absolute_and_drops_the_default) {
  const auto given = host::search_path({"some/where"});
  ASSERT_EQ(given.size(), 1u);
  EXPECT_TRUE(given[0].developer);
  EXPECT_EQ(given[0].path, (std::filesystem::current_path() / "some/where").string());
  const auto standard = host::search_path({});
  ASSERT_EQ(standard.size(), 2u);
  EXPECT_EQ(standard[0].path, "/usr/local/lib/site-agent/plugins");
  EXPECT_EQ(standard[1].path.rfind("/usr/lib/", 0), 0u);
  EXPECT_FALSE(standard[0].developer || standard[1].developer);
}

TEST(plugin_inspection, reports_each_file_and_survives_a_crashing_one) {
  const auto listed = host::list_plugins(developer(broken_plugins()));
  ASSERT_GT(listed.size(), 20u);
  std::size_t good = 0;
  for (const host::plugin_listing& l : listed) {
    if (l.path.find("crashes-on-load") != std::string::npos) {
      ASSERT_FALSE(l.info);
      EXPECT_NE(l.info.error().message.find("signal 9"), std::string::npos);
    }
    good += l.info ? 1 : 0;
  }
  EXPECT_GT(good, 5u) << "those that break their contract only when they are called";
}

TEST(plugin_inspection, tells_the_same_as_loading) {
  const auto seen = host::inspect_plugin("null", developer(SITEAGENT_PLUGINS));
  ASSERT_TRUE(seen) << seen.error().message;
  EXPECT_EQ(seen->id, "null");
  EXPECT_EQ(seen->threads, "parallel");
  EXPECT_NE(seen->settings_schema().find("state_file"), std::string::npos);
}

TEST(plugin_inspection, of_an_empty_or_absent_directory_is_empty) {
  const temporary_directory empty;
  EXPECT_TRUE(host::list_plugins(developer(empty.path())).empty());
  EXPECT_TRUE(host::list_plugins(developer(empty / "absent")).empty());
}

} // namespace
