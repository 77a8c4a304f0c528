// SPDX-License-Identifier: MIT
// Finding a provider, its bindings and what its plugin is given.
#include "provider_fixture.hpp"

namespace siteagent::tests {
namespace {

class provider_loading : public provider_rig {};

class provider_bindings : public provider_rig {};

class provider_opening : public provider_rig {};

TEST_F(provider_loading, F3_R13_without_a_plugin_names_provider_and_directories) {
  const auto loaded = fleet::load_provider("absent", test_plugins());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, error_code::not_found);
  EXPECT_NE(loaded.error().message.find("'absent'"), std::string::npos);
  EXPECT_NE(loaded.error().message.find(SITEAGENT_TEST_PLUGINS), std::string::npos);
}

TEST_F(provider_loading, F3_R13_with_a_plugin_of_other_things_names_what_it_offers) {
  const auto loaded = fleet::load_provider("minimal", test_plugins());
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, error_code::invalid);
  for (const char* word :
       {"'minimal'",
        "minimal.so",
        "1.0",
        SAGENT_EXT_RESOURCE_BACKEND,
        SAGENT_EXT_CLOUD_HOST_PROVIDER,
        SITEAGENT_TEST_PLUGINS}) {
    EXPECT_NE(loaded.error().message.find(word), std::string::npos) << loaded.error().message;
  }
}

TEST_F(provider_loading, F3_of_another_abi_names_both_versions) {
  const auto loaded =
      fleet::load_provider("minor-too-new", host::search_path({SITEAGENT_TEST_PLUGINS "/broken"}));
  ASSERT_FALSE(loaded);
  EXPECT_NE(loaded.error().message.find("minor-too-new.so"), std::string::npos);
  EXPECT_NE(loaded.error().message.find("needs ABI 0.42"), std::string::npos);
}

TEST_F(provider_loading, of_a_plugin_that_describes_nothing_is_its_fault) {
  const auto loaded = fleet::load_provider(
      "hosts-say-nothing", host::search_path({SITEAGENT_TEST_PLUGINS "/broken"})
  );
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, error_code::plugin_bug);
}

TEST_F(provider_loading, R90_takes_the_name_trimmed_and_in_lower_case_and_never_a_path) {
  EXPECT_EQ(load(" Two-Extensions ", SITEAGENT_TEST_PLUGINS).description.id, "two-extensions");
  for (const char* name : {"", "../minimal", "a/b", "two.extensions"}) {
    EXPECT_FALSE(fleet::load_provider(name, test_plugins())) << name;
  }
}

TEST_F(provider_loading, R6_tells_what_the_plugin_says_of_itself) {
  const fleet::provider_description d = two().description;
  EXPECT_EQ(d.display_name, "Two");
  ASSERT_EQ(d.bindings.size(), 2u);
  EXPECT_EQ(d.bindings[0].key, "account");
  EXPECT_EQ(d.bindings[0].variable, "TWO_ACCOUNT");
  EXPECT_FALSE(d.bindings[0].is_list);
  EXPECT_EQ(d.bindings[1].variable, "");
  ASSERT_EQ(d.optional_bindings.size(), 1u);
  EXPECT_TRUE(d.optional_bindings[0].is_list);
  EXPECT_EQ(d.login_binding, "login");
  EXPECT_EQ(d.locations_binding, "regions");
  EXPECT_EQ(d.reserved_logins, std::vector<std::string>{"root"});
  EXPECT_FALSE(d.admits_private);
  EXPECT_EQ(d.user_data_max_bytes, 1000u);
  EXPECT_EQ(d.name_max, 40u);
  ASSERT_EQ(d.credentials.size(), 1u);
  EXPECT_EQ(d.credentials[0].first, "control");
  EXPECT_EQ(d.credentials[0].second.item, "two-control");
  EXPECT_EQ(d.credentials[0].second.item_variable, "TWO_ITEM");
  EXPECT_EQ(d.credentials[0].second.secret_fields, std::vector<std::string>{"key"});
}

