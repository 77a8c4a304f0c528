// SPDX-License-Identifier: MIT
// stado config, registry and fleet key as an operator uses them.
#include "core/fleet/digest.hpp"
#include "core/fleet/provider.hpp"
#include "tests/unit/fleet/stado_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace siteagent::app::stado {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using tests::ended;
using tests::parsed;
using tests::sample_registry;
using tests::stado_rig;

TEST(stado_config, init_makes_what_the_other_commands_need) {
  stado_rig s;
  const ended e = s.run({"config", "init"});
  EXPECT_EQ(e.code, 0) << e.err;
  EXPECT_EQ(
      e.out,
      "made " + s.path(".stado/config.json") + "\nmade " +
          s.path(".stado/local-storage/registry.json") + "\n"
  );
  EXPECT_EQ(s.run({"registry", "get", "--path", "targets.0.name"}).out, "this-machine\n");
  EXPECT_EQ(s.run({"config", "validate"}).code, 0);
  EXPECT_EQ(s.run({"registry", "validate"}).code, 0);
  const ended again = s.run({"config", "init"});
  EXPECT_EQ(again.code, 1);
  EXPECT_THAT(again.err, HasSubstr("exists already"));
}

TEST(stado_config, init_warns_when_another_file_is_the_one_in_use) {
  stado_rig s;
  s.set("STADO_CONFIG", s.write("other.json", "{}"));
  EXPECT_THAT(
      s.run({"config", "init"}).err, HasSubstr("Warning: commands read " + s.path("other.json"))
  );
}

TEST(stado_config, R88_set_prints_key_previous_new_and_path) {
  stado_rig s;
  s.write_profile("{}");
  const std::string file = s.path(".stado/config.json");
  EXPECT_EQ(s.run({"config", "set", "a.b", "net"}).out, "a.b: null -> \"net\" in " + file + "\n");
  EXPECT_EQ(
      s.run({"config", "set", "a.b", "[1,2]"}).out, "a.b: \"net\" -> [1,2] in " + file + "\n"
  );
  EXPECT_EQ(s.run({"config", "set", "a.b", "-5"}).out, "a.b: [1,2] -> -5 in " + file + "\n");
  EXPECT_EQ(s.run({"config", "unset", "a.b"}).out, "a.b: -5 -> null in " + file + "\n");
  const ended json = s.run({"config", "set", "a.b", "1.50", "--json"});
  EXPECT_EQ(
      parsed(json.out).dump(),
      R"({"key":"a.b","previous":null,"value":1.50,"path":")" + file + "\"}"
  );
}

TEST(stado_config, R114_the_ruling_is_set_as_the_contract_shows) {
  stado_rig s;
  s.write_profile("{}");
  const ended good = s.run(
      {"config",
       "set",
       "azure.credit_floor",
       R"({"id":"ruling-12","amount":500,"currency":"USD","words":"never below"})"}
  );
  EXPECT_EQ(good.code, 0) << good.err;
  const std::string before = s.read(".stado/config.json");
  const ended bad = s.run({"config", "set", "azure.credit_floor.words", ""});
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("azure.credit_floor.words"));
  EXPECT_EQ(s.read(".stado/config.json"), before);
}

TEST(stado_config, R89_get_prints_a_text_bare_and_else_pretty_json) {
  stado_rig s;
  s.write_profile(R"({"a":{"text":"x y","list":[1.0],"flag":false,"nothing":null}})");
  EXPECT_EQ(s.run({"config", "get", "a.text"}).out, "x y\n");
  EXPECT_EQ(s.run({"config", "get", "a.list"}).out, "[\n  1.0\n]\n");
  EXPECT_EQ(s.run({"config", "get", "a.list.0"}).out, "1.0\n");
  EXPECT_EQ(s.run({"config", "get", "a.flag"}).out, "false\n");
  EXPECT_EQ(s.run({"config", "get", "a.nothing"}).out, "null\n");
  const ended absent = s.run({"config", "get", "a.none"});
  EXPECT_EQ(absent.code, 1);
  EXPECT_THAT(absent.out, IsEmpty());
  EXPECT_THAT(absent.err, StartsWith("Error: a.none is not set"));
}

