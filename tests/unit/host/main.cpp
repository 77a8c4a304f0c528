// SPDX-License-Identifier: MIT
// The test program is its own inspection child, as the agent is.
#include "core/host/plugin.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  if (const int status = siteagent::host::run_inspection_child(argc, argv);
      status != siteagent::host::not_an_inspection_child) {
    return status;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