TEST_F(provider_loading, the_example_of_the_authors_page_is_one) {
  const auto loaded = load("my-cloud", SITEAGENT_TEST_PLUGINS);
  EXPECT_EQ(loaded.description.display_name, "My Cloud");
  home_.write_profile(R"({"my-cloud":{"project":"p","login":"dev"}})");
  const fleet::profile p = home_.profile();
  const auto b = fleet::bindings_of(p, loaded.description);
  const auto store = fleet::credential_store::open(p, home_.where());
  ASSERT_TRUE(b && store);
  auto opened = fleet::open_provider(loaded, p, *b, *store);
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ(*(*opened)->validate_host({"b1", "north", "standard", 10}), "standard");
  EXPECT_EQ((*opened)->price_size("standard", {"north"})->quotes.size(), 1u);
  EXPECT_EQ((*opened)->credit_balance()->reason, "My Cloud sends invoices");
  const auto made = (*opened)->create_host({}, {}, {});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().http_status, 409);
  EXPECT_TRUE((*opened)->list_hosts()->empty());
  EXPECT_TRUE((*opened)->check({"north"})->at(0).ok);
}

TEST_F(provider_loading, the_null_provider_is_one) {
  const fleet::provider_description d = load("null", SITEAGENT_PLUGINS).description;
  EXPECT_EQ(d.display_name, "Null");
  EXPECT_TRUE(d.admits_private);
}

struct spoilt_description {
  const char* name;
  std::string member;
  std::string value; // "" = the member is left out
  std::string words;
};

class provider_description_reading : public testing::TestWithParam<spoilt_description> {};