TEST(stado_config, R89_get_shows_the_file_and_resolved_what_is_used) {
  stado_rig s;
  s.write_profile(R"({"providers":["null"],"storage":{"local":{"path":"/file"}}})");
  s.set("WC_LOCAL_STORAGE_PATH", "/variable");
  s.set("WC_PROVIDERS", " a, b,");
  EXPECT_EQ(s.run({"config", "get", "storage.local.path"}).out, "/file\n");
  EXPECT_EQ(s.run({"config", "get", "--resolved", "storage.local.path"}).out, "/variable\n");
  EXPECT_EQ(s.run({"config", "get", "--resolved", "providers"}).out, "[\n  \"a\",\n  \"b\"\n]\n");
  EXPECT_EQ(s.run({"config", "get", "--resolved", "storage.backend"}).out, "local\n");
  EXPECT_EQ(s.run({"config", "get", "--resolved", "providers_disabled"}).out, "[]\n");
  EXPECT_EQ(s.run({"config", "get", "--resolved", "no.such"}).code, 1);
}

TEST(stado_config, R89_resolved_knows_the_variables_of_an_installed_provider) {
  stado_rig s;
  s.plugins = host::search_path({SITEAGENT_PLUGIN_DIR});
  s.write_profile(R"({"null":{"vm_username":"file"}})");
  const auto loaded = fleet::load_provider("null", s.plugins);
  ASSERT_TRUE(loaded) << loaded.error().message;
  const auto& bindings = loaded->description.bindings;
  const auto login = std::find_if(bindings.begin(), bindings.end(), [](const auto& b) {
    return b.key == "vm_username";
  });
  ASSERT_NE(login, bindings.end());
  EXPECT_EQ(s.run({"config", "get", "--resolved", "null.vm_username"}).out, "file\n");
  s.set(login->variable, "variable");
  EXPECT_EQ(s.run({"config", "get", "--resolved", "null.vm_username"}).out, "variable\n");
}

TEST(stado_config, validate_names_file_and_rule) {
  stado_rig s;
  const ended none = s.run({"config", "validate"});
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("stado config init"));
  s.write_profile(R"({"providers":["nowhere"]})");
  const ended missing = s.run({"config", "validate"});
  EXPECT_EQ(missing.code, 1);
  EXPECT_THAT(missing.err, HasSubstr("name nowhere, for which there is no plugin"));
  s.write_profile(R"({"providers":["local"],"storage":{"backend":"s3"}})");
  EXPECT_THAT(s.run({"config", "validate"}).err, HasSubstr("'s3'"));
  s.write_profile(R"({"credentials":{"store":"skarbiec"}})");
  EXPECT_THAT(s.run({"config", "validate"}).err, HasSubstr("'skarbiec'"));
  const std::string other = s.write("other.json", "{\"schema_version\": 1}");
  EXPECT_EQ(s.run({"config", "validate", other}).out, other + " is valid\n");
  EXPECT_EQ(s.run({"config", "validate", s.path("none")}).code, 1);
  const std::string slip = s.write("slip.json", R"({"provders":[],"azure":{},"_api":1,"ap":1})");
  const ended warned = s.run({"config", "validate", slip});
  EXPECT_EQ(warned.code, 0);
  EXPECT_THAT(warned.err, HasSubstr("'provders' is read by no command; did you mean 'providers'?"));
  EXPECT_THAT(warned.err, Not(HasSubstr("azure")));
  EXPECT_THAT(warned.err, Not(HasSubstr("_api")));
}

