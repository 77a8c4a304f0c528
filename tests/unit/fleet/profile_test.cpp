// SPDX-License-Identifier: MIT
#include "core/fleet/limits.hpp"
#include "core/fleet/registry_document.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

namespace siteagent::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using tests::scratch;

// The current directory is the process's: those who look for ./stado.config.json go home first.
class in_home {
public:
  explicit in_home(const scratch& s) : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(s.home());
  }

  in_home(const in_home&) = delete;
  in_home& operator=(const in_home&) = delete;

  ~in_home() { std::filesystem::current_path(before_); }

private:
  std::filesystem::path before_;
};

TEST(profile, R87_is_the_first_file_of_the_search_order) {
  scratch s;
  const in_home here(s);
  EXPECT_EQ(s.profile().file(), "");
  EXPECT_EQ(s.profile().document().size(), 0U);
  s.write(".stado/config.json", R"({"from":"state"})");
  EXPECT_EQ(s.profile().text("from"), "state");
  s.write(".config/stado/config.json", R"({"from":"xdg"})");
  EXPECT_EQ(s.profile().text("from"), "xdg");
  s.write("stado.config.json", R"({"from":"here"})");
  EXPECT_EQ(s.profile().text("from"), "here");
  s.write("other.json", R"({"from":"variable"})");
  s.set("STADO_CONFIG", "~/other.json");
  EXPECT_EQ(s.profile().text("from"), "variable");
  EXPECT_EQ(s.profile().file(), s.path("other.json"));
}

TEST(profile, R87_a_named_file_that_is_missing_is_no_file_and_the_list_is_not_consulted) {
  scratch s;
  s.write_profile(R"({"from":"state"})");
  s.set("STADO_CONFIG", s.path("missing.json"));
  EXPECT_EQ(s.profile().file(), "");
  EXPECT_EQ(s.profile().text("from"), std::nullopt);
}

TEST(profile, R87_F2_a_broken_file_is_named_with_line_and_column) {
  const scratch s;
  s.write_profile("{\n  \"a\": 1,\n  oops\n}");
  const auto broken = profile::load(s.env(), s.where());
  ASSERT_FALSE(broken);
  EXPECT_THAT(
      broken.error().message, StartsWith(s.path(".stado/config.json") + ":3:3: not JSON: ")
  );
  s.write_profile("[1]");
  const auto array = profile::load(s.env(), s.where());
  ASSERT_FALSE(array);
  EXPECT_THAT(array.error().message, HasSubstr(s.path(".stado/config.json")));
  EXPECT_THAT(array.error().message, HasSubstr("no JSON object"));
  s.write_profile("{\"a\":1,\"a\":2}");
  EXPECT_THAT(profile::load(s.env(), s.where()).error().message, HasSubstr("duplicate key 'a'"));
  std::filesystem::remove(s.path(".stado/config.json"));
  std::filesystem::create_directories(s.path(".stado/config.json"));
  EXPECT_THAT(profile::load(s.env(), s.where()).error().message, HasSubstr(".stado/config.json"));
}

TEST(profile, a_setting_is_the_variables_or_the_files) {
  scratch s;
  s.write_profile(
      R"({"a":{"text":" x ","number":1.50,"flag":true,"null":null,"blank":"  ","list":["q"]}})"
  );
  EXPECT_EQ(s.profile().text("a.text", "A_TEXT"), "x");
  EXPECT_EQ(s.profile().text("a.number"), "1.50");
  EXPECT_EQ(s.profile().text("a.flag"), "true");
  for (const char* absent : {"a.null", "a.blank", "a.list", "a", "a.none", "a.text.deeper", ""}) {
    EXPECT_EQ(s.profile().text(absent), std::nullopt) << absent;
  }
  s.set("A_TEXT", "y");
  EXPECT_EQ(s.profile().text("a.text", "A_TEXT"), "y");
  EXPECT_EQ(s.profile().text("a.none", "A_TEXT"), "y");
  s.set("A_TEXT", ""); // set but empty counts as unset
  EXPECT_EQ(s.profile().text("a.text", "A_TEXT"), "x");
}

