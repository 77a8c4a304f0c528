// SPDX-License-Identifier: MIT
// Availability sets.
#include "azure_fixture.hpp"

namespace siteagent::azure_emulator {
namespace {

class azure_availability : public cloud {
public:
  static inline const std::string sets = compute + "/availabilitySets";
  static inline const std::string set = sets + "/set";

  base::json machine_in_set() {
    auto body = machine_body();
    body.member_ref("properties")
        .set("availabilitySet", base::json::object({{"id", subscription_1 + set}}));
    return body;
  }
};

TEST_F(azure_availability, sets_are_made_listed_tagged_and_removed) {
  make(rg, R"({"location":"westeurope"})");
  const auto made = put(
      set,
      R"({"location":"westeurope","sku":{"name":"Aligned"},"properties":{"platformFaultDomainCount":2}})"
  );
  EXPECT_EQ(made.status, 200) << made.body.dump();
  EXPECT_EQ(made.header("Azure-AsyncOperation"), "") << "written at once";
  const auto read = get(set);
  EXPECT_EQ(read.body.at({"properties", "platformFaultDomainCount"}).integer(), 2);
  EXPECT_EQ(read.body.at({"properties", "platformUpdateDomainCount"}).integer(), 5);
  EXPECT_EQ(read.body.at({"sku", "name"}).string_or(""), "Aligned");
  EXPECT_EQ(read.state(), "") << "it has no provisioning state";
  EXPECT_EQ(get(sets).body["value"].size(), 1U);
  EXPECT_EQ(get("/providers/Microsoft.Compute/availabilitySets").body["value"].size(), 1U);
  EXPECT_EQ(arm("PATCH", set, parsed(R"({"tags":{"a":"b"}})")).status, 200);
  EXPECT_EQ(get(set).body.at({"tags", "a"}).string_or(""), "b");
  EXPECT_EQ(remove(set).status, 200);
  EXPECT_EQ(remove(set).status, 204);
  EXPECT_EQ(get(set).status, 404);
}

TEST_F(azure_availability, domains_have_limits_and_fault_domains_stay) {
  make(rg, R"({"location":"westeurope"})");
  for (const auto* bad :
       {R"({"platformFaultDomainCount":4})",
        R"({"platformFaultDomainCount":0})",
        R"({"platformUpdateDomainCount":21})",
        R"({"platformUpdateDomainCount":"five"})"}) {
    const auto a = put(set, std::string(R"({"location":"westeurope","properties":)") + bad + "}");
    EXPECT_EQ(a.code(), "InvalidParameter") << bad;
  }
  put(set, R"({"location":"westeurope","properties":{}})");
  EXPECT_EQ(
      put(set, R"({"location":"westeurope","properties":{"platformFaultDomainCount":2}})").code(),
      "PropertyChangeNotAllowed"
  );
  EXPECT_EQ(
      put(set, R"({"location":"westeurope","sku":{"name":"Odd"},"properties":{}})").code(),
      "InvalidParameter"
  );
}

TEST_F(azure_availability, a_set_knows_its_machines_and_outlives_them) {
  make_network();
  EXPECT_EQ(put(vm, machine_in_set().dump()).code(), "InvalidResourceReference");
  put(set, R"({"location":"westeurope","sku":{"name":"Aligned"},"properties":{}})");
  auto zonal = machine_in_set();
  zonal.set("zones", base::json::array({"1"}));
  EXPECT_EQ(put(vm, zonal.dump()).status, 400);
  make(vm, machine_in_set().dump());
  EXPECT_EQ(
      get(set).body.at({"properties", "virtualMachines"})[0]["id"].string_or(""),
      subscription_1 + vm
  );
  EXPECT_EQ(remove(set).code(), "OperationNotAllowed");
  const auto usages = get("/providers/Microsoft.Compute/locations/westeurope/usages").body["value"];
  EXPECT_EQ(usages[0]["currentValue"].integer(), 1);
  settle(remove(vm));
  EXPECT_EQ(get(set).body.at({"properties", "virtualMachines"}).size(), 0U);
  EXPECT_EQ(remove(set).status, 200);
}

} // namespace
} // namespace siteagent::azure_emulator
