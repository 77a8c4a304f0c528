// SPDX-License-Identifier: MIT
#include "core/fleet/ssh_answer.hpp"
#include "tests/fleet/control.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace siteagent::fleet {
namespace {

using base::error_code;
using integration::read_file;
using integration::write_file;
using std::chrono::milliseconds;
using test::control;
using test::machine;
using testing::HasSubstr;

TEST(channel, words_reach_the_program_as_they_are) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  const std::vector<std::string> hostile{
      "it's",
      "\"quoted\"",
      "$(touch $HOME/injected)",
      "`touch $HOME/injected`",
      "; touch $HOME/injected",
      "a  b",
      "line\nfeed",
      "",
      "-n",
      "*",
      "~",
      "\\",
      "\xff\xfe",
      "!!"};
  std::vector<std::string> words{"/usr/bin/printf", "%s|"};
  words.insert(words.end(), hostile.begin(), hostile.end());
  const auto answer = c.hosts().run_words(host, words);
  ASSERT_TRUE(answer) << answer.error().message;
  std::string expected;
  for (const std::string& word : hostile) {
    expected += word + "|";
  }
  EXPECT_EQ(answer->output, expected);
  EXPECT_FALSE(std::filesystem::exists(m.home() / "injected"));
}

TEST(channel, a_script_comes_on_standard_input_with_its_parameters) {
  const machine m("b1");
  control c;
  const auto answer =
      c.hosts().run_script(c.target_of(m), "echo \"$HOME|$1|$2\"\ncat\nexit 4", {"a 'b'", "$(x)"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->output, m.home().string() + "|a 'b'|$(x)\n");
  EXPECT_EQ(answer->status, 4);
}

TEST(channel, R108_a_remote_status_255_is_told_from_that_of_ssh) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  const auto answer = c.hosts().run_words(host, {"bash", "-c", "echo out; echo err >&2; exit 255"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->status, 255);
  EXPECT_EQ(answer->output, "out\n");
  EXPECT_THAT(answer->error_output, HasSubstr("err\n"));
  EXPECT_EQ(answer->last_error_line(), "err");
  std::string streamed;
  channel_options o;
  o.on_error_output = [&](std::string_view bytes) { streamed += bytes; };
  const auto again = c.hosts().run_words(host, {"bash", "-c", "echo err >&2; exit 255"}, o);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->status, 255);
  EXPECT_EQ(streamed, "err\n");
}

TEST(channel, a_program_that_is_not_there_is_status_127) {
  const machine m("b1");
  control c;
  for (const target& host : {c.target_of(m), c.this_machine()}) {
    const auto answer = c.hosts().run_words(host, {"no-such-program"});
    ASSERT_TRUE(answer) << answer.error().message;
    EXPECT_EQ(answer->status, 127);
    EXPECT_THAT(answer->last_error_line(), HasSubstr("no-such-program"));
  }
}

TEST(channel, passes_a_megabyte_of_any_bytes) {
  const machine m("b1");
  control c;
  channel_options o;
  for (int i = 0; i < (1 << 20); ++i) {
    o.input += static_cast<char>(i * 31 % 256);
  }
  const auto answer = c.hosts().run_words(c.target_of(m), {"cat"}, o);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->output, o.input);
}

TEST(channel, an_answer_that_does_not_end_is_an_error) {
  const machine m("b1");
  control c;
  const auto answer = c.hosts().run_words(c.target_of(m), {"head", "-c", "5000000", "/dev/zero"});
  ASSERT_FALSE(answer);
  EXPECT_THAT(answer.error().message, HasSubstr("longer than 4 MiB"));
}

