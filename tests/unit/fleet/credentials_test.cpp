// SPDX-License-Identifier: MIT
#include "core/fleet/credentials.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace siteagent::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using tests::mode_of;
using tests::parsed;
using tests::scratch;

constexpr const char* place = ".stado/credentials.json";

credential_store store_of(const scratch& s) {
  auto opened = credential_store::open(s.profile(), s.where());
  if (!opened) {
    throw std::runtime_error(opened.error().message);
  }
  return *std::move(opened);
}

credential_item
item(std::initializer_list<std::pair<const char*, const char*>> fields, const char* kind = "") {
  credential_item made;
  made.kind = kind;
  for (const auto& [field, value] : fields) {
    made.fields.emplace(field, base::secret(value));
  }
  return made;
}

TEST(credentials, R104_the_default_is_a_file_of_the_state_folder) {
  const scratch s;
  EXPECT_EQ(store_of(s).file(), s.path(place));
  EXPECT_EQ(*store_of(s).find("x"), std::nullopt);
  EXPECT_TRUE(store_of(s).all()->empty());
  EXPECT_FALSE(std::filesystem::exists(s.path(place)));
}

TEST(credentials, R104_locators_are_absolute_paths_and_others_are_refused_by_name) {
  scratch s;

  struct row {
    const char* locator;
    std::string file; // "" = refused
  };

  for (const row& r : {
           row{"/a/b.json", "/a/b.json"},
           row{"file:///a/b.json", "/a/b.json"},
           row{"~/c.json", s.path("c.json")},
           row{"skarbiec", ""},
           row{"skarbiec://vault/x", ""},
           row{"file://host/x", ""},
           row{"relative.json", ""},
           row{"https://x/y", ""},
       }) {
    s.set("STADO_CREDENTIALS_STORE", r.locator);
    const auto opened = credential_store::open(s.profile(), s.where());
    if (r.file.empty()) {
      ASSERT_FALSE(opened) << r.locator;
      EXPECT_EQ(opened.error().code, base::error_code::refused);
      EXPECT_THAT(opened.error().message, HasSubstr("'" + std::string(r.locator) + "'"));
    } else {
      ASSERT_TRUE(opened) << r.locator;
      EXPECT_EQ(opened->file(), r.file);
    }
  }
}

TEST(credentials, two_selectors_that_differ_are_refused_until_they_agree) {
  scratch s;
  s.write_profile(R"({"credentials":{"store":"/a.json"}})");
  EXPECT_EQ(store_of(s).file(), "/a.json");
  s.set("STADO_CREDENTIALS_STORE", "/b.json");
  const auto opened = credential_store::open(s.profile(), s.where());
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, base::error_code::refused);
  EXPECT_THAT(opened.error().message, HasSubstr("until they agree"));
  s.set("STADO_CREDENTIALS_STORE", "file:///a.json");
  EXPECT_EQ(store_of(s).file(), "/a.json");
}

TEST(credentials, R105_new_and_rewritten_files_are_the_owners_alone) {
  const scratch s;
  ASSERT_TRUE(store_of(s).put("one", item({{"secret", "value-1"}})));
  EXPECT_EQ(mode_of(s.path(place)), 0600U);
  EXPECT_EQ(mode_of(s.path(".stado")), 0700U);
  ASSERT_EQ(chmod(s.path(place).c_str(), 0400), 0);
  ASSERT_TRUE(store_of(s).put("two", item({{"secret", "value-2"}})));
  EXPECT_EQ(mode_of(s.path(place)), 0600U);
  EXPECT_EQ(store_of(s).all()->size(), 2U);
  EXPECT_EQ(
      tests::names_in(s.path(".stado"), true).size(), 2U
  ); // the file and its lock, no temporary one
}

TEST(credentials, R105_a_file_that_others_can_reach_is_not_read) {
  const scratch s;
  for (const mode_t mode : {0640U, 0660U, 0604U, 0602U, 0610U, 0601U, 0644U, 0777U}) {
    s.write(place, "{}", mode);
    const auto found = store_of(s).find("x");
    ASSERT_FALSE(found) << std::oct << mode;
    EXPECT_EQ(found.error().code, base::error_code::refused);
    EXPECT_THAT(found.error().message, HasSubstr("chmod 600 " + s.path(place)));
    EXPECT_FALSE(store_of(s).put("x", item({})));
    EXPECT_FALSE(store_of(s).remove("x"));
    EXPECT_EQ(s.read(place), "{}");
  }
}

