// SPDX-License-Identifier: MIT
// What the cloud offers: subscriptions, locations, sizes, SKUs, images, quotas, limits.
#include "azure_fixture.hpp"

#include <map>
#include <string>

namespace siteagent::azure_emulator {
namespace {

using azure_offers = cloud;
using azure_throttling = cloud;

const std::string compute_rp = "/providers/Microsoft.Compute";
const std::string publishers = compute_rp + "/locations/westeurope/publishers";

base::json capability(const base::json& sku, std::string_view name) {
  for (const auto& c : sku["capabilities"].items()) {
    if (c["name"].string_or("") == name) {
      return c["value"];
    }
  }
  return {};
}

base::json usage(const base::json& list, std::string_view name) {
  for (const auto& u : list["value"].items()) {
    if (u.at({"name", "value"}).string_or("") == name) {
      return u;
    }
  }
  return {};
}

TEST_F(azure_offers, subscriptions_and_locations) {
  const auto list = arm("GET", "/subscriptions");
  EXPECT_EQ(list.body.at({"count", "value"}).integer(), 1);
  EXPECT_EQ(get("").body["state"].string_or(""), "Enabled");
  EXPECT_EQ(arm("GET", "/tenants").body["value"][0]["tenantId"].string_or(""), tenant_1);
  const auto locations = get("/locations").body["value"];
  ASSERT_EQ(locations.size(), 4U);
  EXPECT_EQ(locations[0]["name"].string_or(""), "westeurope");
  EXPECT_EQ(locations[0].at({"metadata", "regionType"}).string_or(""), "Physical");
}

TEST_F(azure_offers, sizes_show_a_maximum_as_their_disk) {
  const auto sizes = get(compute_rp + "/locations/westeurope/vmSizes").body["value"];
  ASSERT_EQ(sizes.size(), 10U);
  EXPECT_EQ(sizes[0]["name"].string_or(""), "Standard_B1s");
  EXPECT_EQ(sizes[0]["osDiskSizeInMB"].integer(), 1047552);
  EXPECT_EQ(sizes[0]["memoryInMB"].integer(), 1024);
}

TEST_F(azure_offers, skus_are_filtered_by_location_and_say_what_is_restricted) {
  seed(R"({"restrictions":[{"size":"Standard_B1s","location":"westeurope","reason":"QuotaId"},
                           {"size":"Standard_B2s","reason":"AllocationFailed"}]})");
  const auto here =
      arm("GET", compute_rp + "/skus?$filter=location%20eq%20%27westeurope%27", {}, "2021-07-01")
          .body["value"];
  EXPECT_EQ(here.size(), 17U);
  for (const auto& sku : here.items()) {
    if (sku["resourceType"].string_or("") != "virtualMachines") {
      continue;
    }
    EXPECT_TRUE(capability(sku, "vCPUs").is_string()) << "every value is text";
    const std::string name = sku["name"].string_or("");
    EXPECT_EQ(sku["restrictions"].size(), name == "Standard_B1s" ? 1U : 0U) << name;
  }
  EXPECT_EQ(get(compute_rp + "/skus").body["value"].size(), 68U);
}

TEST_F(azure_offers, images_are_browsed_as_bare_arrays) {
  EXPECT_EQ(get(publishers).body.size(), 2U);
  const std::string offers = publishers + "/Canonical/artifacttypes/vmimage/offers";
  EXPECT_EQ(get(offers).body.size(), 2U);
  const std::string skus = offers + "/0001-com-ubuntu-server-jammy/skus";
  EXPECT_EQ(get(skus).body.size(), 2U);
  const std::string versions = skus + "/22_04-lts-gen2/versions";
  EXPECT_EQ(get(versions).body.size(), 2U);
  const auto newest = get(versions + "?$top=1&$orderby=name%20desc").body;
  ASSERT_EQ(newest.size(), 1U);
  EXPECT_EQ(newest[0]["name"].string_or(""), "22.04.202601100");
  const auto one = get(versions + "/22.04.202601100").body;
  EXPECT_EQ(one.at({"properties", "hyperVGeneration"}).string_or(""), "V2");
  EXPECT_EQ(one.at({"properties", "osDiskImage", "operatingSystem"}).string_or(""), "Linux");
  EXPECT_EQ(get(versions + "/latest").body["name"].string_or(""), "22.04.202601100");
  for (const auto& missing :
       {versions + "/1.2.3",
        skus + "/none/versions",
        offers + "/none/skus",
        publishers + "/none/artifacttypes/vmimage/offers",
        publishers + "/Canonical/other"}) {
    EXPECT_EQ(get(missing).code(), "NotFound") << missing;
  }
}