TEST(channel, R109_pins_the_first_key_under_the_targets_name_and_refuses_another) {
  machine m("b1");
  control c;
  const target host = c.target_of(m);
  EXPECT_EQ(*c.hosts().pinned_host_key(host), "");
  ASSERT_TRUE(c.hosts().run_words(host, {"true"}));
  EXPECT_EQ(*c.hosts().pinned_host_key(host), m.host_key());
  EXPECT_TRUE(read_file(c.pins()).starts_with("b1 ssh-ed25519 "));

  m.replace_host_key();
  const auto refused = c.hosts().run_words(host, {"true"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::forbidden);
  EXPECT_THAT(refused.error().message, HasSubstr("b1 (" + m.destination() + ")"));
  EXPECT_THAT(refused.error().message, HasSubstr("ssh-keygen -f " + c.pins() + " -R b1"));

  ASSERT_TRUE(c.hosts().forget_host_key("b1"));
  EXPECT_EQ(*c.hosts().pinned_host_key(host), "");
  ASSERT_TRUE(c.hosts().run_words(host, {"true"}));
  EXPECT_EQ(*c.hosts().pinned_host_key(host), m.host_key());
}

TEST(channel, R109_a_recycled_address_has_another_name_and_no_old_pin) {
  machine m("b1");
  control c;
  target host = c.target_of(m);
  ASSERT_TRUE(c.hosts().run_words(host, {"true"}));
  m.replace_host_key();
  host.name = "b2";
  EXPECT_TRUE(c.hosts().run_words(host, {"true"}));
}

TEST(channel, case_sec_03_each_host_has_its_own_pin_and_the_users_file_is_not_touched) {
  const passwd* me = ::getpwuid(::geteuid());
  ASSERT_NE(me, nullptr);
  const std::string users = std::string(me->pw_dir) + "/.ssh/known_hosts";
  const std::string before = read_file(users);
  machine m("b1");
  control c;
  target host = c.target_of(m);
  ASSERT_TRUE(c.hosts().run_words(host, {"true"}));
  ASSERT_TRUE(c.hosts().forget_host_key("b1")); // returned
  m.replace_host_key();
  host.name = "b2"; // the next one, at the same address
  ASSERT_TRUE(c.hosts().run_words(host, {"true"}));
  m.replace_host_key();
  const auto swapped = c.hosts().run_words(host, {"true"});
  ASSERT_FALSE(swapped);
  EXPECT_THAT(swapped.error().message, HasSubstr("its host key changed"));
  EXPECT_EQ(read_file(users), before);
}

TEST(channel, forgetting_one_key_keeps_the_others) {
  control c;
  ASSERT_TRUE(c.hosts().forget_host_key("b1")); // no file yet
  std::filesystem::create_directories(c.where().state);
  write_file(c.pins(), "b1 ssh-ed25519 AAAA\nb10 ssh-ed25519 BBBB\nb1 ssh-rsa CCCC\n");
  ASSERT_TRUE(c.hosts().forget_host_key("b1"));
  EXPECT_EQ(read_file(c.pins()), "b10 ssh-ed25519 BBBB\n");
}

TEST(channel, R110_a_cloud_host_is_held_to_the_registered_key_from_the_first_connection) {
  machine m("b1");
  control c;
  target host = c.target_of(m);
  host.cloud.emplace();
  host.cloud->host_key = "SHA256:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU";
  const auto refused = c.hosts().run_words(host, {"touch", m.home() / "was-here"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::forbidden);
  EXPECT_THAT(refused.error().message, HasSubstr(m.host_key()));
  EXPECT_FALSE(std::filesystem::exists(m.home() / "was-here"));
  EXPECT_EQ(read_file(c.pins()), "");

  // Another machine's pin of an earlier host of that name gives way to the registry's.
  std::filesystem::create_directories(c.where().state);
  write_file(c.pins(), "b1 " + c.key().public_key + "\n");
  host.cloud->host_key = m.host_key();
  const auto taken = c.hosts().run_words(host, {"true"});
  ASSERT_TRUE(taken) << taken.error().message;
  EXPECT_EQ(*c.hosts().pinned_host_key(host), m.host_key());
}

TEST(channel, a_key_that_is_not_authorized_is_refused_as_such) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  m.authorize_nobody();
  const auto refused = c.hosts().run_words(host, {"true"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, error_code::auth);
  EXPECT_THAT(refused.error().message, HasSubstr("Permission denied (publickey)"));
}

TEST(channel, a_machine_that_is_not_there_is_a_passing_trouble) {
  machine m("b1");
  control c;
  const target host = c.target_of(m);
  m.stop();
  const auto lost = c.hosts().run_words(host, {"true"});
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, error_code::transient);
  EXPECT_THAT(lost.error().message, HasSubstr("Connection refused"));
  m.start();
  EXPECT_TRUE(c.hosts().run_words(host, {"true"}));
}

TEST(channel, a_connection_lost_in_the_middle_is_a_passing_trouble) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  channel_options o;
  o.on_output = [&](std::string_view) { m.drop_connections(); };
  const auto lost = c.hosts().run_words(host, {"bash", "-c", "echo on; sleep 600"}, o);
  ASSERT_FALSE(lost);
  EXPECT_EQ(lost.error().code, error_code::transient);
}