TEST_P(provider_description_reading, names_the_first_member_that_is_wrong) {
  json said = parsed(R"({"display_name":"X","bindings":[{"key":"a","env":"A"}],"login_binding":"a",
                        "optional_bindings":[{"key":"l","env":"","list":true}],
                        "user_data_max_bytes":1,"name_max":1,"credentials":{}})");
  ASSERT_TRUE(fleet::parse_description("x", said.dump()));
  said.erase(GetParam().member);
  if (!GetParam().value.empty()) {
    said.set(GetParam().member, parsed(GetParam().value));
  }
  const auto read = fleet::parse_description("x", said.dump());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, error_code::plugin_bug);
  EXPECT_NE(read.error().message.find(GetParam().words), std::string::npos) << read.error().message;
  EXPECT_NE(read.error().message.find("plugin's author"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    members,
    provider_description_reading,
    testing::Values(
        spoilt_description{"no_name", "display_name", "", "display_name is missing"},
        spoilt_description{"name_no_text", "display_name", "7", "display_name"},
        spoilt_description{"no_bindings", "bindings", "", "bindings is missing or no list"},
        spoilt_description{
            "binding_without_key", "bindings", R"([{"env":"A"}])", "bindings[0].key"},
        spoilt_description{
            "variable_no_text",
            "bindings",
            R"([{"key":"a","env":1}])",
            "bindings[0].env is no text"},
        spoilt_description{"login_unknown", "login_binding", R"("b")", "login_binding names no"},
        spoilt_description{
            "login_list", "bindings", R"([{"key":"a","list":true}])", "login_binding"},
        spoilt_description{"locations_unknown", "locations_binding", R"("a")", "locations_binding"},
        spoilt_description{"no_size", "user_data_max_bytes", "", "user_data_max_bytes"},
        spoilt_description{"zero", "name_max", "0", "name_max is not from 1"},
        spoilt_description{"credentials_list", "credentials", "[]", "credentials is no object"},
        spoilt_description{
            "credentials_without_fields",
            "credentials",
            R"({"control":{"item":"i","secret_fields":[]}})",
            "credentials.control.fields"},
        spoilt_description{"reserved_no_texts", "reserved_logins", "[1]", "reserved_logins"}
    ),
    [](const auto& given) { return given.param.name; }
);

TEST_F(provider_bindings, R16_F5_one_sentence_names_every_missing_key_in_order) {
  home_.write_profile("{}");
  const auto b = fleet::bindings_of(home_.profile(), two().description);
  ASSERT_FALSE(b);
  EXPECT_EQ(b.error().code, error_code::refused);
  EXPECT_EQ(
      b.error().message,
      "a cloud host on Two is addressed with bindings this deployment does not declare: "
      "two-extensions.account, two-extensions.login; stado config set declares each"
  );
  EXPECT_EQ(
      parsed(b.error().detail)["missing"],
      json::array({"two-extensions.account", "two-extensions.login"})
  );
}

TEST_F(provider_bindings, R91_what_is_no_scalar_or_blank_is_missing) {
  for (const char* account : {"null", R"("")", R"("  \t")", "[]", "{}", R"(["abc"])"}) {
    home_.write_profile(
        R"({"two-extensions":{"login":"dev","account":)" + std::string(account) + "}}"
    );
    const auto b = fleet::bindings_of(home_.profile(), two().description);
    ASSERT_FALSE(b) << account;
    EXPECT_NE(b.error().message.find(": two-extensions.account; "), std::string::npos) << account;
  }
}

TEST_F(provider_bindings, R91_the_environment_declares_and_overrides) {
  home_.write_profile(R"({"two-extensions":{"login":"dev","regions":["X","y","x"]}})");
  home_.set("TWO_ACCOUNT", "fromenv");
  auto b = fleet::bindings_of(home_.profile(), two().description);
  ASSERT_TRUE(b) << b.error().message;
  EXPECT_EQ(b->values["account"], json("fromenv"));
  EXPECT_EQ(b->login, "dev");
  EXPECT_EQ(b->locations, (std::vector<std::string>{"x", "y"})) << "in lower case, each once";
  home_.set("TWO_REGIONS", "north, south,");
  b = fleet::bindings_of(home_.profile(), two().description);
  ASSERT_TRUE(b);
  EXPECT_EQ(b->locations, (std::vector<std::string>{"north", "south"}));
  EXPECT_EQ(b->values["regions"], json::array({"north", "south"}));
}

TEST_F(provider_bindings, F6_a_list_that_is_none_names_its_key) {
  section(R"("regions":"north")");
  const auto b = fleet::bindings_of(home_.profile(), two().description);
  ASSERT_FALSE(b);
  EXPECT_EQ(b.error().code, error_code::invalid);
  EXPECT_NE(b.error().message.find("two-extensions.regions"), std::string::npos);
}

TEST_F(provider_bindings, F6_R92_a_login_out_of_form_or_reserved_is_refused_with_the_rule) {
  for (const char* login : {"Dev", "1dev", "a b", "dev;rm", "root"}) {
    home_.write_profile(
        R"({"two-extensions":{"account":"abc","login":")" + std::string(login) + "\"}}"
    );
    const auto b = fleet::bindings_of(home_.profile(), two().description);
    ASSERT_FALSE(b) << login;
    EXPECT_EQ(b.error().code, error_code::invalid);
    EXPECT_NE(b.error().message.find("two-extensions.login"), std::string::npos);
    const bool is_reserved = std::string(login) == "root";
    EXPECT_NE(
        b.error().message.find(is_reserved ? "reserves" : "[a-z_][a-z0-9_-]{0,31}"),
        std::string::npos
    );
  }
}

// What the plugin was given, as it tells at a checkpoint.
class provider_gifts : public provider_opening {
protected:
  json given() {
    auto opened = open();
    EXPECT_TRUE(opened) << opened.error().message;
    json seen;
    if (opened) {
      const auto note = [&seen](const json& what) {
        seen = what["echo"];
        return base::result<void>();
      };
      const auto ignored = (*opened)->delete_host({}, note, {});
      EXPECT_FALSE(ignored) << "it emits nothing";
    }
    return seen;
  }

