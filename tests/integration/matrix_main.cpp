// SPDX-License-Identifier: MIT
// Plays the cells of the fault matrix on a few sites side by side, then reports each as a test.
//   SITEAGENT_MATRIX=full  every cell, not only the choice of pairs
//   SITEAGENT_MATRIX_ONLY  a regular expression on the names of cells
#include "core/net/transport.hpp"
#include "tests/integration/matrix_rig.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <regex>
#include <set>
#include <thread>

namespace siteagent::integration::matrix {
namespace {

std::string variable(const char* name) {
  const char* text = std::getenv(name); // NOLINT(concurrency-mt-unsafe): no thread yet
  return text == nullptr ? "" : text;
}

std::vector<step> recorded_steps(rig& r) {
  std::vector<step> steps;
  for (const group_mode mode : {group_mode::dedicated, group_mode::shared}) {
    for (const operation op :
         {operation::create,
          operation::remove,
          operation::pause,
          operation::unpause,
          operation::restore}) {
      for (step& s : r.record(op, mode)) {
        steps.push_back(std::move(s));
      }
    }
  }
  return steps;
}

struct played {
  std::vector<cell> cells;
  std::vector<outcome> outcomes;
};

// Sites are dear to start and cheap to reset: each thread keeps one.
void play(played& p, std::unique_ptr<rig> first) {
  p.outcomes.resize(p.cells.size());
  std::atomic<std::size_t> next{0};
  const auto work = [&](std::unique_ptr<rig> r) {
    for (std::size_t i = next++; i < p.cells.size(); i = next++) {
      if (!r) {
        r = std::make_unique<rig>();
      }
      p.outcomes[i] = r->run(p.cells[i]);
    }
  };
  const unsigned lanes = std::max(2U, std::min(4U, std::thread::hardware_concurrency() + 1));
  std::vector<std::jthread> threads;
  threads.emplace_back(work, std::move(first));
  for (unsigned i = 1; i < lanes; ++i) {
    threads.emplace_back(work, nullptr);
  }
}

class cell_test : public testing::Test {
public:
  cell_test(const cell& c, const outcome& o) : cell_(c), outcome_(o) {}

  void TestBody() override {
    for (const std::string& violation : outcome_.violations) {
      ADD_FAILURE() << cell_.name() << ": " << violation;
    }
    if (!outcome_.violations.empty()) {
      std::cout << outcome_.log << '\n';
    }
  }

private:
  const cell& cell_;
  const outcome& outcome_;
};

std::set<std::string> pairs_of(const std::vector<cell>& cells) {
  std::set<std::string> out;
  for (const cell& c : cells) {
    const auto levels = c.levels();
    for (std::size_t a = 0; a < levels.size(); ++a) {
      for (std::size_t b = a + 1; b < levels.size(); ++b) {
        out.insert(std::to_string(a) + levels[a] + "|" + std::to_string(b) + levels[b]);
      }
    }
  }
  return out;
}

class choice_test : public testing::Test {
public:
  choice_test(const std::vector<cell>& all, const std::vector<cell>& chosen)
      : all_(all), chosen_(chosen) {}

  void TestBody() override {
    EXPECT_LE(chosen_.size(), 250U);
    EXPECT_EQ(pairs_of(chosen_), pairs_of(all_)) << "a pair of levels is not covered";
    const std::vector<cell> again = pairwise(all_);
    ASSERT_EQ(again.size(), chosen_.size());
    for (std::size_t i = 0; i < again.size(); ++i) {
      EXPECT_EQ(again[i].name(), chosen_[i].name());
    }
  }

private:
  const std::vector<cell>& all_;
  const std::vector<cell>& chosen_;
};

int run() {
  const auto started = std::chrono::steady_clock::now();
  auto first = std::make_unique<rig>();
  const std::vector<cell> all = all_cells(recorded_steps(*first));
  const std::vector<cell> chosen = pairwise(all);
  const bool full = variable("SITEAGENT_MATRIX") == "full";
  played p{full ? all : chosen, {}};
  if (const std::string only = variable("SITEAGENT_MATRIX_ONLY"); !only.empty()) {
    p.cells = all;
    const std::regex pattern(only);
    std::erase_if(p.cells, [&](const cell& c) { return !std::regex_search(c.name(), pattern); });
  }
  if (!testing::GTEST_FLAG(list_tests)) {
    play(p, std::move(first));
  }
  testing::RegisterTest(
      "matrix_choice",
      "the_choice_has_every_pair",
      nullptr,
      nullptr,
      __FILE__,
      __LINE__,
      [&] { return new choice_test(all, chosen); }
  );
  p.outcomes.resize(p.cells.size());
  std::size_t violations = 0;
  int runs = 0;
  for (std::size_t i = 0; i < p.cells.size(); ++i) {
    violations += p.outcomes[i].violations.size();
    runs += p.outcomes[i].runs;
    testing::RegisterTest(
        ("matrix_" + std::string(name_of(p.cells[i].where.op))).c_str(),
        p.cells[i].name().c_str(),
        nullptr,
        nullptr,
        __FILE__,
        __LINE__,
        [&p, i] { return new cell_test(p.cells[i], p.outcomes[i]); }
    );
  }
  const auto seconds =
      std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - started)
          .count();
  std::cout << "matrix: " << p.cells.size() << " of " << all.size() << " cells, " << runs
            << " agent runs, " << seconds << " s, " << violations << " violations\n";
  return RUN_ALL_TESTS();
}

} // namespace
} // namespace siteagent::integration::matrix

int main(int argc, char** argv) {
  siteagent::net::initialise_process();
  testing::InitGoogleTest(&argc, argv);
  try {
    return siteagent::integration::matrix::run();
  } catch (const std::exception& e) {
    std::cerr << "matrix: " << e.what() << '\n';
    return 1;
  }
}
