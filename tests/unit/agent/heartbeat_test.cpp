// SPDX-License-Identifier: MIT
// Nested activities, and offerings that share a pool.
#include "core/agent/heartbeat.hpp"
#include "core/agent/worker_pool.hpp"
#include "core/base/clock.hpp"

#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <thread>
#include <vector>

namespace siteagent::agent::test {

namespace {

using std::chrono::minutes;

TEST(nested_activities, a_parent_is_not_judged_while_a_child_is) {
  base::manual_clock clock;
  progress_board board(clock);
  const progress_board::activity pass = board.begin("pass", minutes(30));
  {
    const progress_board::activity create = board.begin("create", minutes(50));
    clock.advance(minutes(45));
    EXPECT_FALSE(board.find_stuck());
    clock.advance(minutes(10));
    EXPECT_EQ(board.find_stuck(), "create");
  }
  EXPECT_FALSE(board.find_stuck()) << "the end of the child was progress";
  clock.advance(minutes(31));
  EXPECT_EQ(board.find_stuck(), "pass");
}

TEST(nested_activities, an_answer_counts_for_all_that_wait_for_it) {
  base::manual_clock clock;
  progress_board board(clock);
  const progress_board::activity pass = board.begin("pass", minutes(30));
  const progress_board::activity step = board.begin("step", minutes(10));
  clock.advance(minutes(9));
  progress_board::touch_here();
  clock.advance(minutes(9));
  EXPECT_FALSE(board.find_stuck());
  clock.advance(minutes(2));
  EXPECT_EQ(board.find_stuck(), "step");
}

TEST(nested_activities, what_a_task_does_counts_for_who_submitted_it) {
  base::manual_clock clock;
  progress_board board(clock);
  worker_pool pool(2);
  task_group group;
  const progress_board::activity pass = board.begin("pass", minutes(30));
  clock.advance(minutes(29));
  pool.submit(group, [] { progress_board::touch_here(); });
  group.wait();
  clock.advance(minutes(29));
  EXPECT_FALSE(board.find_stuck());
  std::promise<void> begun;
  std::promise<void> end;
  pool.submit(group, [&] {
    const progress_board::activity part = board.begin("part", minutes(60));
    begun.set_value();
    end.get_future().wait();
  });
  begun.get_future().wait();
  clock.advance(minutes(59));
  EXPECT_FALSE(board.find_stuck());
  end.set_value();
  group.wait();
  EXPECT_FALSE(board.find_stuck());
}

TEST(nested_activities, another_thread_is_not_part_of_them) {
  base::manual_clock clock;
  progress_board board(clock);
  const progress_board::activity pass = board.begin("pass", minutes(30));
  std::thread([&] {
    progress_board::touch_here(); // nothing here
    const progress_board::activity other = board.begin("other", minutes(90));
    clock.advance(minutes(31));
    EXPECT_EQ(board.find_stuck(), "pass");
  }).join();
}

// Tasks that wait until they are let go, and how many have begun.
class blocked_tasks {
public:
  ~blocked_tasks() { let_go(); }

  void let_go() {
    if (!gone_) {
      gate_.set_value();
      gone_ = true;
    }
  }

  void submit(worker_pool& pool, task_group& group, int count) {
    for (int i = 0; i < count; ++i) {
      pool.submit(group, [this] { open_.wait(); });
    }
  }

private:
  std::promise<void> gate_;
  std::shared_future<void> open_ = gate_.get_future().share();
  bool gone_ = false;
};

void wait_for_running(const worker_pool& pool, unsigned count) {
  while (pool.current_load().running < count) {
    std::this_thread::yield();
  }
}

TEST(shared_workers, one_group_alone_has_them_all_and_no_more) {
  task_group group;
  worker_pool pool(4);
  blocked_tasks tasks;
  tasks.submit(pool, group, 10);
  wait_for_running(pool, 4);
  EXPECT_EQ(pool.current_load().running, 4U);
  EXPECT_EQ(pool.current_load().waiting, 6U);
  tasks.let_go();
  group.wait();
}

TEST(shared_workers, who_has_nothing_running_finds_one_free) {
  std::vector<std::unique_ptr<task_group>> hogs;
  task_group newcomer;
  worker_pool pool(4);
  blocked_tasks tasks;
  for (int i = 0; i < 20; ++i) {
    hogs.push_back(std::make_unique<task_group>());
    tasks.submit(pool, *hogs.back(), 50);
  }
  wait_for_running(pool, 20);
  EXPECT_LE(pool.current_load().running, 8U + 20U);
  std::promise<void> ran;
  pool.submit(newcomer, [&] { ran.set_value(); });
  EXPECT_EQ(ran.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
  tasks.let_go();
  for (const auto& hog : hogs) {
    hog->wait();
  }
  newcomer.wait();
}

} // namespace

} // namespace siteagent::agent::test
