// SPDX-License-Identifier: MIT
#include "core/fleet/user_data.hpp"
#include "tests/fleet/control.hpp"
#include "tests/fleet/scripted_channel.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace siteagent::fleet {
namespace {

using base::error_code;
using std::chrono::milliseconds;
using std::chrono::seconds;
using test::control;
using test::machine;
using test::scripted_channel;
using testing::HasSubstr;

target b1() {
  target t;
  t.name = "b1";
  t.kind = "local";
  t.ssh = "u@198.51.100.7";
  return t;
}

// What a machine says to the boot check.
struct boot_answers {
  scripted_channel::answer wait = scripted_channel::said("\nstatus: done\n");
  scripted_channel::answer json = scripted_channel::said(R"({"status":"done","errors":[]})");
  scripted_channel::answer rustc = scripted_channel::said("rustc 1.91.1 (ed61e7d7e 2025-11-07)\n");
  scripted_channel::answer node = scripted_channel::said("v18.19.0\n");
  scripted_channel::answer npm = scripted_channel::said("9.2.0\n");
};

base::result<boot_report> check(const boot_answers& a, std::vector<std::string>* calls = nullptr) {
  scripted_channel c([&](const std::string&, const std::string& words) {
    return words.ends_with("cloud-init status --wait")       ? a.wait
           : words == "cloud-init status --format json"      ? a.json
           : words == "\"$HOME/.cargo/bin/rustc\" --version" ? a.rustc
           : words == "node --version"                       ? a.node
           : words == "npm --version"                        ? a.npm
                                      : scripted_channel::failed(error_code::plugin_bug, words);
  });
  base::manual_clock clock;
  auto report = check_boot(c, b1(), {}, clock, {});
  if (calls != nullptr) {
    *calls = c.calls;
  }
  return report;
}

TEST(check_boot, R48_waits_and_then_asks_for_three_versions) {
  std::vector<std::string> calls;
  const auto r = check({}, &calls);
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(r->exit_code, 0);
  EXPECT_EQ(r->status, "done");
  EXPECT_EQ(r->rustc, "rustc 1.91.1 (ed61e7d7e 2025-11-07)");
  EXPECT_EQ(r->node, "v18.19.0");
  EXPECT_EQ(r->npm, "9.2.0");
  EXPECT_EQ(
      calls,
      (std::vector<std::string>{
          "b1: timeout -k 5 2700 cloud-init status --wait",
          "b1: cloud-init status --format json",
          "b1: \"$HOME/.cargo/bin/rustc\" --version",
          "b1: node --version",
          "b1: npm --version"})
  );
}

struct boot_row {
  const char* what;
  int exit;
  const char* json;
  const char* refusal; // "" = clean
};

class boot_table : public testing::TestWithParam<boot_row> {};

TEST_P(boot_table, T12_R130) {
  boot_answers a;
  a.wait = scripted_channel::said("....\nstatus: done\n", GetParam().exit);
  a.json = scripted_channel::said(GetParam().json, GetParam().exit);
  const auto r = check(a);
  const std::string refusal = GetParam().refusal;
  ASSERT_EQ(r.has_value(), refusal.empty()) << GetParam().what;
  if (!r) {
    EXPECT_EQ(r.error().code, error_code::refused);
    EXPECT_EQ(
        r.error().message, "b1: the first boot did not finish cleanly (cloud-init status " + refusal
    );
  }
}

constexpr const char* log_named = "; see /var/log/cloud-init-output.log on the host";

INSTANTIATE_TEST_SUITE_P(
    check_boot,
    boot_table,
    testing::Values(
        boot_row{"22.4: clean", 0, R"({"status":"done","errors":[],"schemas":{}})", ""},
        boot_row{
            "24: clean",
            0,
            R"({"status":"done","extended_status":"done","errors":[],"recoverable_errors":{}})",
            ""},
        boot_row{
            "24: notices only",
            0,
            R"({"status":"done","extended_status":"degraded done","errors":[],)"
            R"("recoverable_errors":{"DEPRECATED":["old key"],"INFO":["x"]}})",
            ""},
        boot_row{"20: no --format json", 0, "usage: cloud-init status [-h]", ""},
        boot_row{
            "22.4: an error behind status 0",
            0,
            R"j({"status":"error","errors":["('scripts-user', 1)"]})j",
            "exit 0: error); see /var/log/cloud-init-output.log on the host: ('scripts-user', 1)"},
        boot_row{
            "22.4: error",
            1,
            R"({"status":"error","errors":["one","two\nlines","3","4","5","6"]})",
            "exit 1: error); see /var/log/cloud-init-output.log on the host: "
            "one; two\\nlines; 3; 4; 5"},
        boot_row{
            "24: degraded",
            2,
            R"({"status":"done","extended_status":"degraded done","errors":[],)"
            R"("recoverable_errors":{"WARNING":["w"],"DEPRECATED":["d"]}})",
            "exit 2: done); see /var/log/cloud-init-output.log on the host: w"},
        boot_row{
            "a distribution that answers 0 for degraded",
            0,
            R"({"status":"done","errors":[],"recoverable_errors":{"ERROR":["e"]}})",
            "exit 0: done); see /var/log/cloud-init-output.log on the host: e"},
        boot_row{
            "disabled",
            0,
            R"({"status":"disabled","errors":[]})",
            "exit 0: disabled); see /var/log/cloud-init-output.log on the host"},
        boot_row{
            "no data source",
            0,
            R"({"status":"not run","errors":[]})",
            "exit 0: not run); see /var/log/cloud-init-output.log on the host"},
        boot_row{
            "still running",
            0,
            R"({"status":"running","errors":[]})",
            "exit 0: running); see /var/log/cloud-init-output.log on the host"},
        boot_row{
            "not installed",
            127,
            "",
            "exit 127: cloud-init is not installed); "
            "see /var/log/cloud-init-output.log on the host"}
    )
);

TEST(check_boot, F38_a_missing_program_is_named_with_the_log) {
  struct row {
    const char* program;
    scripted_channel::answer boot_answers::*member;
    scripted_channel::answer answer;
    const char* said;
  };

  for (const row& r : {
           row{"$HOME/.cargo/bin/rustc",
               &boot_answers::rustc,
               scripted_channel::said("", 127, "No such file or directory\n"),
               "exit 127: No such file or directory"},
           row{"node", &boot_answers::node, scripted_channel::said("", 127), "exit 127"},
           row{"npm", &boot_answers::npm, scripted_channel::said("\n"), "exit 0"},
           row{"node", &boot_answers::node, scripted_channel::said("v1\nv2\n"), "exit 0"},
       }) {
    boot_answers a;
    a.*(r.member) = r.answer;
    const auto checked = check(a);
    ASSERT_FALSE(checked);
    EXPECT_EQ(checked.error().code, error_code::refused);
    EXPECT_EQ(
        checked.error().message,
        std::string("b1: the first boot did not finish cleanly (") + r.program + " --version " +
            r.said + ")" + log_named
    );
  }
}

TEST(check_boot, case_ssh_03_reconnects_after_each_loss_within_the_total_time) {
  base::manual_clock clock;
  int losses = 0;
  scripted_channel c([&](const std::string&, const std::string& words) {
    clock.advance(seconds(100));
    if (words.ends_with("--wait") && ++losses <= 5) {
      return scripted_channel::failed(error_code::transient, "b1: no connection");
    }
    if (words.ends_with("json")) {
      return scripted_channel::said(R"({"status":"done","errors":[]})");
    }
    return scripted_channel::said("1.0\n");
  });
  std::vector<std::string> told;
  boot_patience p;
  p.every = milliseconds(1);
  p.waiting = [&](const std::string& what) { told.push_back(what); };
  const auto r = check_boot(c, b1(), p, clock, {});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_EQ(told.size(),
            6U); // what it waits for, and five losses
  EXPECT_EQ(told[0], "cloud-init to finish");
  EXPECT_EQ(told[1], "b1: no connection");
  EXPECT_EQ(c.caps[0], seconds(2'700));
  EXPECT_EQ(c.caps[1],
            seconds(2'600)); // what is left
}

TEST(check_boot, SSH_04_F37_a_boot_without_end_is_refused_with_its_last_status) {
  for (const bool by_host : {true, false}) {
    base::manual_clock clock;
    scripted_channel c([&](const std::string&, const std::string& words) {
      if (words.ends_with("--wait")) {
        clock.advance(seconds(2'700));
        return by_host ? scripted_channel::said(".....", 124)
                       : scripted_channel::failed(error_code::deadline, "b1: no end");
      }
      return scripted_channel::said(R"({"status":"running","errors":["early failure"]})");
    });
    const auto r = check_boot(c, b1(), {}, clock, {});
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, error_code::deadline);
    EXPECT_EQ(
        r.error().message,
        "b1: the first boot did not finish cleanly (cloud-init status did not end within 2700 s: "
        "running); see /var/log/cloud-init-output.log on the host: early failure"
    );
  }
}

TEST(check_boot, a_host_that_stays_away_is_a_boot_that_did_not_end) {
  base::manual_clock clock;
  scripted_channel c([&](const std::string&, const std::string&) {
    clock.advance(seconds(600));
    return scripted_channel::failed(error_code::transient, "b1: no connection");
  });
  boot_patience p;
  p.every = milliseconds(1);
  const auto r = check_boot(c, b1(), p, clock, {});
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, error_code::deadline);
  EXPECT_THAT(r.error().message, HasSubstr("did not end within 2700 s: unknown"));
}

TEST(check_boot, another_host_key_or_a_refused_key_is_final) {
  for (const error_code code : {error_code::forbidden, error_code::auth, error_code::cancelled}) {
    boot_answers a;
    a.wait = scripted_channel::failed(code, "b1: cause");
    const auto r = check(a);
    ASSERT_FALSE(r);
    EXPECT_EQ(r.error().code, code);
  }
}

TEST(check_boot, a_stop_ends_the_wait) {
  std::stop_source stop;
  base::manual_clock clock;
  scripted_channel c([](const std::string&, const std::string&) {
    return scripted_channel::failed(error_code::transient);
  });
  boot_patience p;
  p.every = seconds(600);
  p.waiting = [&](const std::string& what) {
    if (what != "cloud-init to finish") {
      stop.request_stop();
    }
  };
  const auto r = check_boot(c, b1(), p, clock, stop.get_token());
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, error_code::cancelled);
}

TEST(check_boot, case_ssh_03_an_sshd_killed_twice_in_the_middle_of_the_wait) {
  machine m("b1");
  control c;
  const target host = c.target_of(m);
  // Waits until it is asked the third time, as a boot does that restarts sshd.
  m.shim(
      "cloud-init",
      "case \" $* \" in *' --wait '*)\n"
      "  echo x >> \"$HOME/waits\"\n"
      "  [ \"$(wc -l < \"$HOME/waits\")\" -ge 3 ] || exec sleep 600\n"
      "  echo 'status: done' ;;\n"
      "*) echo '{\"status\":\"done\",\"errors\":[]}' ;; esac"
  );
  boot_patience p;
  p.every = milliseconds(10);
  int losses = 0;
  p.waiting = [&](const std::string& what) { losses += what != "cloud-init to finish" ? 1 : 0; };
  std::jthread killer([&](std::stop_token) {
    for (const std::string seen : {"x\n", "x\nx\n"}) {
      if (machine::wait_for(m.home(), [&] { return m.file("waits") == seen; })) {
        m.stop();
        m.start();
      }
    }
  });
  const auto r = check_boot(c.hosts(), host, p, base::real_clock(), {});
  ASSERT_TRUE(r) << r.error().message;
  EXPECT_GE(losses, 2);
  EXPECT_EQ(r->rustc, "rustc 1.91.1 (ed61e7d7e 2025-11-07)");
}

TEST(check_boot, case_ssh_04_leaves_no_waiter_on_the_host) {
  if (!machine::has_own_processes()) {
    GTEST_SKIP() << "without a process table of its own the waiter cannot be told from others";
  }
  const machine m("b1");
  control c;
  const target host = c.target_of(m);
  m.shim(
      "cloud-init",
      "case \" $* \" in *' --wait '*) trap '' HUP; exec sleep 600 ;; esac\n"
      "echo '{\"status\":\"running\",\"errors\":[]}'"
  );
  boot_patience p;
  p.longest = seconds(2);
  const auto r = check_boot(c.hosts(), host, p, base::real_clock(), {});
  ASSERT_FALSE(r);
  EXPECT_THAT(r.error().message, HasSubstr("did not end within 2 s: running"));
  // timeout(1) ends it at the same moment; what is read afterwards is read later.
  EXPECT_TRUE(c.hosts().run_script(host, "while pgrep -x sleep >/dev/null; do :; done"));
}

} // namespace
} // namespace siteagent::fleet