TEST_F(azure_offers, usages_follow_what_exists) {
  make_machine();
  settle(arm("POST", vm + "/deallocate"));
  const auto compute_list = get(compute_rp + "/locations/westeurope/usages").body;
  EXPECT_EQ(usage(compute_list, "cores")["currentValue"].integer(), 2) << "deallocated ones count";
  EXPECT_EQ(usage(compute_list, "cores")["limit"].integer(), 10'000);
  EXPECT_EQ(usage(compute_list, "standardBSFamily")["currentValue"].integer(), 2);
  EXPECT_EQ(usage(compute_list, "virtualMachines")["currentValue"].integer(), 1);
  const auto network_list = get("/providers/Microsoft.Network/locations/westeurope/usages").body;
  EXPECT_EQ(usage(network_list, "PublicIPAddresses")["currentValue"].number_text(), "1.0");
  seed(R"({"location_quotas":{"East US":{"cores":7}}})");
  EXPECT_EQ(
      usage(get(compute_rp + "/locations/eastus/usages").body, "cores")["limit"].integer(), 7
  );
}

TEST_F(azure_offers, providers_list_their_types) {
  const auto all = get("/providers").body["value"];
  EXPECT_EQ(all.size(), 11U);
  const auto compute_provider = get(compute_rp).body;
  EXPECT_EQ(compute_provider["registrationState"].string_or(""), "Registered");
  EXPECT_EQ(compute_provider["resourceTypes"][0]["resourceType"].string_or(""), "virtualMachines");
  EXPECT_EQ(get("/providers/Microsoft.Nonsense").code(), "InvalidResourceNamespace");
  EXPECT_EQ(arm("POST", "/providers/Microsoft.Nonsense/register").status, 404);
}

TEST_F(azure_throttling, refuses_beyond_the_buckets_and_refills) {
  azure_.enforce_throttling(true);
  int accepted = 0;
  answer refused;
  for (int i = 0; i < 300 && refused.status != 429; ++i) {
    refused = get("/resourcegroups");
    accepted += refused.status == 200 ? 1 : 0;
  }
  EXPECT_EQ(accepted, 250);
  EXPECT_EQ(refused.code(), "SubscriptionRequestsThrottled");
  EXPECT_EQ(refused.header("Retry-After"), "1");
  advance(std::chrono::seconds(1));
  EXPECT_EQ(get("/resourcegroups").status, 200);
}

TEST_F(azure_throttling, counts_writes_to_one_machine) {
  make_machine();
  azure_.enforce_throttling(true);
  answer refused;
  int accepted = 0;
  for (int i = 0; i < 40 && refused.status != 429; ++i) {
    refused = put(vm, machine_body().dump());
    accepted += refused.status == 200 ? 1 : 0;
  }
  EXPECT_LE(accepted, 12);
  EXPECT_EQ(refused.body["code"].string_or(""), "OperationNotAllowed") << "without the outer error";
  EXPECT_EQ(refused.body["details"][0]["target"].string_or(""), "PutVM3Min");
  EXPECT_GE(std::stoi(refused.header("Retry-After")), 10);
  EXPECT_EQ(arm("POST", vm + "/restart").status, 202) << "other classes go on";
}

TEST_F(azure_throttling, is_off_by_default) {
  for (int i = 0; i < 300; ++i) {
    ASSERT_EQ(get("/resourcegroups").status, 200);
  }
}

TEST_F(azure_offers, a_size_may_be_missing_in_one_zone) {
  seed(R"({"restrictions":[{"size":"Standard_B2s","location":"westeurope","zones":["2"]}]})");
  base::json shown;
  const auto list =
      get("/providers/Microsoft.Compute/skus?$filter=location%20eq%20'westeurope'").body["value"];
  for (const auto& sku : list.items()) {
    if (sku["name"].string_or("") == "Standard_B2s") {
      shown = sku["restrictions"];
    }
  }
  ASSERT_EQ(shown.size(), 1U);
  EXPECT_EQ(shown[0]["type"].string_or(""), "Zone");
  EXPECT_EQ(shown[0].at({"restrictionInfo", "zones"})[0].string_or(""), "2");
  make_network();
  auto body = machine_body();
  body.set("zones", base::json::array({"2"}));
  remove(ip); // a regional address would do, too
  const auto refused = put(vm, body.dump());
  EXPECT_EQ(refused.code(), "SkuNotAvailable") << refused.body.dump();
  body.set("zones", base::json::array({"1"}));
  EXPECT_EQ(put(vm, body.dump()).status, 201) << "another zone has it";
}

TEST_F(azure_offers, the_sku_list_has_rows_of_every_kind) {
  std::map<std::string, int> kinds;
  const auto list =
      get("/providers/Microsoft.Compute/skus?$filter=location%20eq%20'westeurope'").body["value"];
  for (const auto& sku : list.items()) {
    ++kinds[sku["resourceType"].string_or("")];
    if (sku["resourceType"].string_or("") == "availabilitySets") {
      EXPECT_EQ(sku["capabilities"][0]["name"].string_or(""), "MaximumPlatformFaultDomainCount");
    }
  }
  EXPECT_GT(kinds["virtualMachines"], 0);
  EXPECT_GT(kinds["disks"], 0);
  EXPECT_EQ(kinds["snapshots"], 3);
  EXPECT_EQ(kinds["availabilitySets"], 2);
}

TEST_F(azure_offers, locations_have_their_place_and_their_pair) {
  std::map<std::string, base::json> places;
  const auto list = get("/locations").body["value"];
  for (const auto& l : list.items()) {
    places[l["name"].string_or("")] = l["metadata"];
  }
  EXPECT_EQ(places["northeurope"]["physicalLocation"].string_or(""), "Ireland");
  EXPECT_EQ(places["northeurope"]["latitude"].string_or(""), "53.3478");
  EXPECT_EQ(places["northeurope"]["pairedRegion"][0]["name"].string_or(""), "westeurope");
  EXPECT_EQ(
      places["westeurope"]["pairedRegion"][0]["id"].string_or(""),
      subscription_1 + "/locations/northeurope"
  );
  EXPECT_NE(places["eastus"]["longitude"], places["westus2"]["longitude"]);
}

TEST_F(azure_offers, providers_are_registered_by_each_subscription_for_itself) {
  seed(R"({"subscriptions":[{"id":"11111111-1111-1111-1111-111111111111"},
    {"id":"55555555-5555-5555-5555-555555555555","providers":{"Microsoft.Compute":"NotRegistered"}}]})"
  );
  const std::string other = "/subscriptions/55555555-5555-5555-5555-555555555555";
  const auto state_in = [&](const std::string& subscription) {
    return get(subscription + "/providers/Microsoft.Compute")
        .body["registrationState"]
        .string_or("");
  };
  EXPECT_EQ(state_in(subscription_1), "Registered");
  EXPECT_EQ(state_in(other), "NotRegistered");
  arm("PUT", other + "/resourceGroups/g", parsed(R"({"location":"westeurope"})"));
  const std::string key = other + "/resourceGroups/g/providers/Microsoft.Compute/sshPublicKeys/k";
  EXPECT_EQ(put(key, R"({"location":"westeurope"})").code(), "MissingSubscriptionRegistration");
  EXPECT_EQ(arm("POST", other + "/providers/Microsoft.Compute/register").status, 200);
  state_in(other); // instant timing: the poll ends it
  EXPECT_EQ(state_in(other), "Registered");
  EXPECT_EQ(put(key, R"({"location":"westeurope"})").status, 201);
  arm("POST", subscription_1 + "/providers/Microsoft.Compute/unregister");
  state_in(subscription_1);
  EXPECT_EQ(state_in(subscription_1), "NotRegistered");
  EXPECT_EQ(state_in(other), "Registered");
}