TEST(profile, R91_what_is_blank_is_missing_also_in_a_variable) {
  scratch s;
  s.write_profile(R"({"cloud":{"net":"\t "}})");
  EXPECT_EQ(s.profile().text("cloud.net", "CLOUD_NET"), std::nullopt);
  s.set("CLOUD_NET", "vnet-1");
  EXPECT_EQ(s.profile().text("cloud.net", "CLOUD_NET"), "vnet-1");
  s.set("CLOUD_NET", "  ");
  EXPECT_EQ(s.profile().text("cloud.net", "CLOUD_NET"), std::nullopt);
}

TEST(profile, lists_are_split_trimmed_and_without_empty_items) {
  scratch s;
  s.write_profile(R"({"a":[" x ","","y"],"text":"x","mixed":["x",1],"null":null})");
  using list = std::vector<std::string>;
  EXPECT_EQ(**s.profile().list("a", "A"), (list{"x", "y"}));
  EXPECT_EQ(*s.profile().list("none", "A"), std::nullopt);
  EXPECT_EQ(*s.profile().list("null", "A"), std::nullopt);
  for (const char* wrong : {"text", "mixed"}) {
    const auto broken = s.profile().list(wrong);
    ASSERT_FALSE(broken) << wrong;
    EXPECT_THAT(broken.error().message, HasSubstr(wrong));
  }
  s.set("A", " p , ,q,");
  EXPECT_EQ(**s.profile().list("a", "A"), (list{"p", "q"}));
  EXPECT_EQ(**s.profile().list("text", "A"), (list{"p", "q"}));
  s.set("A", ",");
  EXPECT_EQ(**s.profile().list("a", "A"), list{});
}

TEST(profile, finds_elements_by_index) {
  const scratch s;
  s.write_profile(R"({"a":[{"b":1},{"b":2}]})");
  EXPECT_EQ(s.profile().text("a.1.b"), "2");
  EXPECT_EQ(s.profile().find("a.2.b"), nullptr);
  EXPECT_EQ(s.profile().find("a.x"), nullptr);
}

struct enablement {
  const char* name;
  const char* file;     // members of the profile
  const char* enabled;  // WC_PROVIDERS
  const char* disabled; // WC_DISABLED_PROVIDERS
  const char* outcome;  // "" = enabled, else how the message begins
};

class T4_enablement : public ::testing::TestWithParam<enablement> {};

TEST_P(T4_enablement, R14_R15_R90_is_decided_by_variables_before_the_file) {
  const enablement& row = GetParam();
  scratch s;
  s.write_profile(row.file);
  s.set("WC_PROVIDERS", row.enabled);
  s.set("WC_DISABLED_PROVIDERS", row.disabled);
  const std::string before = s.read(".stado/config.json");
  const auto checked = check_enabled(s.profile(), "azure");
  if (std::string_view(row.outcome).empty()) {
    EXPECT_TRUE(checked) << checked.error().message;
  } else {
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, base::error_code::refused);
    EXPECT_THAT(checked.error().message, StartsWith(std::string(row.outcome) + ": azure "));
  }
  EXPECT_EQ(s.read(".stado/config.json"), before);
}

constexpr const char* on = R"({"providers":["azure","null"]})";
constexpr const char* off = R"({"providers":["null"],"providers_disabled":["azure"]})";
constexpr const char* not_enabled = "PROVIDER_NOT_ENABLED";
constexpr const char* disabled = "PROVIDER_DISABLED";

INSTANTIATE_TEST_SUITE_P(
    profile,
    T4_enablement,
    ::testing::Values(
        enablement{"nothing_declared", "{}", "", "", not_enabled},
        enablement{"file_enables", on, "", "", ""},
        enablement{"file_enables_another", R"({"providers":["null"]})", "", "", not_enabled},
        enablement{"file_fences", off, "", "", disabled},
        enablement{"fence_alone", R"({"providers_disabled":["azure"]})", "", "", disabled},
        enablement{"variable_enables", "{}", "azure", "", ""},
        enablement{"variable_enables_among_others", "{}", " null , azure ", "", ""},
        enablement{"variable_replaces_the_files_list", on, "null", "", not_enabled},
        enablement{"empty_variable_counts_as_unset", on, "", "", ""},
        enablement{"comma_enables_nothing", on, ",", "", not_enabled},
        enablement{"fence_wins_over_the_variable", off, "azure", "", disabled},
        enablement{"fence_variable_wins_over_the_file", on, "", "azure", disabled},
        enablement{"fence_variable_wins_over_the_variable", "{}", "azure", "azure", disabled},
        enablement{"fence_variable_replaces_the_fence", off, "azure", "null", ""},
        enablement{"empty_fence_variable_keeps_the_fence", off, "azure", "", disabled},
        enablement{"comma_clears_the_fence", off, "azure", ",", ""},
        enablement{"comma_with_spaces_clears_the_fence", off, "azure", " , ,", ""},
        enablement{"names_are_lowered_and_trimmed", R"({"providers":[" Azure "]})", "", "", ""},
        enablement{"variables_are_lowered", "{}", "AZURE", "", ""},
        enablement{"fence_variables_are_lowered", on, "", "Azure", disabled}
    ),
    [](const auto& row) { return row.param.name; }
);

