// SPDX-License-Identifier: MIT
// What a long command tells while it works.
#include "core/app/stado/progress.hpp"

#include "core/base/clock.hpp"

#include <gtest/gtest.h>

#include <sstream>

namespace siteagent::app::stado {
namespace {

const std::string redrawn = "\r\x1b[K";

struct told {
  base::manual_clock clock;
  std::ostringstream out;
  std::ostringstream err;
};

TEST(progress, on_a_terminal_one_line_shows_step_time_and_what_is_waited_for) {
  told t;
  progress p(t.out, t.err, true, t.clock);
  p.step("step 6 of 9, resources");
  EXPECT_EQ(t.err.str(), redrawn + "step 6 of 9, resources, 0 s");
  t.err.str("");
  t.clock.advance(std::chrono::seconds(75));
  p.waiting("virtual-machine, 60 %");
  EXPECT_TRUE(t.err.str().ends_with(
      redrawn + "step 6 of 9, resources, 1 min 15 s: waiting for virtual-machine, 60 %"
  )) << t.err.str();
  t.err.str("");
  p.say("credit: enough");
  EXPECT_EQ(t.out.str(), "credit: enough\n");
  EXPECT_TRUE(t.err.str().starts_with(redrawn)) << "the line makes room";
  p.finish();
  EXPECT_TRUE(t.err.str().ends_with(redrawn)) << "and goes";
  EXPECT_EQ(t.err.str().find('\n'), std::string::npos);
}

TEST(progress, a_line_never_wraps) {
  told t;
  progress p(t.out, t.err, true, t.clock);
  p.step(std::string(500, 'x'));
  EXPECT_LT(t.err.str().size(), redrawn.size() + 500);
}

TEST(progress, elsewhere_each_change_is_a_plain_line_but_not_every_few_seconds) {
  told t;
  progress p(t.out, t.err, false, t.clock);
  p.step("step 6 of 9, resources");
  p.waiting("interface");
  p.waiting("interface");
  t.clock.advance(std::chrono::seconds(3));
  p.waiting("virtual-machine");
  t.clock.advance(std::chrono::seconds(10));
  p.waiting("virtual-machine, 60 %");
  p.warn("a\x1b[31m red one");
  p.finish();
  EXPECT_EQ(
      t.err.str(),
      "step 6 of 9, resources\n  waiting for interface\n  waiting for virtual-machine, 60 %\n"
      "warning: a\\x1b[31m red one\n"
  );
}

} // namespace
} // namespace siteagent::app::stado
