// SPDX-License-Identifier: MIT
// The program itself: many at once, signals, core dumps.
#include "core/fleet/registry_document.hpp"
#include "core/fleet/runner.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>

namespace siteagent::fleet {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using tests::parsed;
using tests::sample_registry;
using tests::scratch;

constexpr const char* program = SITEAGENT_BIN_DIR "/stado";

finished run(const scratch& s, std::vector<std::string> words) {
  command c;
  c.argv = std::move(words);
  c.argv.insert(c.argv.begin(), program);
  c.set = {{"HOME", s.home()}, {"STADO_CONFIG", s.path("none.json")}};
  auto done = system_runner().run(c);
  if (!done) {
    throw std::runtime_error(done.error().message);
  }
  return *std::move(done);
}

// Started with standard input and output as pipes; ended by its id.
class started {
public:
  started(const scratch& s, std::vector<std::string> words) {
    int in[2];
    int out[2];
    if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) {
      throw std::runtime_error("no pipe");
    }
    words.insert(words.begin(), program);
    id_ = fork();
    if (id_ == 0) {
      rlimit core{};
      (void)getrlimit(RLIMIT_CORE, &core);
      core.rlim_cur = core.rlim_max; // it must forbid them itself
      (void)setrlimit(RLIMIT_CORE, &core);
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      dup2(out[1], STDERR_FILENO);
      (void)chdir(s.home().c_str());
      setenv("HOME", s.home().c_str(), 1);
      std::vector<char*> argv;
      for (std::string& word : words) {
        argv.push_back(word.data());
      }
      argv.push_back(nullptr);
      execv(program, argv.data());
      _exit(127);
    }
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
  }

  started(const started&) = delete;
  started& operator=(const started&) = delete;

  ~started() {
    if (id_ > 0) {
      kill(id_, SIGKILL);
      waitpid(id_, nullptr, 0);
    }
    close(to_);
    close(from_);
  }

  pid_t id() const { return id_; }

  // Until what it said so far contains `text`.
  bool says(const std::string& text) {
    std::array<char, 4096> some{};
    while (said_.find(text) == std::string::npos) {
      const ssize_t n = read(from_, some.data(), some.size());
      if (n <= 0) {
        return false;
      }
      said_.append(some.data(), static_cast<std::size_t>(n));
    }
    return true;
  }

  int end() {
    int status = -1;
    waitpid(id_, &status, 0);
    id_ = -1;
    return status;
  }

private:
  pid_t id_ = -1;
  int to_ = -1;
  int from_ = -1;
  std::string said_;
};

// Asleep in the read of its standard input.
bool waits_for_input(pid_t id) {
  for (;;) {
    const auto call = read_file("/proc/" + std::to_string(id) + "/syscall");
    if (!call || call->empty()) {
      return false;
    }
    if (call->starts_with("0 0x0 ")) {
      return true;
    }
    std::this_thread::yield();
  }
}

TEST(stado_process, T6_fifty_programs_that_set_at_once_lose_nothing_that_they_reported) {
  const scratch s;
  s.write_registry(sample_registry);
  std::vector<std::thread> threads;
  std::vector<int> status(50, -1);
  for (std::size_t n = 0; n < status.size(); ++n) {
    threads.emplace_back([&, n] {
      status[n] =
          run(s, {"registry", "set", "--path", "w" + std::to_string(n), "--value", "1"}).status;
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  const base::json now = parsed(s.registry());
  std::size_t written = 0;
  for (std::size_t n = 0; n < status.size(); ++n) {
    EXPECT_TRUE(status[n] == 0 || status[n] == 75) << status[n];
    EXPECT_EQ(now.find("w" + std::to_string(n)) != nullptr, status[n] == 0) << n;
    written += status[n] == 0 ? 1 : 0;
  }
  EXPECT_GE(written, 1U);
  EXPECT_FALSE(validate_registry(now));
}

TEST(stado_process, R106_a_signal_ends_a_command_that_has_nothing_to_undo) {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const scratch s;
    s.write_registry(sample_registry);
    started stado(s, {"registry", "push", "-"});
    if (!waits_for_input(stado.id())) {
      GTEST_SKIP() << "/proc/<pid>/syscall cannot be read here";
    }
    kill(stado.id(), number);
    EXPECT_TRUE(stado.says("Error: interrupted\n"));
    const int status = stado.end();
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), 128 + number);
    EXPECT_EQ(s.registry(), sample_registry);
  }
}

TEST(stado_process, R80_SEC_02_a_crash_leaves_no_core) {
  const scratch s;
  s.write_registry(sample_registry);
  started stado(s, {"registry", "push", "-"});
  if (!waits_for_input(stado.id())) {
    GTEST_SKIP() << "/proc/<pid>/syscall cannot be read here";
  }
  const auto limits = read_file("/proc/" + std::to_string(stado.id()) + "/limits");
  EXPECT_THAT(*limits, ::testing::ContainsRegex("Max core file size +0 "));
  kill(stado.id(), SIGABRT);
  const int status = stado.end();
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_FALSE(WCOREDUMP(status));
}

TEST(stado_process, standard_input_is_a_document_to_push) {
  const scratch s;
  s.write_registry(sample_registry);
  base::json document = parsed(sample_registry);
  document.set("x", 1);
  command c;
  c.argv = {program, "registry", "push", "-"};
  c.set = {{"HOME", s.home()}};
  c.input = document.dump();
  const auto done = system_runner().run(c);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->status, 0) << done->error_output;
  EXPECT_EQ(parsed(s.registry())["x"].integer(), 1);
}

TEST(stado_process, a_reader_that_goes_away_is_no_success) {
  const scratch s;
  s.write_registry(sample_registry);
  command c;
  c.argv = {"/bin/sh", "-c", "\"$0\" registry show >/dev/full; echo \"status $?\"", program};
  c.set = {{"HOME", s.home()}};
  const auto done = system_runner().run(c);
  ASSERT_TRUE(done);
  EXPECT_THAT(done->output, HasSubstr("status 1"));
}

TEST(stado_process, the_commands_work_in_any_locale) {
  const scratch s;
  s.write_registry(sample_registry);
  command c;
  c.argv = {program, "registry", "get", "--path", "targets.b1.cloud.hourly_usd"};
  c.set = {{"HOME", s.home()}, {"LC_ALL", "de_DE.UTF-8"}};
  EXPECT_EQ(system_runner().run(c)->output, "0.384\n");
}

} // namespace
} // namespace siteagent::fleet