TEST(profile, R90_a_name_that_is_written_otherwise_is_the_same_provider) {
  const scratch s;
  s.write_profile(on);
  EXPECT_TRUE(check_enabled(s.profile(), " AZURE "));
}

struct rule {
  const char* document;
  const char* message; // "" = valid
};

TEST(profile, the_rules_name_the_path) {
  for (const rule& r : {
           rule{"{}", ""},
           rule{R"({"_note":[1],"unknown":{"x":1},"schema_version":1})", ""},
           rule{R"({"schema_version":2})", "schema_version is not 1"},
           rule{R"({"schema_version":"1"})", "schema_version is not 1"},
           rule{R"({"providers":"azure"})", "providers is no array"},
           rule{R"({"providers":["a",1]})", "providers[1] is no provider name"},
           rule{R"({"providers":["../x"]})", "providers[0] is no provider name"},
           rule{R"({"providers_disabled":{}})", "providers_disabled is no array"},
           rule{
               R"({"providers":["a"],"providers_disabled":["b"," A"]})",
               "providers_disabled[1] names 'a', which providers names, too"},
           rule{R"({"storage":1})", "storage is no object"},
           rule{R"({"storage":{"local":[]}})", "storage.local is no object"},
           rule{R"({"storage":{"local":{"path":1}}})", "storage.local.path is no text"},
           rule{R"({"storage":{"backend":""}})", "storage.backend is no text"},
           rule{R"({"credentials":{"store":[]}})", "credentials.store is no text"},
           rule{R"({"api":{"url":1}})", "api.url is no text"},
           rule{R"({"api":{"url":"ftp://x"}})", "api.url"},
           rule{R"({"api":{"url":"https://u:p@x"}})", "api.url"},
           rule{R"({"api":{"url":"https://api.example.org/"}})", ""},
           rule{R"({"cloud_host":{"limits":[]}})", "cloud_host.limits is no object"},
           rule{R"({"cloud_host":{"limits":{"boot":0}}})", "cloud_host.limits.boot is no whole"},
           rule{R"({"cloud_host":{"limits":{"boot":1.5}}})", "cloud_host.limits.boot is no whole"},
           rule{R"({"cloud_host":{"limits":{"boot":"9"}}})", "cloud_host.limits.boot is no whole"},
           rule{R"({"cloud_host":{"limits":{"boot":86401}}})", "from 1 to 86400"},
           rule{
               R"({"cloud_host":{"limits":{"boots":1}}})",
               "cloud_host.limits.boots is no limit; did you mean 'boot'?"},
           rule{R"({"cloud_host":{"limits":{"_boots":1,"boot":86400,"poll_ms":20}}})", ""},
       }) {
    const auto checked = validate_profile(tests::parsed(r.document));
    const std::string said = checked ? "" : checked.error().message;
    EXPECT_EQ(said.empty(), std::string_view(r.message).empty()) << r.document << ": " << said;
    EXPECT_THAT(said, HasSubstr(r.message)) << r.document;
  }
}

TEST(profile, R114_a_ruling_has_all_its_parts) {
  for (const rule& r : {
           rule{R"({"id":"r1","amount":500,"currency":"USD","words":"never below"})", ""},
           rule{
               R"({"id":"r1","amount":0,"currency":"USD","words":"w","ruled_at":"2026-01-31T12:00:00Z"})",
               ""},
           rule{R"({"id":"r1","amount":0.5,"currency":"USD","words":"w","more":[1]})", ""},
           rule{"null", ""},
           rule{"500", "p.credit_floor is no object"},
           rule{R"({"amount":500,"currency":"USD","words":"w"})", "p.credit_floor.id is no text"},
           rule{R"({"id":" ","amount":500,"currency":"USD","words":"w"})", "p.credit_floor.id"},
           rule{R"({"id":"r1","currency":"USD","words":"w"})", "p.credit_floor.amount"},
           rule{
               R"({"id":"r1","amount":"500","currency":"USD","words":"w"})",
               "p.credit_floor.amount"},
           rule{R"({"id":"r1","amount":-1,"currency":"USD","words":"w"})", "p.credit_floor.amount"},
           rule{
               R"({"id":"r1","amount":1e99,"currency":"USD","words":"w"})",
               "p.credit_floor.amount"},
           rule{R"({"id":"r1","amount":500,"words":"w"})", "p.credit_floor.currency"},
           rule{R"({"id":"r1","amount":500,"currency":"USD"})", "p.credit_floor.words"},
           rule{
               R"({"id":"r1","amount":5,"currency":"USD","words":"w","ruled_at":"monday"})",
               "p.credit_floor.ruled_at"},
       }) {
    const auto checked =
        validate_profile(tests::parsed(R"({"p":{"credit_floor":)" + std::string(r.document) + "}}")
        );
    const std::string said = checked ? "" : checked.error().message;
    EXPECT_EQ(said.empty(), std::string_view(r.message).empty()) << r.document << ": " << said;
    EXPECT_THAT(said, HasSubstr(r.message)) << r.document;
  }
}

TEST(profile, limits_have_their_defaults_and_units) {
  const scratch s;
  s.write_profile(R"({"cloud_host":{"limits":{"boot":60,"probe_ms":10,"marker_stale":5}}})");
  const auto limits = limits_of(s.profile());
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->boot, std::chrono::seconds(60));
  EXPECT_EQ(limits->probe, std::chrono::milliseconds(10));
  EXPECT_EQ(limits->marker_stale, std::chrono::seconds(5));
  EXPECT_EQ(limits->ssh_up, std::chrono::seconds(900));
  EXPECT_EQ(limits->operation, std::chrono::seconds(1200));
  EXPECT_EQ(limits->reap_pass, std::chrono::seconds(1200));
}

TEST(profile_edit, R88_sets_json_and_else_a_text_and_makes_the_objects_on_the_way) {
  const scratch s;
  s.write(".stado/config.json", "{\"_note\": \"mine\", \"n\": 1e3}", 0640);
  const auto first = set_in_profile(s.env(), s.where(), "a.b.c", R"({"x":[1.0]})");
  ASSERT_TRUE(first) << first.error().message;
  EXPECT_TRUE(first->previous.is_null());
  EXPECT_EQ(first->file, s.path(".stado/config.json"));
  const auto second = set_in_profile(s.env(), s.where(), "a.b.c", "not json");
  ASSERT_TRUE(second);
  EXPECT_EQ(second->previous.dump(), R"({"x":[1.0]})");
  EXPECT_EQ(
      s.read(".stado/config.json"),
      R"({
  "_note": "mine",
  "n": 1e3,
  "a": {
    "b": {
      "c": "not json"
    }
  }
}
)"
  );
  EXPECT_EQ(tests::mode_of(s.path(".stado/config.json")), 0640U);
}