  void store_item(const std::string& name, const std::string& fields) {
    home_.write(".stado/credentials.json", "{\"" + name + "\":" + fields + "}");
  }
};

TEST_F(provider_gifts, are_bindings_options_and_limits) {
  home_.write_profile(
      R"({"two-extensions":{"account":"abc","login":"dev","echo":true,"_note":"a comment",
          "credit_floor":{"id":"r","amount":5,"currency":"USD","words":"w"},"answers":{"check":[]}},
          "cloud_host":{"limits":{"operation":7,"rollback_retry":3,"poll_ms":20}}})"
  );
  const json settings = given()["settings"];
  EXPECT_EQ(settings["bindings"], parsed(R"({"account":"abc","login":"dev"})"));
  EXPECT_EQ(settings["options"], parsed(R"({"echo":true,"answers":{"check":[]}})"));
  EXPECT_EQ(settings["limits"], parsed(R"({"operation_s":7,"rollback_retry_s":3,"poll_ms":20})"));
  EXPECT_EQ(settings["credentials"], json::object());
}

TEST_F(provider_gifts, R118_are_fields_of_the_stored_item_the_secret_ones_as_references) {
  section(R"("echo":true)");
  store_item("two-control", R"({"client_id":"an-id-of-it","key":"file:/not/a/file","other":"o"})");
  const json seen = given();
  const json control = seen.at({"settings", "credentials", "control"});
  EXPECT_EQ(control["client_id"], json("an-id-of-it"));
  EXPECT_TRUE(control["other"].is_null()) << "not asked for";
  EXPECT_EQ(control["key"].string_or("").find("/not/a/file"), std::string::npos);
  EXPECT_EQ(seen["secret_size"], json(16)) << "read through the secrets service, as it is";
}

TEST_F(provider_gifts, R118_come_from_the_item_the_environment_names) {
  section(R"("echo":true)");
  home_.set("TWO_ITEM", "other-item");
  store_item("other-item", R"({"client_id":"other-id"})");
  EXPECT_EQ(
      given().at({"settings", "credentials", "control"}), parsed(R"({"client_id":"other-id"})")
  );
}

TEST_F(provider_opening, R105_a_store_that_others_can_read_is_refused) {
  section();
  home_.write(".stado/credentials.json", R"({"two-control":{"key":"kkkkkkkk"}})", 0644);
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, error_code::refused);
  EXPECT_NE(opened.error().message.find("credentials.json"), std::string::npos);
}

TEST_F(provider_opening, F6_settings_against_the_schema_name_the_profiles_key) {
  for (const auto& [members, words] :
       {std::pair(R"("ecko":true)", "two-extensions.ecko: unknown key; did you mean 'echo'?"),
        std::pair(R"("echo":"yes")", "two-extensions.echo: must be "),
        std::pair(R"("answers":7)", "two-extensions.answers: must be ")}) {
    section(members);
    const auto opened = open();
    ASSERT_FALSE(opened) << members;
    EXPECT_EQ(opened.error().code, error_code::invalid);
    EXPECT_NE(opened.error().message.find(words), std::string::npos) << opened.error().message;
    EXPECT_NE(opened.error().message.find("stado config set"), std::string::npos);
    EXPECT_EQ(opened.error().message.find('\n'), std::string::npos) << "one line";
  }
  home_.write_profile(R"({"two-extensions":{"account":"ABC","login":"dev"}})");
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_NE(
      opened.error().message.find("two-extensions.account: must match the pattern"),
      std::string::npos
  ) << opened.error().message;
}

TEST_F(provider_opening, F6_what_the_plugin_itself_refuses_comes_in_its_own_words) {
  section(R"("refuse":true)");
  const auto opened = open();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, error_code::invalid);
  EXPECT_EQ(opened.error().message, "the bindings do not fit together");
}

} // namespace
} // namespace siteagent::tests
