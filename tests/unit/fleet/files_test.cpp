// SPDX-License-Identifier: MIT
#include "tests/unit/fleet/scratch.hpp"

#include <gtest/gtest.h>

#include <sys/file.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <thread>

namespace siteagent::fleet {
namespace {

using tests::mode_of;
using tests::names_in;
using tests::scratch;

// Runs `work` in a child process; its wait status.
template <class Work>
int in_child(Work work) {
  const pid_t child = fork();
  if (child == 0) {
    work();
    _exit(0);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(files, replacing_keeps_the_mode_and_a_new_file_is_the_owners_alone) {
  const scratch s;
  ASSERT_TRUE(replace_file(s.path("new"), "a"));
  EXPECT_EQ(mode_of(s.path("new")), 0600U);
  s.write("old", "a", 0640);
  ASSERT_TRUE(replace_file(s.path("old"), "b"));
  EXPECT_EQ(mode_of(s.path("old")), 0640U);
  EXPECT_EQ(s.read("old"), "b");
  ASSERT_TRUE(replace_file(s.path("old"), "c", 0600));
  EXPECT_EQ(mode_of(s.path("old")), 0600U);
  EXPECT_EQ(names_in(s.home(), true).size(), 2U);
}

TEST(files, replacing_through_a_symbolic_link_keeps_the_link) {
  const scratch s;
  s.write("real/file", "a", 0644);
  std::filesystem::create_symlink(s.path("real/file"), s.path("link"));
  ASSERT_TRUE(replace_file(s.path("link"), "b"));
  EXPECT_TRUE(std::filesystem::is_symlink(s.path("link")));
  EXPECT_EQ(s.read("real/file"), "b");
  EXPECT_EQ(mode_of(s.path("real/file")), 0644U);
}

TEST(files, replacing_keeps_the_owner_where_it_can) {
  if (geteuid() != 0) {
    GTEST_SKIP() << "only root can give a file away";
  }
  const scratch s;
  s.write("file", "a");
  ASSERT_EQ(chown(s.path("file").c_str(), 65'534, 65'534), 0);
  ASSERT_TRUE(replace_file(s.path("file"), "b"));

  struct stat now {};

  ASSERT_EQ(stat(s.path("file").c_str(), &now), 0);
  EXPECT_EQ(now.st_uid, 65'534U);
  EXPECT_EQ(now.st_gid, 65'534U);
}

TEST(files, CONC_03_a_full_file_system_leaves_the_old_file_and_no_temporary_one) {
  const scratch s;
  s.write("file", "old");
  const int status = in_child([&] {
    (void)std::signal(SIGXFSZ, SIG_IGN); // writing beyond the limit fails, as on a full disk
    const rlimit small{4096, 4096};
    (void)setrlimit(RLIMIT_FSIZE, &small);
    const auto replaced = replace_file(s.path("file"), std::string(1 << 20, 'x'));
    _exit(replaced ? 1 : 0);
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(s.read("file"), "old");
  EXPECT_EQ(names_in(s.home(), true), std::vector<std::string>{"file"});
}

TEST(files, CONC_03_a_process_that_dies_in_the_middle_of_a_write_leaves_the_old_file) {
  const scratch s;
  s.write("file", "old");
  const int status = in_child([&] {
    (void)std::signal(SIGXFSZ, SIG_DFL); // the kernel ends the process inside write()
    const rlimit small{4096, 4096};
    (void)setrlimit(RLIMIT_FSIZE, &small);
    (void)replace_file(s.path("file"), std::string(1 << 20, 'x')).has_value();
  });
  ASSERT_TRUE(WIFSIGNALED(status));
  EXPECT_EQ(s.read("file"), "old");
  ASSERT_EQ(names_in(s.home(), true).size(), 2U);
  // What it left goes an hour later.
  for (const std::string& name : names_in(s.home(), true)) {
    std::filesystem::last_write_time(
        s.path(name), std::filesystem::file_time_type::clock::now() - std::chrono::hours(2)
    );
  }
  ASSERT_TRUE(replace_file(s.path("file"), "new"));
  EXPECT_EQ(names_in(s.home(), true), std::vector<std::string>{"file"});
}

TEST(files, CONC_03_killed_writers_leave_one_whole_document) {
  const scratch s;
  const std::string a(200'000, 'a');
  const std::string b(200'000, 'b');
  s.write("file", a);
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (bool odd = false;; odd = !odd) {
        (void)replace_file(s.path("file"), odd ? a : b).has_value();
      }
    }
    const std::string first = s.read("file");
    while (s.read("file") == first) { // it has written at least once
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string now = s.read("file");
    EXPECT_TRUE(now == a || now == b) << now.size();
  }
}

TEST(files, R95_a_file_is_created_whole_or_not_at_all) {
  const scratch s;
  ASSERT_TRUE(create_file(s.path("file"), "first"));
  const auto again = create_file(s.path("file"), "second");
  ASSERT_FALSE(again);
  EXPECT_EQ(again.error().code, base::error_code::conflict);
  EXPECT_EQ(s.read("file"), "first");
  EXPECT_EQ(mode_of(s.path("file")), 0600U);
  EXPECT_EQ(names_in(s.home(), true), std::vector<std::string>{"file"});
}

TEST(files, reading_tells_what_is_wrong) {
  const scratch s;
  EXPECT_EQ(read_file(s.path("none")).error().code, base::error_code::not_found);
  EXPECT_NE(read_file(s.home()).error().message.find("no regular file"), std::string::npos);
  s.write("file", std::string(100'000, 'x'));
  EXPECT_EQ(read_file(s.path("file"))->size(), 100'000U);
  s.write("empty", "");
  EXPECT_EQ(*read_file(s.path("empty")), "");
  std::ofstream(s.path("huge")).close();
  ASSERT_EQ(truncate(s.path("huge").c_str(), (64L << 20) + 1), 0);
  EXPECT_NE(read_file(s.path("huge")).error().message.find("64 MiB"), std::string::npos);
}

TEST(files, new_directories_are_the_owners_alone) {
  const scratch s;
  ASSERT_TRUE(make_directories(s.path("a/b/c")));
  EXPECT_EQ(mode_of(s.path("a")), 0700U);
  EXPECT_EQ(mode_of(s.path("a/b/c")), 0700U);
  ASSERT_TRUE(make_directories(s.path("a/b/c")));
  s.write("file", "");
  EXPECT_FALSE(make_directories(s.path("file/x")));
}

TEST(files, removing_what_is_not_there_is_said) {
  const scratch s;
  s.write("file", "");
  EXPECT_TRUE(*remove_file(s.path("file")));
  EXPECT_FALSE(*remove_file(s.path("file")));
}

TEST(file_lock, is_exclusive_and_names_its_holder) {
  const scratch s;
  auto first = file_lock::take(s.path("locks/a"), "the first", {});
  ASSERT_TRUE(first);
  EXPECT_EQ(mode_of(s.path("locks/a")), 0600U);
  std::string waited_for;
  const auto second = file_lock::take(
      s.path("locks/a"),
      "the second",
      {.longest = std::chrono::milliseconds(20),
       .on_wait = [&](const std::string& holder) { waited_for = holder; }}
  );
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::error_code::conflict);
  const std::string me = "pid " + std::to_string(getpid()) + " on ";
  EXPECT_NE(second.error().message.find(me), std::string::npos);
  EXPECT_NE(second.error().message.find(": the first"), std::string::npos);
  EXPECT_NE(second.error().detail.find("held_by"), std::string::npos);
  EXPECT_EQ(waited_for.rfind(me, 0), 0U);
}

TEST(file_lock, is_free_when_its_holder_lets_go_moves_or_dies) {
  const scratch s;
  const file_lock::waiting at_once{.longest = std::chrono::milliseconds(0), .on_wait = {}};
  {
    auto held = file_lock::take(s.path("a"), "x", at_once);
    ASSERT_TRUE(held);
    const file_lock moved = *std::move(held);
    EXPECT_FALSE(file_lock::take(s.path("a"), "y", at_once));
  }
  EXPECT_TRUE(file_lock::take(s.path("a"), "y", at_once));
  const int status = in_child([&] {
    const auto held = file_lock::take(s.path("a"), "x", at_once);
    kill(getpid(), SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status));
  EXPECT_TRUE(file_lock::take(s.path("a"), "y", at_once));
}

TEST(file_lock, a_stop_ends_the_wait) {
  const scratch s;
  const auto held = file_lock::take(s.path("a"), "x", {});
  std::stop_source stop;
  const auto second = file_lock::take(
      s.path("a"),
      "y",
      {.longest = std::chrono::minutes(30),
       .on_wait = [&](const std::string&) { stop.request_stop(); }},
      stop.get_token()
  );
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, base::error_code::cancelled);
}

TEST(file_lock, fifty_waiters_all_get_their_turn) {
  const scratch s;
  s.write("count", "0");
  std::vector<pid_t> children;
  for (int n = 0; n < 50; ++n) {
    const pid_t child = fork();
    if (child == 0) {
      const auto held = file_lock::take(s.path("a"), "x", {});
      const int count = std::atoi(s.read("count").c_str());
      (void)replace_file(s.path("count"), std::to_string(count + 1)).has_value();
      _exit(held ? 0 : 1);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(s.read("count"), "50");
}

} // namespace
} // namespace siteagent::fleet