TEST(profile_edit, R88_refuses_what_breaks_a_rule_and_leaves_the_file_as_it_was) {
  const scratch s;
  const std::string text = "{\"providers\":  [\"a\"], \"flat\": 1}";
  s.write_profile(text);

  struct row {
    const char* key;
    const char* value;
    const char* message;
  };

  for (const row& r : {
           row{"providers", "azure", "providers is no array"},
           row{"providers_disabled", R"(["a"])", "which providers names, too"},
           row{"flat.x", "1", "flat is no object"},
           row{"", "1", "is no key"},
           row{"a..b", "1", "is no key"},
           row{"p.credit_floor", R"({"id":"r"})", "p.credit_floor.amount"},
           row{"p.credit_floor", R"({"id":"r")", "p.credit_floor is no object"},
       }) {
    const auto set = set_in_profile(s.env(), s.where(), r.key, r.value);
    ASSERT_FALSE(set) << r.key;
    EXPECT_THAT(set.error().message, HasSubstr(r.message));
    EXPECT_EQ(s.read(".stado/config.json"), text);
  }
}

TEST(profile_edit, R88_changes_the_file_that_is_in_use_and_refuses_without_one) {
  scratch s;
  const auto none = set_in_profile(s.env(), s.where(), "a", "1");
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("stado config init"));
  s.write_profile("{}");
  s.write("other.json", "{}");
  s.set("STADO_CONFIG", s.path("other.json"));
  ASSERT_TRUE(set_in_profile(s.env(), s.where(), "a", "1"));
  EXPECT_EQ(s.read(".stado/config.json"), "{}");
  EXPECT_EQ(s.read("other.json"), "{\n  \"a\": 1\n}\n");
}

