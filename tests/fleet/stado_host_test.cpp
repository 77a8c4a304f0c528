// SPDX-License-Identifier: MIT
// The stado program on a simulated machine: keys, enrolling, running, and how its client may end.
#include "core/base/json.hpp"
#include "core/fleet/runner.hpp"
#include "tests/fleet/machine.hpp"
#include "tests/fleet/schema_check.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

namespace siteagent::fleet {
namespace {

namespace fs = std::filesystem;
using base::json;
using integration::process;
using integration::temp_dir;
using integration::write_file;
using test::machine;
using test::schema_fault;
using testing::HasSubstr;

constexpr const char* stado = SITEAGENT_BIN_DIR "/stado";

// A home with a key in the store and the machine enrolled as b1.
class stado_host : public testing::Test {
protected:
  stado_host() {
    EXPECT_EQ(run({"config", "init"}).status, 0);
    const finished made = run({"fleet", "key", "generate", "b1"});
    EXPECT_EQ(made.status, 0) << made.error_output;
    m.authorize(made.output.substr(made.output.find("ssh-ed25519")));
    const finished enrolled = run({"fleet", "enroll", "b1", "--ssh", m.destination()});
    EXPECT_EQ(enrolled.status, 0) << enrolled.error_output;
  }

  finished run(std::vector<std::string> words) const {
    words.insert(words.begin(), stado);
    const auto f = system_runner().run({.argv = words, .set = {{"HOME", home.path().string()}}});
    return f ? *f : finished{.status = -1, .output = "", .error_output = f.error().message};
  }

  std::unique_ptr<process> start(std::vector<std::string> words) const {
    words.insert(words.begin(), stado);
    return std::make_unique<process>(
        words, process::environment{{"HOME", home.path().string()}}, home.file("output")
    );
  }

  fs::path runs() const { return m.work() / "runs"; }

  bool has_begun() const {
    return machine::wait_for(m.home(), [this] { return !m.file("on").empty(); });
  }

  bool is_over() const {
    return machine::wait_for(runs(), [this] { return fs::is_empty(runs()); });
  }

