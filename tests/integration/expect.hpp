// SPDX-License-Identifier: MIT
// What several integration tests claim of a site.
#pragma once

#include "tests/integration/site.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::integration {

// One machine with its surroundings, all tagged for the order's resource, and known to Waldur.
inline void expect_exactly_one_machine(const site& s, const std::string& order) {
  const json all = s.azure().inventory();
  const std::string uuid = s.resource_of(order);
  for (const char* kind :
       {"resourceGroups",
        "virtualNetworks",
        "publicIPAddresses",
        "networkSecurityGroups",
        "networkInterfaces",
        "virtualMachines"}) {
    ASSERT_THAT(all[kind].items(), testing::SizeIs(1)) << kind;
    EXPECT_EQ(all[kind][0].at({"tags", "waldur-resource-uuid"}), json(uuid)) << kind;
  }
  const json shown = s.resource(uuid);
  EXPECT_EQ(shown["backend_id"], all["virtualMachines"][0]["id"]);
  EXPECT_EQ(
      shown["endpoints"][0]["url"],
      json(
          "ssh://waldur@" +
          all["publicIPAddresses"][0].at({"properties", "ipAddress"}).string_or("?")
      )
  );
}

} // namespace siteagent::integration