TEST(profile_edit, unset_removes_one_key) {
  const scratch s;
  s.write_profile(R"({"a":{"b":1,"c":2}})");
  const auto unset = unset_in_profile(s.env(), s.where(), "a.b");
  ASSERT_TRUE(unset);
  EXPECT_EQ(unset->previous.dump(), "1");
  EXPECT_EQ(s.profile().document().dump(), R"({"a":{"c":2}})");
  ASSERT_TRUE(unset_in_profile(s.env(), s.where(), "x.y.z"));
  EXPECT_EQ(s.profile().document().dump(), R"({"a":{"c":2}})");
}

TEST(profile_edit, R88_thirty_writers_at_once_lose_nothing) {
  const scratch s;
  s.write_profile("{}");
  std::vector<pid_t> children;
  for (int n = 0; n < 30; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      const auto set = set_in_profile(s.env(), s.where(), "w.k" + std::to_string(n), "1");
      _exit(set ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(s.profile().find("w")->size(), 30U);
}

TEST(profile_edit, init_makes_a_profile_and_a_registry_with_this_machine) {
  const scratch s;
  const auto made = init_profile(s.env(), s.where(), "My-Machine.example.org.");
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_EQ(made->profile, s.path(".stado/config.json"));
  EXPECT_TRUE(made->registry_made);
  EXPECT_EQ(tests::mode_of(made->profile), 0600U);
  EXPECT_EQ(s.profile().document()["schema_version"].integer(), 1);
  const auto registry = s.store().read();
  ASSERT_TRUE(registry);
  EXPECT_EQ(registry->document["targets"][0]["name"].string(), "my-machine.example.org");
  EXPECT_EQ(registry->document["targets"][0]["kind"].string(), "local");
  EXPECT_FALSE(validate_registry(registry->document));
}

TEST(profile_edit, init_replaces_nothing) {
  const scratch s;
  s.write_profile("{}");
  const auto again = init_profile(s.env(), s.where(), "m");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, base::error_code::refused);
  EXPECT_EQ(s.read(".stado/config.json"), "{}");
  std::filesystem::remove(s.path(".stado/config.json"));
  s.write_registry("{\"mine\": 1}");
  const auto kept = init_profile(s.env(), s.where(), "m");
  ASSERT_TRUE(kept);
  EXPECT_FALSE(kept->registry_made);
  EXPECT_EQ(s.registry(), "{\"mine\": 1}");
}

TEST(profile_edit, init_refuses_a_host_name_that_is_no_target_name_before_it_writes) {
  const scratch s;
  EXPECT_FALSE(init_profile(s.env(), s.where(), "bad name"));
  EXPECT_FALSE(std::filesystem::exists(s.path(".stado")));
}

TEST(surroundings, a_home_is_needed_and_tilde_is_all_that_expands) {
  EXPECT_THAT(
      folders::from([](std::string_view) { return std::nullopt; }).error().message,
      HasSubstr("HOME")
  );
  EXPECT_THAT(
      folders::from([](std::string_view) { return std::optional<std::string>("x"); })
          .error()
          .message,
      HasSubstr("HOME")
  );
  const folders f{.home = "/h", .state = "/h/.stado"};
  EXPECT_EQ(f.expand("~"), "/h");
  EXPECT_EQ(f.expand("~/a/~"), "/h/a/~");
  for (const char* text : {"~other/x", "$HOME/x", "/a/~/b", "a"}) {
    EXPECT_EQ(f.expand(text), text);
  }
}

} // namespace
} // namespace siteagent::fleet
