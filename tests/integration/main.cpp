// SPDX-License-Identifier: MIT
#include "core/net/transport.hpp"

#include <gtest/gtest.h>

int main(int argc, char** argv) {
  siteagent::net::initialise_process();
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