TEST(credentials, R105_a_symbolic_link_a_directory_and_a_pipe_are_not_read) {
  const scratch s;
  s.write("real.json", "{}");
  std::filesystem::create_directories(s.path(".stado"));
  std::filesystem::create_symlink(s.path("real.json"), s.path(place));
  EXPECT_THAT(store_of(s).find("x").error().message, HasSubstr("symbolic link"));
  EXPECT_FALSE(store_of(s).put("x", item({})));
  EXPECT_EQ(s.read("real.json"), "{}");
  std::filesystem::remove(s.path(place));
  std::filesystem::create_directories(s.path(place));
  EXPECT_THAT(store_of(s).find("x").error().message, HasSubstr("no regular file"));
  std::filesystem::remove(s.path(place));
  ASSERT_EQ(mkfifo(s.path(place).c_str(), 0600), 0);
  EXPECT_THAT(store_of(s).find("x").error().message, HasSubstr("no regular file"));
}

TEST(credentials, R105_a_file_of_another_owner_is_not_read) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give a file away";
  }
  const scratch s;
  s.write(place, "{}");
  ASSERT_EQ(chown(s.path(place).c_str(), 65'534, 65'534), 0);
  EXPECT_THAT(store_of(s).find("x").error().message, HasSubstr("belongs to user 65534"));
}

TEST(credentials, items_are_flat_objects_of_texts_and_unknown_ones_stay) {
  const scratch s;
  s.write(
      place, R"({"theirs":{"b":"2","a":"1"},"$stado_item_types":{"theirs":"login","gone":"x"}})"
  );
  const auto found = store_of(s).find("theirs");
  ASSERT_TRUE(found && *found);
  EXPECT_EQ((*found)->kind, "login");
  EXPECT_EQ((*found)->fields.at("a").reveal(), "1");
  ASSERT_TRUE(store_of(s).put("mine", item({{"k", "v"}}, "key-pair")));
  EXPECT_EQ(
      parsed(s.read(place)).dump(),
      R"({"theirs":{"b":"2","a":"1"},"$stado_item_types":{"theirs":"login","gone":"x","mine":"key-pair"},"mine":{"k":"v"}})"
  );
  EXPECT_TRUE(*store_of(s).remove("mine"));
  EXPECT_FALSE(*store_of(s).remove("mine"));
  EXPECT_EQ(
      parsed(s.read(place)).dump(),
      R"({"theirs":{"b":"2","a":"1"},"$stado_item_types":{"theirs":"login","gone":"x"}})"
  );
  EXPECT_EQ(*store_of(s).find("$stado_item_types"), std::nullopt);
  EXPECT_FALSE(store_of(s).put("$stado_item_types", item({})));
  EXPECT_FALSE(*store_of(s).remove("$stado_item_types"));
}

TEST(credentials, a_file_of_another_shape_is_named_without_what_it_holds) {
  const scratch s;
  for (const char* text :
       {"[]",
        R"({"a":"hidden-value"})",
        R"({"a":{"b":1}})",
        R"({"a":{"b":{"c":"hidden-value"}}})",
        R"({"a":{"b":"hidden-value"},"a":{}})",
        R"({"a":{"b":"hidden-value)"}) {
    s.write(place, text);
    const auto found = store_of(s).find("a");
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().code, base::error_code::invalid) << text;
    EXPECT_THAT(found.error().message, HasSubstr(s.path(place)));
    EXPECT_THAT(found.error().message, Not(HasSubstr("hidden-value")));
  }
}

TEST(credentials, SEC_02_R80_what_was_read_is_scrubbed_from_every_text) {
  const scratch s;
  s.write(
      place,
      R"({"item":{"client_secret":"s3cr3t-value","tenant_id":"tenant-name","billing_account":"account-name","private_key":"-----BEGIN KEY-----\nAAAAbbbbCCCCddddEEEEffff\n-----END KEY-----\n"}})"
  );
  ASSERT_TRUE(store_of(s).find("item"));
  const auto scrub = [](std::string_view text) { return base::global_redactor().scrub(text); };
  EXPECT_EQ(scrub("x s3cr3t-value y"), "x *** y");
  EXPECT_EQ(scrub("one line: AAAAbbbbCCCCddddEEEEffff"), "one line: ***");
  EXPECT_EQ(scrub("tenant-name of account-name"), "tenant-name of account-name");
}

TEST(credentials, CONC_03_fifty_processes_that_store_at_once_lose_nothing) {
  const scratch s;
  std::vector<pid_t> children;
  for (int n = 0; n < 50; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      const auto put = store_of(s).put("i" + std::to_string(n), item({{"k", "v"}}));
      _exit(put ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(store_of(s).all()->size(), 50U);
  EXPECT_EQ(mode_of(s.path(place)), 0600U);
}

} // namespace
} // namespace siteagent::fleet
