// SPDX-License-Identifier: MIT
#include "core/base/decimal.hpp"
#include "core/host/process_state.hpp"

#include "support.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <clocale>
#include <csignal>

extern char** environ;

namespace {

using namespace support;

mode_t current_umask() {
  const mode_t now = ::umask(0);
  ::umask(now);
  return now;
}

// PLUG-05: what a plugin did to the process is undone after loading and after each create.
TEST(plugin_side_effects, are_undone_and_named) {
  std::signal(SIGTERM, SIG_DFL);
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGPIPE, SIG_IGN);
  ::umask(027);
  const std::string directory = std::filesystem::current_path();
  const std::string locale = std::setlocale(LC_ALL, nullptr);
  const captured_logs logs;
  const auto check = [&](const char* when) {
    EXPECT_EQ(std::signal(SIGTERM, SIG_DFL), SIG_DFL) << when;
    EXPECT_EQ(std::signal(SIGINT, SIG_DFL), SIG_DFL) << when;
    EXPECT_EQ(std::signal(SIGPIPE, SIG_IGN), SIG_IGN) << when;
    EXPECT_EQ(current_umask(), mode_t{027}) << when;
    EXPECT_EQ(std::filesystem::current_path(), directory) << when;
    EXPECT_EQ(std::setlocale(LC_ALL, nullptr), locale) << when;
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    EXPECT_EQ(sigismember(&mask, SIGTERM), 0) << when;
  };
  const auto plugin = load("side-effects", broken_plugins());
  ASSERT_NE(plugin, nullptr);
  check("after load");
  ASSERT_TRUE(host::instance::open(plugin, options_with(mapping({}))));
  check("after create");
  for (const char* what :
       {"SIGTERM",
        "SIGPIPE",
        "umask",
        "locale",
        "working directory",
        "signal mask",
        "side-effects"}) {
    EXPECT_NE(logs.text().find(what), std::string::npos) << what << "\n" << logs.text();
  }
  ::umask(022);
}

TEST(process_guard, says_nothing_when_nothing_changed) {
  const captured_logs logs;
  { const host::process_guard guard("x"); }
  EXPECT_EQ(logs.text(), "");
}

TEST(process_guard, overlapping_another_restores_the_state_before_the_first) {
  ::umask(022);
  auto first = std::make_unique<host::process_guard>("first");
  ::umask(0);
  auto second = std::make_unique<host::process_guard>("second");
  first.reset();
  EXPECT_EQ(current_umask(), mode_t{022});
  ::umask(0);
  second.reset();
  EXPECT_EQ(current_umask(), mode_t{022});
}

// TIME-01: figures do not depend on the locale a plugin may have set.
TEST(numbers, do_not_follow_the_locale) {
  const std::string before = std::setlocale(LC_ALL, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8", "tr_TR.UTF-8", "C.UTF-8"}) {
    std::setlocale(LC_ALL, locale); // absent ones change nothing
    EXPECT_EQ(siteagent::base::decimal::parse("1.50")->to_string(), "1.50");
    EXPECT_EQ(siteagent::base::json::number("1.5").dump(), "1.5");
  }
  std::setlocale(LC_ALL, before.c_str());
}

int run_probe(const char* mode) {
  const std::string directory = broken_plugins();
  const char* const arguments[] = {"exit_probe", mode, directory.c_str(), nullptr};
  posix_spawn_file_actions_t quiet;
  ::posix_spawn_file_actions_init(&quiet);
  ::posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = -1;
  const int failed = ::posix_spawn(
      &child, SITEAGENT_EXIT_PROBE, &quiet, nullptr, const_cast<char* const*>(arguments), environ
  );
  ::posix_spawn_file_actions_destroy(&quiet);
  int status = -1;
  if (failed != 0 || ::waitpid(child, &status, 0) != child) {
    return -1;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct way_out {
  const char* mode;
  int status;
};

class plugin_exit : public testing::TestWithParam<way_out> {};

// PLUG-01: exit handlers, statics and thread-locals of a plugin run while it is still mapped.
TEST_P(plugin_exit, has_the_intended_status_fifty_times) {
  for (int i = 0; i < 50; ++i) {
    ASSERT_EQ(run_probe(GetParam().mode), GetParam().status) << "run " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    ways,
    plugin_exit,
    testing::Values(
        way_out{"normal", 0},
        way_out{"sigterm", 0},
        way_out{"configuration", 1},
        way_out{"create", 1}
    ),
    [](const auto& given) { return std::string(given.param.mode); }
);

} // namespace
