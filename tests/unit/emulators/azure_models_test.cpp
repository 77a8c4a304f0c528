// SPDX-License-Identifier: MIT
// Every answer of this cloud must fit the published models and operation tables of the services.
#include "azure_contract.hpp"
#include "azure_fixture.hpp"

#include <iostream>
#include <set>

namespace siteagent::azure_emulator {
namespace {

// Operations of the official packages that this cloud does not know, on purpose.
const std::set<std::string> not_served = {
    "virtualNetworks.checkIPAddressAvailability",
    "virtualNetworks.listUsage",
    "networkInterfaces.getEffectiveRouteTable",
    "networkInterfaces.listEffectiveNetworkSecurityGroups",
    "resourceGroups.exportTemplate",
    "resources.moveResources",
    "resources.validateMoveResources",
    "providers.providerPermissions",
    "providers.listAtTenantScope",
    "providers.getAtTenantScope",
    "images.list",
    "images.listByResourceGroup",
    "images.get",
    "images.createOrUpdate",
    "images.update",
    "images.delete",
};

class azure_models : public cloud {
protected:
  void SetUp() override {
    contract_ = service_contract::shared();
    if (contract_ == nullptr) {
      GTEST_SKIP() << "no models in " << SITEAGENT_SHARED_DIR << " (set SITEAGENT_SHARED_DIR)";
    }
  }

  // A path with the names of things that are there.
  static std::string with_names(std::string path) {
    static const std::pair<const char*, const char*> names[] = {
        {"{subscriptionId}", "11111111-1111-1111-1111-111111111111"},
        {"{resourceGroupName}", "rg"},
        {"{resourceProviderNamespace}", "Microsoft.Compute"},
        {"{virtualNetworkName}", "net"},
        {"{subnetName}", "sub"},
        {"{publicIpAddressName}", "ip"},
        {"{networkSecurityGroupName}", "nsg"},
        {"{securityRuleName}", "ssh"},
        {"{defaultSecurityRuleName}", "DenyAllInBound"},
        {"{applicationSecurityGroupName}", "asg"},
        {"{networkInterfaceName}", "nic"},
        {"{ipConfigurationName}", "ipconfig1"},
        {"{vmName}", "vm"},
        {"{diskName}", "vm-os"},
        {"{sshPublicKeyName}", "key"},
        {"{imageName}", "image"},
        {"{location}", "westeurope"},
        {"{publisherName}", "Debian"},
        {"{offer}", "debian-12"},
        {"{skus}", "12"},
        {"{version}", "latest"},
    };
    for (const auto& [parameter, name] : names) {
      if (const auto at = path.find(parameter); at != std::string::npos) {
        path.replace(at, std::string_view(parameter).size(), name);
      }
    }
    return path;
  }

  static bool is_unknown(const answer& a) {
    static const std::set<std::string> codes = {
        "InvalidResourceType",
        "InvalidResourceNamespace",
        "NotSupportedByEmulator",
        "MethodNotAllowed"};
    return codes.count(a.code()) != 0 || a.status == 405 ||
           a.message().find("not served by this emulator") != std::string::npos;
  }

  answer ask(const service_contract::operation& o, const std::string& path) {
    return raw(
        o.method,
        path + (path.find('?') == std::string::npos ? "?" : "&") + "api-version=" + compute_api,
        o.method == "PUT" || o.method == "PATCH" ? "{}" : "",
        {{"authorization", "Bearer " + token_}}
    );
  }

  void furnish() {
    make_machine();
    make(
        nsg, R"({"location":"westeurope","properties":{"securityRules":[{"name":"ssh","properties":{
      "priority":1000,"direction":"Inbound","access":"Allow","protocol":"Tcp","sourceAddressPrefix":"*",
      "sourcePortRange":"*","destinationAddressPrefix":"*","destinationPortRange":"22"}}]}})"
    );
    make(networks + "/applicationSecurityGroups/asg", R"({"location":"westeurope"})");
    make(compute + "/sshPublicKeys/key", R"({"location":"westeurope"})");
  }

  const service_contract* contract_ = nullptr;
};

TEST_F(azure_models, every_read_of_the_official_packages_is_served_with_a_body_that_fits) {
  furnish();
  int bodies = 0;
  for (const auto& o : contract_->operations()) {
    const std::string path = with_names(o.path);
    if (o.method != "GET" || path.find('{') != std::string::npos) {
      continue;
    }
    SCOPED_TRACE(o.name + " " + path);
    const auto a = ask(o, path);
    EXPECT_EQ(is_unknown(a), not_served.count(o.name) == 1) << a.status << " " << a.body.dump();
    if (is_unknown(a)) {
      std::cout << "not served: " << o.name << '\n';
      continue;
    }
    EXPECT_EQ(a.status, 200) << a.body.dump();
    const auto verdict =
        contract_->check({"GET", path.substr(0, path.find('?')), a.status, a.body});
    EXPECT_EQ(verdict.problem, "");
    bodies += verdict.body_checked ? 1 : 0;
  }
  EXPECT_GE(bodies, 35);
}

TEST_F(azure_models, every_write_of_the_official_packages_is_known) {
  for (const auto& o : contract_->operations()) {
    const std::string path = with_names(o.path);
    if (o.method == "GET" || path.find('{') != std::string::npos) {
      continue;
    }
    SCOPED_TRACE(o.name + " " + path);
    // Empty bodies for things that are not there: refused, but not for being unknown.
    ASSERT_TRUE(azure_.reset(true).has_value());
    make(rg, R"({"location":"westeurope"})");
    const auto a = ask(o, path);
    EXPECT_EQ(is_unknown(a), not_served.count(o.name) == 1) << a.status << " " << a.body.dump();
    if (is_unknown(a)) {
      std::cout << "not served: " << o.name << '\n';
    }
  }
}

TEST_F(azure_models, a_body_of_the_wrong_type_or_outside_an_enumeration_is_noticed) {
  const std::string path =
      "/subscriptions/s/resourceGroups/rg/providers/Microsoft.Network/networkInterfaces/nic";
  const auto problem = [&](const std::string& body, int status = 200) {
    return contract_->check({"GET", path, status, parsed(body)}).problem;
  };
  EXPECT_EQ(problem(R"({"location":"westeurope","unknown":1})"), "");
  EXPECT_NE(problem(R"({"location":7})"), "");
  EXPECT_NE(problem(R"({"properties":{"ipConfigurations":{}}})"), "");
  EXPECT_NE(problem(R"({"properties":{"enableIPForwarding":"true"}})"), "");
  EXPECT_NE(problem("[]"), "");
  EXPECT_NE(problem("{}", 202), "") << "the official client throws at this status";
  EXPECT_NE(problem(R"({"code":"X"})", 404), "");
  EXPECT_EQ(problem(R"({"error":{"code":"X","message":"y"}})", 404), "");
  EXPECT_EQ(contract_->check({"GET", "/subscriptions/s/nonsense", 200, {}}).operation, "");
  EXPECT_NE(
      contract_
          ->check({"GET", "/subscriptions/s/operations/1", 200, parsed(R"({"status":"Done"})")})
          .problem,
      ""
  );
}

} // namespace
} // namespace siteagent::azure_emulator