TEST(channel, a_command_that_hangs_ends_with_its_cap) {
  const machine m("b1");
  control c;
  channel_options o;
  o.cap = milliseconds(1'500);
  const auto late = c.hosts().run_words(c.target_of(m), {"sleep", "600"}, o);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, error_code::deadline);
  EXPECT_THAT(late.error().message, HasSubstr("b1"));
}

TEST(channel, a_stop_ends_a_call) {
  const machine m("b1");
  control c;
  std::stop_source stop;
  channel_options o;
  o.stop = stop.get_token();
  o.on_output = [&](std::string_view) { stop.request_stop(); };
  const auto stopped = c.hosts().run_words(c.target_of(m), {"bash", "-c", "echo on; sleep 600"}, o);
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, error_code::cancelled);
}

TEST(channel, this_machine_is_reached_without_ssh) {
  control c;
  const auto answer =
      c.hosts().run_script(c.this_machine(), "echo \"$HOME|$1\"; exit 255", {"a b"});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->output, c.home().string() + "|a b\n");
  EXPECT_EQ(answer->status, 255);
}

TEST(channel, knows_this_machine_by_its_names) {
  target t;
  t.name = "build";
  EXPECT_TRUE(is_this_machine(t, "build"));
  EXPECT_TRUE(is_this_machine(t, "BUILD.example.org"));
  EXPECT_FALSE(is_this_machine(t, "builder"));
  EXPECT_FALSE(is_this_machine(t, ""));
  t.name = "other";
  t.hostnames = {"mac.example.org"};
  EXPECT_TRUE(is_this_machine(t, "mac"));
  EXPECT_TRUE(is_this_machine(t, "Mac.Example.org"));
  EXPECT_FALSE(is_this_machine(t, "mac.example.com"));
  t.cloud.emplace(); // what a rented machine says of itself
  EXPECT_FALSE(is_this_machine(t, "mac"));
  EXPECT_TRUE(is_this_machine(t, "other"));
}

TEST(channel, refuses_what_it_cannot_reach_at_all) {
  control c;
  target t;
  t.name = "b1";
  t.kind = "vast";
  t.ssh = "u@198.51.100.7";
  const auto kind = c.hosts().run_words(t, {"true"});
  ASSERT_FALSE(kind);
  EXPECT_EQ(kind.error().code, error_code::invalid);
  EXPECT_THAT(kind.error().message, HasSubstr("of kind vast"));
  t.kind = "local";
  t.ssh = "";
  const auto nowhere = c.hosts().run_words(t, {"true"});
  ASSERT_FALSE(nowhere);
  EXPECT_THAT(nowhere.error().message, HasSubstr("no ssh destination"));
  t.ssh = "-oProxyCommand=touch x";
  EXPECT_FALSE(c.hosts().run_words(t, {"true"}));
}

// Notes what is run, and answers as a host would.
class noting_runner final : public runner {
public:
  base::result<finished> run(const command& c, std::stop_token) override {
    const std::scoped_lock lock(mutex_);
    seen.push_back(c.argv);
    return finished{};
  }

  std::vector<std::vector<std::string>> seen;

private:
  std::mutex mutex_;
};

TEST(channel, R108_R109_the_command_line) {
  noting_runner programs;
  control c(programs);
  target t;
  t.name = "b1";
  t.kind = "local";
  t.ssh = "ssh://builder@198.51.100.7:2222";
  ASSERT_TRUE(c.hosts().run_words(t, {"true"}));
  ASSERT_EQ(programs.seen.size(), 1U);
  const std::vector<std::string>& argv = programs.seen.front();
  EXPECT_EQ(argv.front(), "ssh");
  const auto has_option = [&](const std::string& option) {
    const auto at = std::find(argv.begin(), argv.end(), option);
    return at != argv.end() && *(at - 1) == "-o";
  };
  for (const char* option :
       {"IdentitiesOnly=yes",
        "BatchMode=yes",
        "ConnectTimeout=15",
        "StrictHostKeyChecking=accept-new",
        "GlobalKnownHostsFile=/dev/null",
        "HostKeyAlias=b1",
        "ControlPath=none"}) {
    EXPECT_TRUE(has_option(option)) << option;
  }
  EXPECT_TRUE(has_option("UserKnownHostsFile=\"" + c.pins() + "\""));
  EXPECT_THAT(argv, testing::Contains("-i"));
  EXPECT_THAT(argv, testing::Not(testing::Contains("-F"))); // the user's ProxyJump applies
  const auto end = std::find(argv.begin(), argv.end(), "--");
  ASSERT_EQ(argv.end() - end, 3); // destination and one argument
  EXPECT_EQ(*(end - 2), "-p");
  EXPECT_EQ(*(end - 1), "2222");
  EXPECT_EQ(end[1], "builder@198.51.100.7");
}

