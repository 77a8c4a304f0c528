// SPDX-License-Identifier: MIT
// A site that serves one cell of the matrix after the other, and the judgement over each.
#pragma once

#include "tests/integration/matrix.hpp"
#include "tests/integration/site.hpp"

#include <map>
#include <string>
#include <vector>

namespace siteagent::integration::matrix {

inline constexpr std::string_view resource_uuid = "ab12cd34ef56ab12cd34ef56ab12cd34";
inline constexpr std::string_view create_order = "e2ef0000000000000000000000002001";
inline constexpr std::string_view restore_order = "e2ef0000000000000000000000002002";

// An object of the inventory without the moment at which its guest agent last spoke.
std::string body_of(const json& object);

// Both policies for the customer's texts are played, one with each group mode.
inline bool exposes_details(group_mode mode) {
  return mode == group_mode::dedicated;
}

// What a clean run asked, as steps.
std::vector<step> steps_of(
    operation op,
    group_mode mode,
    const std::vector<journal_line>& cloud,
    const std::vector<journal_line>& waldur
);

struct outcome {
  std::vector<std::string> violations;
  std::string end; // "done", "erred", "rejected", "waits", "deallocated"
  std::string log; // of the agents, when something is wrong
  int runs = 0;    // of the agent, the killed one included
};

// One pair of emulators. [one thread]
class rig {
public:
  rig();

  // The requests of a clean run of the operation; throws when it does not end well.
  std::vector<step> record(operation op, group_mode mode);
  outcome run(const cell& c);

private:
  // What the cell's runs left behind, for the judgement.
  struct scene {
    std::map<std::string, std::string> foreign; // id -> body, before anything happened
    std::string order;                          // the order in question; "" for pause and unpause
    std::uintmax_t cloud_mark = 0;              // journal sizes when the operation began
    std::uintmax_t waldur_mark = 0;
    std::string log;
    int runs = 0;
  };

  scene prepare(operation op, group_mode mode, bool short_deadlines);
  void begin(operation op, scene& now) const;
  void run_agent(operation op, scene& now);
  void run_killed(const cell& c, scene& now);
  bool is_over(operation op, const scene& now) const;
  std::string end_of(operation op, const scene& now) const;
  const emulator& side_of(const step& s) const;

  void judge(const cell& c, const scene& now, bool waited, outcome& out) const;
  void judge_objects(const cell& c, const scene& now, outcome& out) const;
  void judge_foreign(const cell& c, const scene& now, outcome& out) const;
  void judge_texts(const cell& c, const scene& now, outcome& out) const;

  site site_;
};

} // namespace siteagent::integration::matrix