TEST(stado_config, a_provider_without_a_plugin_is_a_warning_when_it_is_set) {
  stado_rig s;
  s.write_profile("{}");
  const ended e = s.run({"config", "set", "providers", R"(["nowhere"])"});
  EXPECT_EQ(e.code, 0);
  EXPECT_THAT(e.err, HasSubstr("Warning: no plugin 'nowhere'"));
}

TEST(stado_registry, R103_pull_get_and_show_print_the_stored_document) {
  stado_rig s;
  s.write_registry(parsed(sample_registry).pretty() + "\n");
  for (const char* verb : {"pull", "show"}) {
    const ended e = s.run({"registry", verb});
    EXPECT_EQ(e.out, s.registry());
    EXPECT_THAT(e.err, HasSubstr("generation " + fleet::sha256_hex(s.registry())));
    EXPECT_EQ(
        s.run({"registry", verb, "--path", "targets.b1.cloud.size"}).out, "Standard_D8s_v5\n"
    );
  }
  EXPECT_EQ(s.run({"registry", "get", "--path", "targets.b1.cloud.hourly_usd"}).out, "0.384\n");
  EXPECT_EQ(s.run({"registry", "get", "--path", "targets.b1.none"}).code, 1);
  const base::json document = parsed(s.run({"registry", "pull", "--json"}).out);
  EXPECT_EQ(document["generation"].string(), fleet::sha256_hex(s.registry()));
  EXPECT_EQ(document["value"].dump(), parsed(sample_registry).dump());
}

TEST(stado_registry, R103_the_receipt_of_set) {
  stado_rig s;
  s.write_registry(sample_registry);
  const std::string before = fleet::sha256_hex(s.registry());
  const base::json receipt = parsed(
      s.run({"registry", "set", "--path", "targets.b1.notes", "--value", "mine", "--json"}).out
  );
  EXPECT_EQ(receipt["schema"].string(), "stado.registry.set/1");
  EXPECT_EQ(receipt["state"].string(), "set");
  EXPECT_EQ(receipt["location"].string(), s.path(".stado/local-storage/registry.json"));
  EXPECT_EQ(receipt["path"].string(), "targets.b1.notes");
  EXPECT_TRUE(receipt["previous"].is_null());
  EXPECT_EQ(receipt["value"].string(), "mine");
  EXPECT_EQ(receipt["read_generation"].string(), before);
  EXPECT_EQ(receipt["generation"].string(), fleet::sha256_hex(s.registry()));
  EXPECT_EQ(receipt.size(), 8U);
  const ended again = s.run({"registry", "set", "--path", "targets.b1.notes", "--value", "mine"});
  EXPECT_EQ(again.code, 0);
  EXPECT_THAT(again.out, StartsWith("targets.b1.notes: unchanged in "));
}

TEST(stado_registry, R77_R97_a_push_that_lost_its_race_exits_75_at_once) {
  stado_rig s;
  s.write_registry(sample_registry);
  const std::string old = fleet::sha256_hex(s.registry());
  ASSERT_EQ(s.run({"registry", "set", "--path", "x", "--value", "1"}).code, 0);
  base::json document = parsed(s.registry());
  document.set("y", 2);
  const std::string file = s.write("new.json", document.pretty());
  const ended lost = s.run({"registry", "push", file, "--generation", old, "--json"});
  EXPECT_EQ(lost.code, 75);
  EXPECT_EQ(parsed(lost.out)["error_code"].string(), "conflict");
  EXPECT_EQ(parsed(lost.out)["retryable"].boolean(), true);
  const ended done =
      s.run({"registry", "push", file, "--generation", fleet::sha256_hex(s.registry())});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(parsed(s.registry())["y"].integer(), 2);
}

TEST(stado_registry, push_names_the_place_of_a_broken_document) {
  stado_rig s;
  s.write_registry(sample_registry);
  const ended broken = s.run({"registry", "push", s.write("new.json", "{\n \"a\": }")});
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.err, StartsWith("Error: " + s.path("new.json") + ":2:7: not JSON"));
  EXPECT_EQ(s.run({"registry", "push", s.path("none.json")}).code, 1);
}