TEST(channel, many_hosts_are_asked_at_once) {
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  std::vector<std::string> outputs(8);
  {
    std::vector<std::jthread> threads;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      threads.emplace_back([&, i] {
        const auto answer = c.hosts().run_words(host, {"echo", std::to_string(i)});
        outputs[i] = answer ? answer->output : answer.error().message;
      });
    }
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i], std::to_string(i) + "\n");
  }
}

TEST(ssh_answer, takes_the_marker_out_of_a_stream_cut_anywhere) {
  const std::string text =
      "stado-remote-stat\nus stado-remote-status-255\nrest\n"; // a beginning, then the marker
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::string seen;
    error_stream s([&](std::string_view bytes) { seen += bytes; });
    for (std::size_t at = 0; at < text.size(); at += size) {
      s.take(std::string_view(text).substr(at, size));
    }
    s.finish();
    EXPECT_TRUE(s.has_marker()) << size;
    EXPECT_EQ(seen, "stado-remote-stat\nus rest\n") << size;
  }
}

TEST(ssh_answer, sorts_failures_by_what_ssh_said) {
  struct row {
    const char* said;
    error_code code;
  };

  for (const row& r : {
           row{"ssh: connect to host h port 22: Connection refused\n", error_code::transient},
           row{"ssh: connect to host h port 22: Permission denied\n", error_code::transient},
           row{"ssh: Could not resolve hostname h: Name or service not known\n",
               error_code::transient},
           row{"u@h: Permission denied (publickey,password).\n", error_code::auth},
           row{"Received disconnect from h: Too many authentication failures\n", error_code::auth},
           row{"Host key verification failed.\n", error_code::forbidden},
           row{"Bad owner or permissions on /h/.ssh/config\n", error_code::invalid},
           row{"", error_code::transient},
       }) {
    EXPECT_EQ(failure_of_ssh(r.said).code, r.code) << r.said;
  }
  EXPECT_EQ(failure_of_ssh("").message, "the connection was lost");
}

TEST(remote_answer, R108_its_last_error_line_is_no_notice_of_ssh) {
  remote_answer a;
  EXPECT_EQ(a.last_error_line(), "");
  a.error_output =
      "cause\n\nWarning: Permanently added 'b1' (ED25519) to the list of known hosts.\r\n";
  EXPECT_EQ(a.last_error_line(), "cause");
  a.error_output = "** WARNING: connection is not using a post-quantum key exchange algorithm.\n";
  EXPECT_EQ(a.last_error_line(), "");
  a.error_output = "a\x1b[31mred\xff " + std::string(400, 'x');
  EXPECT_TRUE(a.last_error_line().starts_with("a\\x1b[31mred\\xff xxx"));
  EXPECT_LE(a.last_error_line().size(), 200U);
}

TEST(printable, escapes_what_a_terminal_would_act_on) {
  EXPECT_EQ(printable("tab\there\nline\x7f"), "tab\\there\\nline\\x7f");
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f"), "gr\xc3\xbc\xc3\x9f");
  EXPECT_EQ(
      printable("\xc2\x9b"
                "31m"),
      "\\xc2\\x9b31m"
  ); // a control sequence of C1
  EXPECT_EQ(printable("\xc3"), "\\xc3");
  EXPECT_EQ(printable("\xe2\x82\xac\xed\xa0\x80"), "\xe2\x82\xac\\xed\\xa0\\x80"); // a surrogate
  EXPECT_EQ(printable("abcdef", 3), "abc");
}

TEST(shell_quoted, is_one_word_for_a_shell) {
  EXPECT_EQ(shell_quoted("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_quoted(""), "''");
}

} // namespace
} // namespace siteagent::fleet