  machine m{"b1"};
  temp_dir home;
};

TEST_F(stado_host, R107_key_check_opens_the_host_and_says_which) {
  const finished good = run({"fleet", "key", "check", "b1"});
  EXPECT_EQ(good.status, 0) << good.error_output;
  EXPECT_EQ(good.output, m.destination() + ": b1\n");
  const auto document = json::parse(run({"fleet", "key", "check", "b1", "--json"}).output);
  ASSERT_TRUE(document);
  EXPECT_EQ(schema_fault("fleet-key-check", *document), "");
  m.authorize_nobody();
  const finished refused = run({"fleet", "key", "check", "b1", "--json"});
  EXPECT_EQ(refused.status, 1);
  EXPECT_THAT(
      refused.error_output, HasSubstr("Error: b1 (" + m.destination() + "): the key was refused")
  );
  EXPECT_EQ(schema_fault("error", *json::parse(refused.output)), "");
  m.stop();
  EXPECT_EQ(run({"fleet", "key", "check", "b1"}).status, 69); // a later retry may help
  EXPECT_EQ(run({"fleet", "key", "check", "b2"}).status, 1);  // not registered
}

TEST_F(stado_host, R111_enroll_reports_what_it_wrote) {
  const finished again = run({"fleet", "enroll", "b1", "--ssh", m.destination()});
  EXPECT_EQ(again.status, 1);
  EXPECT_EQ(again.error_output, "Error: target 'b1' is already registered\n");
  const finished shown = run({"registry", "get", "--path", "targets.b1"});
  const auto target = json::parse(shown.output);
  ASSERT_TRUE(target) << shown.output << shown.error_output;
  EXPECT_EQ((*target)["ssh"].string(), m.destination());
  EXPECT_EQ((*target)["hostnames"].size(), 0U); // a machine named as its target
  EXPECT_EQ((*target)["release_platform"].string(), "linux-amd64");
  const machine second("b2");
  const finished key = run({"fleet", "key", "generate", "b2"});
  second.authorize(key.output.substr(key.output.find("ssh-ed25519")));
  const finished other = run({"fleet", "enroll", "b2", "--ssh", second.destination(), "--json"});
  const auto document = json::parse(other.output);
  ASSERT_TRUE(document) << other.output << other.error_output;
  EXPECT_EQ(schema_fault("fleet-enroll", *document), "");
  EXPECT_EQ(run({"fleet", "enroll", "b3", "--ssh", m.destination(), "--kind", "vast"}).status, 2);
  EXPECT_EQ(run({"fleet", "enroll", "b2"}).status, 2);
}

TEST_F(stado_host, R3_R112_kompilator_is_the_program_there) {
  const finished f =
      run({"host", "kompilator", "b1", "--", "bash", "-c", "echo out; echo err >&2; exit 7"});
  EXPECT_EQ(f.status, 7);
  EXPECT_EQ(f.output, "out\n");
  EXPECT_THAT(f.error_output, HasSubstr("err\n"));
  EXPECT_TRUE(fs::is_empty(runs()));
}

TEST_F(stado_host, words_behind_the_dashes_are_the_programs) {
  const finished f = run(
      {"host", "kompilator", "b1", "--", "echo", "--json", "config", "--keep", "-h", "--plugin-dir"}
  );
  EXPECT_EQ(f.status, 0) << f.error_output;
  EXPECT_EQ(f.output, "--json config --keep -h --plugin-dir\n");
}

TEST_F(stado_host, words_behind_the_dashes_are_the_programs_after_a_repeated_option_too) {
  const finished f = run(
      {"host",
       "kompilator",
       "b1",
       "--plugin-dir",
       home.path().string(),
       "--fetch",
       "a:" + home.file("a"),
       "--fetch",
       "b:" + home.file("b"),
       "--",
       "sh",
       "-c",
       "echo \"$0 $1\"; touch a b",
       "--fetch",
       "c"}
  );
  EXPECT_EQ(f.status, 0) << f.error_output;
  EXPECT_EQ(f.output, "--fetch c\n");
  EXPECT_TRUE(fs::exists(home.file("a")));
  EXPECT_TRUE(fs::exists(home.file("b")));
}

TEST_F(stado_host, R78_with_json_standard_output_is_one_document) {
  write_file(home.file("input"), "x");
  const finished f = run(
      {"host",
       "kompilator",
       "b1",
       "--json",
       "--source",
       home.path().string(),
       "--fetch",
       "input:" + home.file("back"),
       "--keep",
       "--",
       "echo",
       "out"}
  );
  EXPECT_EQ(f.status, 0) << f.error_output;
  EXPECT_THAT(f.error_output, HasSubstr("out\n"));
  const auto document = json::parse(f.output);
  ASSERT_TRUE(document) << f.output;
  EXPECT_EQ(schema_fault("host-kompilator", *document), "");
  EXPECT_EQ((*document)["host"].string(), "b1");
  EXPECT_EQ((*document)["status"].integer(), 0);
  EXPECT_EQ((*document)["kept"].boolean(), true);
  EXPECT_EQ((*document)["fetched"][0].string(), home.file("back"));
  const std::string name = (*document)["run"].string_or("");
  EXPECT_TRUE(fs::exists(runs() / name));
  const finished removed = run({"host", "kompilator", "b1", "--remove", name});
  EXPECT_EQ(removed.status, 0) << removed.error_output;
  EXPECT_EQ(removed.output, "run " + name + " removed from b1\n");
  const std::string next =
      (*json::parse(run({"host", "kompilator", "b1", "--json", "--keep", "--", "true"}).output)
      )["run"]
          .string_or("");
  const auto gone =
      json::parse(run({"host", "kompilator", "b1", "--remove", next, "--json"}).output);
  ASSERT_TRUE(gone);
  EXPECT_EQ(schema_fault("host-kompilator-remove", *gone), "");
  EXPECT_EQ(run({"host", "kompilator", "b1", "--remove", name}).status, 1);
}

TEST_F(stado_host, R11_wrong_command_lines_end_with_2) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"b1"},
           {"b1", "--"},
           {"b1", "--remove", "x", "--", "true"},
           {"b1", "--remove", "x", "--keep"},
           {"b1", "--keep", "--keep", "--", "true"},
           {"b1", "--nonsense", "--", "true"},
           {"--", "true"},
           {},
       }) {
    std::vector<std::string> all{"host", "kompilator"};
    all.insert(all.end(), words.begin(), words.end());
    const finished f = run(all);
    EXPECT_EQ(f.status, 2) << testing::PrintToString(words);
    EXPECT_THAT(f.error_output, HasSubstr("Error: "));
  }
  EXPECT_FALSE(fs::exists(runs()));
}

const std::vector<std::string> endless{
    "host", "kompilator", "b1", "--", "bash", "-c", "echo on > $HOME/on; sleep 600"};

TEST_F(stado_host, R113_an_interrupted_client_ends_the_run) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    write_file(m.home() / "on", "");
    const auto client = start(endless);
    ASSERT_TRUE(has_begun()) << client->output();
    client->signal(number);
    EXPECT_EQ(client->wait(std::chrono::seconds(30)), 128 + number) << client->output();
    EXPECT_TRUE(fs::is_empty(runs()));
    EXPECT_TRUE(m.processes("sleep").empty());
  }
}

TEST_F(stado_host, R113_a_killed_client_ends_the_run) {
  const auto client = start(endless);
  ASSERT_TRUE(has_begun()) << client->output();
  client->signal(SIGKILL);
  EXPECT_TRUE(is_over());
  EXPECT_TRUE(m.processes("sleep").empty());
}

TEST_F(stado_host, R1_a_host_that_is_unknown_or_away_is_named) {
  const finished unknown = run({"host", "kompilator", "b2", "--", "true"});
  EXPECT_EQ(unknown.status, 1);
  EXPECT_THAT(unknown.error_output, HasSubstr("Error: the registry has no target 'b2'"));
  m.stop();
  const finished away = run({"host", "kompilator", "b1", "--", "true"});
  EXPECT_EQ(away.status, 69);
  EXPECT_THAT(away.error_output, HasSubstr("Error: b1 (" + m.destination() + "): no connection"));
}

} // namespace
} // namespace siteagent::fleet
