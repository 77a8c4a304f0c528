// SPDX-License-Identifier: MIT
#include "core/fleet/runner.hpp"
#include "tests/integration/process.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>
#include <thread>

namespace siteagent::fleet {
namespace {

using base::error_code;
using integration::read_file;
using integration::temp_dir;
using std::chrono::milliseconds;

command bash(const std::string& script) {
  return {.argv = {"/bin/bash", "-c", script}};
}

TEST(runner, gives_status_and_both_streams) {
  const auto f = system_runner().run(bash("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->status, 3);
  EXPECT_EQ(f->signal, 0);
  EXPECT_EQ(f->output, "out\n");
  EXPECT_EQ(f->error_output, "err\n");
}

TEST(runner, finds_a_program_on_the_path_and_says_when_there_is_none) {
  EXPECT_TRUE(system_runner().run({.argv = {"true"}}));
  const auto none = system_runner().run({.argv = {"no-such-program-here"}});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, error_code::not_found);
  EXPECT_EQ(
      none.error().message, "cannot run no-such-program-here: there is no such program; install it"
  );
}

TEST(runner, passes_a_megabyte_of_any_bytes_through_standard_input_and_back) {
  std::string bytes;
  for (int i = 0; i < (1 << 20); ++i) {
    bytes += static_cast<char>(i * 7 % 256);
  }
  const auto f = system_runner().run({.argv = {"cat"}, .input = bytes});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->output, bytes);
  EXPECT_FALSE(f->output_was_cut);
}

TEST(runner, a_program_that_does_not_read_its_input_is_no_failure) {
  const auto f = system_runner().run({.argv = {"true"}, .input = std::string(1 << 20, 'x')});
  ASSERT_TRUE(f) << f.error().message;
  EXPECT_EQ(f->status, 0);
}

TEST(runner, keeps_as_much_output_as_asked_and_reads_the_rest) {
  command c = bash("head -c 100000 /dev/zero; echo end >&2");
  c.most_output = 10;
  const auto f = system_runner().run(c);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->output.size(), 10U);
  EXPECT_TRUE(f->output_was_cut);
  EXPECT_EQ(f->error_output, "end\n");
}

TEST(runner, streams_output_as_it_comes) {
  std::string out;
  std::string err;
  command c = bash("printf a; printf b >&2; printf '\\0c'");
  c.on_output = [&](std::string_view bytes) { out += bytes; };
  c.on_error_output = [&](std::string_view bytes) { err += bytes; };
  const auto f = system_runner().run(c);
  ASSERT_TRUE(f);
  EXPECT_EQ(out, std::string("a\0c", 3));
  EXPECT_EQ(err, "b");
  EXPECT_EQ(f->output, "");
}

TEST(runner, a_descriptor_can_be_the_standard_input) {
  const temp_dir folder;
  integration::write_file(folder.file("in"), "from a file");
  const int fd = ::open(folder.file("in").c_str(), O_RDONLY | O_CLOEXEC);
  const auto f = system_runner().run({.argv = {"cat"}, .input_fd = fd});
  ::close(fd);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->output, "from a file");
}

TEST(runner, without_input_the_program_reads_an_empty_one) {
  const auto f = system_runner().run({.argv = {"cat"}});
  ASSERT_TRUE(f);
  EXPECT_EQ(f->output, "");
}

TEST(runner, sets_variables_over_those_it_inherits) {
  command c = bash("echo \"$HOME|$NEW\"");
  c.set = {{"HOME", "/elsewhere"}, {"NEW", "a b"}};
  const auto f = system_runner().run(c);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->output, "/elsewhere|a b\n");
}

TEST(runner, children_inherit_no_descriptor_and_have_default_signals) {
  // One without O_CLOEXEC, as libraries make them.
  const int leaked = ::socket(AF_INET, SOCK_STREAM, 0); // NOLINT(android-cloexec-socket)
  ::signal(SIGUSR1, SIG_IGN);
  const auto f =
      system_runner().run(bash("ls /proc/self/fd | wc -l; trap -p; kill -USR1 $$; echo not ended"));
  ::signal(SIGUSR1, SIG_DFL);
  ::close(leaked);
  ASSERT_TRUE(f);
  EXPECT_EQ(f->output, "4\n"); // 0, 1, 2 and the folder itself
  EXPECT_EQ(f->signal, SIGUSR1);
  EXPECT_EQ(f->status, 128 + SIGUSR1);
}

// The script writes the number of a grandchild that outlives its parent unless it is killed.
std::string with_grandchild(const std::string& file, const std::string& then) {
  return "sleep 600 & echo $! > " + file + "; " + then;
}

// Killed, or about to be: the kernel tells when.
bool is_gone(const std::string& file) {
  const int id = std::stoi(read_file(file));
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, id, 0));
  if (fd < 0) {
    return true;
  }
  pollfd p{fd, POLLIN, 0};
  const bool gone = ::poll(&p, 1, 10'000) == 1;
  ::close(fd);
  return gone;
}

TEST(runner, the_cap_ends_the_program_and_its_grandchildren) {
  const temp_dir folder;
  command c = bash(with_grandchild(folder.file("id"), "trap '' TERM; wait"));
  c.cap = milliseconds(300);
  const auto f = system_runner().run(c);
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, error_code::deadline);
  EXPECT_EQ(f.error().message, "/bin/bash did not end within 1 s");
  EXPECT_TRUE(is_gone(folder.file("id")));
}

TEST(runner, a_stop_ends_it_politely_first) {
  const temp_dir folder;
  std::stop_source stop;
  command c = bash(with_grandchild(
      folder.file("id"), "trap 'echo told > " + folder.file("told") + "; exit' TERM; echo on; wait"
  ));
  c.on_output = [&](std::string_view) { stop.request_stop(); };
  const auto f = system_runner().run(c, stop.get_token());
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, error_code::cancelled);
  EXPECT_EQ(read_file(folder.file("told")), "told\n");
  EXPECT_TRUE(is_gone(folder.file("id")));
}

TEST(runner, a_stop_ends_also_who_does_not_listen) {
  std::stop_source stop;
  command c = bash("trap '' TERM; echo on; while :; do sleep 600; done");
  c.cap = milliseconds(0);
  c.on_output = [&](std::string_view) { stop.request_stop(); };
  const auto f = system_runner().run(c, stop.get_token());
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, error_code::cancelled);
}

TEST(runner, a_stop_before_the_start_starts_nothing) {
  const temp_dir folder;
  std::stop_source stop;
  stop.request_stop();
  const auto f = system_runner().run({.argv = {"touch", folder.file("x")}}, stop.get_token());
  ASSERT_FALSE(f);
  EXPECT_EQ(f.error().code, error_code::cancelled);
  EXPECT_FALSE(std::filesystem::exists(folder.file("x")));
}

TEST(runner, many_programs_run_at_once) {
  std::vector<std::jthread> threads;
  std::vector<std::string> outputs(16);
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    threads.emplace_back([&outputs, i] {
      const auto f = system_runner().run({.argv = {"cat"}, .input = std::to_string(i)});
      outputs[i] = f ? f->output : f.error().message;
    });
  }
  threads.clear();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(outputs[i], std::to_string(i));
  }
}

} // namespace
} // namespace siteagent::fleet
