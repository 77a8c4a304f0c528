// SPDX-License-Identifier: MIT
// What the tests of create have in common.
#pragma once

#include "tests/fleet/cloud_host_rig.hpp"

#include <gtest/gtest.h>

#include <string>

namespace siteagent::fleet::test {

// After a failure before anything was made: the registry as it was, no key, no journal, no marker.
inline void
expect_untouched(const fleet_rig& rig, const std::string& bytes, const std::string& keys) {
  EXPECT_EQ(rig.registry_bytes(), bytes);
  EXPECT_EQ(rig.credentials_bytes(), keys);
  EXPECT_TRUE(rig.cloud.machines.empty());
  EXPECT_FALSE(rig.is_journaled("b1"));
}

// The same but for what step 3 records.
inline void
expect_only_addresses(const fleet_rig& rig, const std::string& bytes, const std::string& keys) {
  base::json before = *base::json::parse(bytes);
  base::json now = rig.registry();
  EXPECT_EQ(
      now.at({"cloud_hosts", "egress", "build-host", "address"}).string_or(""), "198.51.100.4"
  );
  now.member_ref("cloud_hosts").erase("egress");
  before.member_ref("cloud_hosts").erase("egress");
  EXPECT_EQ(now.pretty(), before.pretty());
  EXPECT_EQ(rig.credentials_bytes(), keys);
  EXPECT_TRUE(rig.cloud.machines.empty());
  EXPECT_FALSE(rig.is_journaled("b1"));
}

struct cloud_host_create : testing::Test {
  fleet_rig rig;
  std::string bytes;
  std::string keys;

  void SetUp() override {
    // Something stands in the store, so that its bytes can be compared.
    ASSERT_TRUE(rig.at().keys->generate("other"));
    bytes = rig.registry_bytes();
    keys = rig.credentials_bytes();
  }

  base::error failed(const std::string& name = "b1") {
    auto r = rig.create(name);
    EXPECT_FALSE(r);
    return r ? base::error{.message = "it went well"} : r.error();
  }
};

} // namespace siteagent::fleet::test
