// SPDX-License-Identifier: MIT
// What every command has in common: grammar, streams, exit codes, tables.
#include "tests/unit/fleet/stado_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace siteagent::app::stado {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using tests::ended;
using tests::parsed;
using tests::stado_rig;

TEST(stado_usage, R11_R77_F1_a_wrong_command_line_exits_2_and_touches_nothing) {
  struct row {
    std::vector<std::string> arguments;
    const char* message;
    const char* usage;
  };

  const std::string set = "Usage: stado registry set --path PATH --value JSON [--json]\n";
  for (const row& r : {
           row{{}, "stado: a command is missing: config, registry, fleet", "Usage: stado "},
           row{{"bogus"}, "stado: unknown command 'bogus'", "Usage: stado "},
           row{{"confg"}, "did you mean 'config'?", "Usage: stado "},
           row{{"config"},
               "stado config: a command is missing: init, show",
               "Usage: stado config COMMAND"},
           row{{"registry", "set"}, "stado registry set: --path is required", set.c_str()},
           row{{"registry", "set", "--path", "x"}, "--value is required", set.c_str()},
           row{{"registry", "set", "--path"}, "--path", set.c_str()},
           row{{"registry", "set", "--path", "x", "--path", "y", "--value", "1"},
               "--path is given more than once",
               set.c_str()},
           row{{"registry", "set", "--path", "x", "--value", "1", "--json", "--json"},
               "--json is given more than once",
               set.c_str()},
           row{{"registry", "set", "--path", "x", "--value", "1", "--jsn"},
               "unknown option '--jsn'; did you mean '--json'?",
               set.c_str()},
           row{{"registry", "set", "--path", "x", "--value", "1", "y"},
               "one word too many: 'y'",
               set.c_str()},
           row{{"fleet", "key", "rm", "a", "b"},
               "one word too many: 'b'",
               "Usage: stado fleet key rm TARGET [--json]\n"},
           row{{"fleet", "key", "generate"},
               "TARGET is required",
               "Usage: stado fleet key generate TARGET"},
       }) {
    stado_rig s;
    const ended e = s.run(r.arguments);
    EXPECT_EQ(e.code, 2);
    const bool json = !r.arguments.empty() && r.arguments.back() == "--json";
    EXPECT_EQ(e.out.empty(), !json); // R85
    EXPECT_THAT(e.err, StartsWith("Error: stado"));
    EXPECT_THAT(e.err, HasSubstr(r.message));
    EXPECT_THAT(e.err, HasSubstr(r.usage));
    EXPECT_THAT(tests::names_in(s.home(), true), IsEmpty());
  }
}

TEST(stado_usage, R11_an_option_with_an_equals_sign_is_the_same) {
  stado_rig s;
  s.write_registry(R"({"schema_version":2,"targets":[]})");
  EXPECT_EQ(s.run({"registry", "set", "--path=x", "--value={\"a\":1}"}).code, 0);
  EXPECT_EQ(s.run({"registry", "get", "--path", "x.a"}).out, "1\n");
}

TEST(stado_usage, R12_gibibytes_and_minutes_are_whole_numbers_from_1_on) {
  stado_rig s;
  const auto create = [&](const std::string& disk, const std::string& minutes) {
    return s.run(
        {"cloud",
         "host",
         "create",
         "b1",
         "--provider=null",
         "--location=l",
         "--size=s",
         "--disk-gb=" + disk,
         "--idle-minutes=" + minutes}
    );
  };
  for (const char* wrong :
       {"0",
        "-1",
        "+1",
        "1.5",
        "1.0",
        "1e2",
        "10GB",
        "10 ",
        " 10",
        "0x10",
        "",
        "ten",
        "99999999999999999999"}) {
    EXPECT_EQ(create(wrong, "30").code, 2) << wrong;
    EXPECT_EQ(create("128", wrong).code, 2) << wrong;
  }
  EXPECT_EQ(create("128", "30").code, 1); // past the grammar
  EXPECT_THAT(tests::names_in(s.home(), true), IsEmpty());
}

