// SPDX-License-Identifier: MIT
// The seed key "site": a world in which the settings of an offering hold.
#include "azure_fixture.hpp"

#include <algorithm>
#include <string>

namespace siteagent::azure_emulator {
namespace {

using base::json;

using azure_seed_site = cloud;

const json* find_named(const json& list, std::string_view key, std::string_view name) {
  const auto& items = list.items();
  const auto it = std::find_if(items.begin(), items.end(), [&](const json& i) {
    return i[key].string_or("") == name;
  });
  return it == items.end() ? nullptr : &*it;
}

TEST_F(azure_seed_site, adds_what_the_settings_name_and_keeps_the_rest) {
  seed(R"({"site":{"default_location":"Norway East","default_size":"Standard_E16s_v5",
    "allowed_sizes":["Standard_F2s_v2","Standard_NC6"],
    "default_image":"Contoso:server:22:latest","allowed_images":["Debian:debian-12:12"]}})");
  const json locations = get("/locations").body["value"];
  EXPECT_EQ(locations.size(), 5U);
  EXPECT_NE(find_named(locations, "name", "norwayeast"), nullptr);
  const json sizes = get("/providers/Microsoft.Compute/locations/norwayeast/vmSizes").body["value"];
  EXPECT_EQ(sizes.size(), 12U);
  const json* named = find_named(sizes, "name", "Standard_E16s_v5");
  ASSERT_NE(named, nullptr);
  EXPECT_EQ((*named)["numberOfCores"].integer(), 16);
  EXPECT_EQ((*named)["memoryInMB"].integer(), 16 * 8 * 1024);
  const json images = get("/providers/Microsoft.Compute/locations/norwayeast/publishers/Contoso/"
                          "artifacttypes/vmimage/offers/server/skus/22/versions")
                          .body;
  ASSERT_EQ(images.size(), 1U);
  EXPECT_EQ(images[0]["name"].string_or(""), "1.0.0");
}

TEST_F(azure_seed_site, brings_the_shared_group_and_the_network_of_the_site) {
  const std::string network =
      "/resourceGroups/hub/providers/Microsoft.Network/virtualNetworks/corp";
  const std::string id =
      "/subscriptions/11111111-1111-1111-1111-111111111111" + network + "/subnets/machines";
  seed(
      R"({"site":[{"default_resource_group":"shared","default_location":"eastus"},{"subnet_id":")" +
      id + R"("}]})"
  );
  EXPECT_EQ(get("/resourcegroups/shared").body["location"].string_or(""), "eastus");
  EXPECT_EQ(get(network + "/subnets/machines").state(), "Succeeded");
  // A second offering in the same network.
  seed(R"({"site":{"subnet_id":")" + id + R"("}})");
  EXPECT_EQ(get(network + "/subnets/machines").state(), "Succeeded");
}

TEST_F(azure_seed_site, is_refused_when_it_is_no_settings) {
  for (const auto* bad : {R"({"site":"azure"})", R"({"site":[1]})"}) {
    const auto done = azure_.seed(parsed(bad));
    ASSERT_FALSE(done.has_value());
    EXPECT_EQ(
        done.error().message,
        "seed: site: must be the backend_settings of an offering, or a list of them"
    );
  }
}

} // namespace
} // namespace siteagent::azure_emulator
