// SPDX-License-Identifier: MIT
// Orders that meet a field case, and what must be left of them.
#pragma once

#include "tests/unit/azure/create_fixture.hpp"

namespace siteagent::azure::test {

class azure_cases : public azure_create {
protected:
  static scripted
  answer(const char* method, const char* part, int status, std::string_view code, int times = 1) {
    return {method, part, times, 0, false, status, fake_arm::error_text(code), {}};
  }

  base::json decision() { return run(&backend::evaluate_order).emitted.at(0); }

  // Everything the order made is taken away again, nothing else.
  void expect_clean_up(std::size_t left = 0) {
    const fake_call gone = run(&backend::delete_resource);
    EXPECT_EQ(gone.code, SAGENT_OK) << gone.message;
    EXPECT_EQ(arm.ids().size(), left);
  }
};

} // namespace siteagent::azure::test