TEST(stado_usage, R13_F3_a_provider_without_a_plugin_is_refused_with_where_it_was_looked_for) {
  stado_rig s;
  s.write_profile(R"({"providers":["nowhere"]})");
  s.write_registry(tests::sample_registry);
  s.plugins = host::search_path({s.home()});
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"cloud", "host", "list"},
           {"cloud", "host", "reap"},
           {"cloud", "host", "delete", "b1"},
           {"cloud",
            "host",
            "create",
            "b2",
            "--location=l",
            "--size=s",
            "--disk-gb=1",
            "--idle-minutes=1"}}) {
    std::vector<std::string> arguments = words;
    arguments.insert(arguments.end(), {"--provider", "nowhere"});
    const ended e = s.run(arguments);
    EXPECT_EQ(e.code, 1) << words[2];
    EXPECT_THAT(e.err, HasSubstr("nowhere"));
    EXPECT_THAT(e.err, HasSubstr(s.home()));
  }
}

TEST(stado_usage, R85_a_usage_error_is_a_document_too_when_one_was_asked_for) {
  stado_rig s;
  const ended e = s.run({"registry", "set", "--json"});
  EXPECT_EQ(e.code, 2);
  const base::json document = parsed(e.out);
  EXPECT_EQ(document["status"].string(), "error");
  EXPECT_EQ(document["error_code"].string(), "usage");
  EXPECT_EQ(document["retryable"].boolean(), false);
}

TEST(stado_usage, help_and_version_are_results) {
  stado_rig s;
  const ended version = s.run({"--version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_THAT(version.out, MatchesRegex("stado [0-9.]+, plugin ABI [0-9.]+\n"));
  const ended help = s.run({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, HasSubstr("config"));
  EXPECT_THAT(help.out, HasSubstr("Exit status:"));
  const ended of_set = s.run({"registry", "set", "--help"});
  EXPECT_THAT(
      of_set.out, HasSubstr("Usage: stado registry set --path PATH --value JSON [--json]\n")
  );
  EXPECT_THAT(of_set.out, HasSubstr("stado cloud host delete"));
}

TEST(stado_usage, every_command_explains_itself) {
  stado_rig s;
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"config"},
           {"config", "init"},
           {"config", "show"},
           {"config", "get"},
           {"config", "set"},
           {"config", "unset"},
           {"config", "validate"},
           {"registry"},
           {"registry", "pull"},
           {"registry", "show"},
           {"registry", "get"},
           {"registry", "set"},
           {"registry", "push"},
           {"registry", "validate"},
           {"fleet"},
           {"fleet", "enroll"},
           {"fleet", "key"},
           {"fleet", "key", "generate"},
           {"fleet", "key", "ls"},
           {"fleet", "key", "rm"},
           {"fleet", "key", "check"},
           {"host"},
           {"host", "kompilator"},
           {"cloud"},
           {"cloud", "check"},
           {"cloud", "host"},
           {"cloud", "host", "create"},
           {"cloud", "host", "list"},
           {"cloud", "host", "delete"},
           {"cloud", "host", "reap"},
           {"coordinator"}}) {
    std::vector<std::string> arguments = words;
    arguments.emplace_back("--help");
    const ended e = s.run(arguments);
    EXPECT_EQ(e.code, 0) << e.err;
    std::string path = "stado";
    for (const std::string& word : words) {
      path += " " + word;
    }
    EXPECT_THAT(e.out, HasSubstr("Usage: " + path));
  }
}

TEST(stado_usage, a_name_may_be_the_name_of_a_command) {
  stado_rig s;
  EXPECT_EQ(s.run({"fleet", "key", "rm", "fleet"}).out, "stado-ssh-fleet was not there\n");
  EXPECT_EQ(s.run({"fleet", "key", "rm", "key"}).code, 0);
}

TEST(stado_usage, an_unset_home_is_named) {
  stado_rig s;
  invocation i = s.invocation();
  std::ostringstream out;
  std::ostringstream err;
  i.out = &out;
  i.err = &err;
  i.where = {};
  i.env = [](std::string_view) { return std::nullopt; };
  EXPECT_EQ(run({"config", "show"}, i), 1);
  EXPECT_THAT(err.str(), StartsWith("Error: HOME is not set"));
  EXPECT_EQ(run({"--version"}, i), 0);
}