TEST_F(azure_offers, versions_from_before_a_type_existed_are_unknown) {
  make(rg, R"({"location":"westeurope"})");

  struct row {
    const char* path;
    const char* before;
    const char* since;
  };

  for (const row& r :
       {row{"/providers/Microsoft.Compute/sshPublicKeys", "2019-07-01", "2019-12-01"},
        row{"/providers/Microsoft.Network/applicationSecurityGroups", "2017-08-01", "2017-09-01"},
        row{"/providers/Microsoft.Compute/disks", "2016-03-30", "2016-04-30-preview"}}) {
    const auto refused = arm("GET", r.path, {}, r.before);
    EXPECT_EQ(refused.status, 400) << r.path;
    EXPECT_EQ(refused.code(), "NoRegisteredProviderFound");
    EXPECT_EQ(arm("GET", r.path, {}, r.since).status, 200) << r.path;
  }
  const auto named =
      arm("PUT",
          rg + "/providers/Microsoft.Compute/sshPublicKeys/k",
          parsed(R"({"location":"westeurope"})"),
          "2019-07-01");
  EXPECT_NE(
      named.message().find(
          "for location 'westeurope' and API version '2019-07-01' for type 'sshPublicKeys'"
      ),
      std::string::npos
  ) << named.message();
}

} // namespace
} // namespace siteagent::azure_emulator