TEST(stado_registry, R102_a_cloud_host_leaves_by_its_own_verb_only) {
  stado_rig s;
  s.write_registry(sample_registry);
  const ended e = s.run({"registry", "set", "--path", "targets", "--value", "[]"});
  EXPECT_EQ(e.code, 1);
  EXPECT_THAT(e.err, HasSubstr("stado cloud host delete b1 --provider null"));
}

TEST(stado_registry, validate_names_file_place_and_rule) {
  stado_rig s;
  s.write_registry(sample_registry);
  EXPECT_EQ(
      s.run({"registry", "validate"}).out,
      s.path(".stado/local-storage/registry.json") + " is valid\n"
  );
  base::json document = parsed(sample_registry);
  document.find("targets")->items()[1].find("cloud")->set("size", 8);
  const std::string other = s.write("other.json", document.pretty());
  const ended e = s.run({"registry", "validate", other});
  EXPECT_EQ(e.code, 1);
  EXPECT_THAT(e.err, HasSubstr(other + ": registry.targets[1].cloud.size is no text"));
}

TEST(stado_registry, F7_an_absent_registry_names_the_way_out) {
  stado_rig s;
  const ended e = s.run({"registry", "pull", "--json"});
  EXPECT_EQ(e.code, 1);
  EXPECT_EQ(parsed(e.out)["error_code"].string(), "not_found");
  EXPECT_THAT(e.err, HasSubstr("stado config init"));
}

TEST(stado_fleet_key, R107_generate_ls_and_rm) {
  stado_rig s;
  EXPECT_EQ(s.run({"fleet", "key", "ls"}).out, "the credential store holds no fleet key\n");
  const ended made = s.run({"fleet", "key", "generate", "b1"});
  EXPECT_EQ(made.code, 0) << made.err;
  EXPECT_THAT(
      made.out,
      MatchesRegex("stado-ssh-b1 SHA256:[A-Za-z0-9+/]+\nssh-ed25519 [A-Za-z0-9+/=]+ stado-ssh-b1\n")
  );
  EXPECT_THAT(
      s.run({"fleet", "key", "ls"}).out,
      MatchesRegex("stado-ssh-b1\tED25519\tSHA256:[A-Za-z0-9+/]+\n")
  );
  EXPECT_EQ(s.run({"fleet", "key", "rm", "b1"}).out, "stado-ssh-b1 removed\n");
  const ended absent = s.run({"fleet", "key", "rm", "b1", "--json"});
  EXPECT_EQ(absent.code, 0);
  EXPECT_EQ(parsed(absent.out).dump(), R"({"item":"stado-ssh-b1","removed":false})");
}

TEST(stado_fleet_key, R80_R107_the_private_half_is_in_no_stream) {
  stado_rig s;
  const ended made = s.run({"fleet", "key", "generate", "b1", "--json"});
  const ended list = s.run({"fleet", "key", "ls", "--json"});
  const std::string stored = s.read(".stado/credentials.json");
  ASSERT_THAT(stored, HasSubstr("PRIVATE KEY"));
  for (const std::string& stream : {made.out, made.err, list.out, list.err}) {
    EXPECT_THAT(stream, Not(HasSubstr("PRIVATE")));
    EXPECT_THAT(stream, Not(HasSubstr("b3BlbnNzaC1rZXktdjE"))); // how every such key begins
  }
  EXPECT_EQ(parsed(list.out)["keys"].size(), 1U);
}

TEST(stado_fleet_key, R107_a_target_is_an_identifier) {
  stado_rig s;
  const ended e = s.run({"fleet", "key", "generate", "../x"});
  EXPECT_EQ(e.code, 1);
  EXPECT_THAT(e.err, HasSubstr("no target identifier"));
}

} // namespace
} // namespace siteagent::app::stado