TEST(stado_exit, R77_the_class_of_a_failure_decides) {
  using code = base::error_code;
  stado_rig s;
  std::atomic<int> signal{0};
  invocation i = s.invocation();
  i.signal = &signal;

  struct row {
    base::error e;
    int exit;
  };

  for (const row& r : {
           row{{.code = code::transient}, 69},
           row{{.code = code::throttled}, 69},
           row{{.code = code::deadline}, 69},
           row{{.code = code::not_ready}, 69},
           row{{.code = code::no_capacity}, 69},
           row{{.code = code::outcome_unknown}, 69},
           row{{.code = code::permanent}, 1},
           row{{.code = code::invalid}, 1},
           row{{.code = code::auth}, 1},
           row{{.code = code::forbidden}, 1},
           row{{.code = code::refused}, 1},
           row{{.code = code::quota}, 1},
           row{{.code = code::not_found}, 1},
           row{{.code = code::plugin_bug}, 1},
           row{{.code = code::permanent, .http_status = 429}, 69},
           row{{.code = code::permanent, .http_status = 503}, 69},
           row{{.code = code::permanent, .http_status = 408}, 69},
           row{{.code = code::permanent, .http_status = 403}, 1},
           row{{.code = code::conflict}, 1},
           row{{.code = code::conflict, .detail = R"({"lost_race":true})"}, 75},
           row{{.code = code::conflict, .detail = R"({"held_by":"pid 1"})"}, 69},
           row{{.code = code::refused, .detail = R"({"lost_race":true})"}, 1},
       }) {
    EXPECT_EQ(exit_code_of(r.e, i), r.exit) << base::name_of(r.e.code) << r.e.detail;
  }
  EXPECT_EQ(exit_code_of({.code = code::cancelled}, i), 1);
  signal = SIGINT;
  EXPECT_EQ(exit_code_of({.code = code::cancelled}, i), 130);
  signal = SIGTERM;
  EXPECT_EQ(exit_code_of({.code = code::cancelled}, i), 143);
}

TEST(stado_exit, R78_R79_R85_a_failure_is_one_line_and_with_json_one_document) {
  stado_rig s;
  invocation i = s.invocation();
  std::ostringstream out;
  std::ostringstream err;
  i.out = &out;
  i.err = &err;
  const base::error e{
      .code = base::error_code::throttled, .message = "too many\ncalls\tnow", .http_status = 429};
  EXPECT_EQ(report_failure(i, e, false), 69);
  EXPECT_EQ(err.str(), "Error: too many calls now\n");
  EXPECT_EQ(out.str(), "");
  err.str("");
  EXPECT_EQ(report_failure(i, e, true, base::json::object({{"step", 2}})), 69);
  EXPECT_EQ(err.str(), "Error: too many calls now\n");
  EXPECT_EQ(
      parsed(out.str()).dump(),
      R"({"status":"error","error_code":"throttled","retryable":true,"message":"too many calls now","step":2})"
  );
}

TEST(stado_exit, R80_SEC_02_known_secrets_are_scrubbed_from_both_streams) {
  stado_rig s;
  base::global_redactor().protect("hunter2-hunter2");
  invocation i = s.invocation();
  std::ostringstream out;
  std::ostringstream err;
  i.out = &out;
  i.err = &err;
  (void)report_failure(i, {.message = "refused: hunter2-hunter2"}, true);
  print_json(i, base::json::object({{"x", "hunter2-hunter2"}}));
  EXPECT_THAT(out.str() + err.str(), Not(HasSubstr("hunter2")));
}

TEST(stado_exit, R86_money_in_documents_keeps_its_text) {
  stado_rig s;
  invocation i = s.invocation();
  std::ostringstream out;
  i.out = &out;
  print_json(i, base::json::object({{"hour", base::json::number("0.40")}}));
  EXPECT_EQ(out.str(), "{\n  \"hour\": 0.40\n}\n");
}

TEST(stado_table, has_a_blank_line_a_header_and_columns_two_apart) {
  stado_rig s;
  invocation i = s.invocation();
  std::ostringstream out;
  i.out = &out;
  print_table(i, {"NAME", "STATE", "LAST"}, {{"b1", "running", "x"}, {"b\xC3\xA4r", "", ""}});
  EXPECT_EQ(
      out.str(),
      "\n"
      "NAME  STATE    LAST\n"
      "b1    running  x\n"
      "b\xC3\xA4r\n"
  );
}

} // namespace
} // namespace siteagent::app::stado
