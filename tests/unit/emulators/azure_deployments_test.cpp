// SPDX-License-Identifier: MIT
// Template deployments.
#include "azure_fixture.hpp"

#include "tests/emulators/azure/deployments_expression.hpp"

namespace siteagent::azure_emulator {
namespace {

class azure_deployments : public cloud {
public:
  static inline const std::string deployment = rg + "/providers/Microsoft.Resources/deployments/d";

  answer deploy(const std::string& the_template, const std::string& parameters = "{}") {
    return put(
        deployment,
        R"({"properties":{"mode":"Incremental","template":)" + the_template + R"(,"parameters":)" +
            parameters + "}}"
    );
  }

  // The state after a few polls.
  std::string finished(const answer& started) {
    std::string status;
    for (int i = 0; i < 20; ++i) {
      const auto poll = arm("GET", started.header("Azure-AsyncOperation"));
      status = poll.body["status"].string_or("");
      if (status == "Succeeded" || status == "Failed") {
        last_ = poll.body;
        break;
      }
    }
    return status;
  }

  // As a command line tool for machines writes it.
  static std::string machine_template() {
    return R"({"parameters":{"adminPassword":{"type":"securestring"}},
      "variables":{"nic":"[concat(parameters('prefix'),'-nic')]","prefix2":"x"},
      "resources":[
       {"type":"Microsoft.Compute/virtualMachines","apiVersion":"2020-06-01","name":"web","location":"westeurope",
        "dependsOn":["Microsoft.Network/networkInterfaces/web-nic"],"properties":{
          "hardwareProfile":{"vmSize":"Standard_B1s"},
          "networkProfile":{"networkInterfaces":[{"id":"[resourceId('Microsoft.Network/networkInterfaces','web-nic')]","properties":{"deleteOption":null}}]},
          "storageProfile":{"osDisk":{"createOption":"fromImage","name":null,"caching":"ReadWrite","managedDisk":{"storageAccountType":null}},
            "imageReference":{"publisher":"Canonical","offer":"ubuntu-24_04-lts","sku":"server","version":"latest"}},
          "osProfile":{"computerName":"web","adminUsername":"azureuser","adminPassword":"[parameters('adminPassword')]"}}},
       {"type":"Microsoft.Network/networkInterfaces","apiVersion":"2015-06-15","name":"web-nic","location":"westeurope",
        "dependsOn":["[resourceId('Microsoft.Network/virtualNetworks','net')]","Microsoft.Network/publicIPAddresses/ip"],
        "properties":{"ipConfigurations":[{"name":"c","properties":{"privateIPAllocationMethod":"Dynamic",
          "subnet":{"id":"[concat(resourceId('Microsoft.Network/virtualNetworks','net'),'/subnets/sub')]"},
          "publicIPAddress":{"id":"[resourceId('Microsoft.Network/publicIPAddresses','ip')]"}}}]}},
       {"type":"Microsoft.Network/virtualNetworks","apiVersion":"2015-06-15","name":"net","location":"westeurope","dependsOn":[],
        "properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]},"subnets":[{"name":"sub","properties":{"addressPrefix":"10.0.0.0/24"}}]}},
       {"type":"Microsoft.Network/publicIPAddresses","apiVersion":"2018-11-01","name":"ip","location":"westeurope",
        "sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}],
      "outputs":{"address":{"type":"string","value":"[reference('ip').ipAddress]"}}})";
  }

  base::json last_;
};

TEST_F(azure_deployments, make_a_machine_in_the_order_of_dependencies) {
  make(rg, R"({"location":"westeurope"})");
  const auto started =
      deploy(machine_template(), R"({"adminPassword":{"value":"Correct-horse-1"}})");
  ASSERT_EQ(started.status, 201) << started.body.dump();
  EXPECT_EQ(started.state(), "Accepted");
  EXPECT_EQ(finished(started), "Succeeded") << last_.dump();
  EXPECT_EQ(power_of(compute + "/virtualMachines/web"), "running");
  const auto done = get(deployment);
  const auto& properties = done.body["properties"];
  EXPECT_EQ(done.state(), "Succeeded");
  EXPECT_EQ(
      properties.at({"outputs", "address", "value"}).string_or("-"),
      get(ip).body.at({"properties", "ipAddress"}).string_or("")
  );
  EXPECT_EQ(properties["outputResources"].size(), 4U);
  EXPECT_EQ(properties.at({"parameters", "adminPassword", "type"}).string_or(""), "SecureString");
  EXPECT_EQ(done.body.dump().find("Correct-horse"), std::string::npos);
  EXPECT_EQ(get(deployment + "/operations").body["value"].size(), 4U);
  EXPECT_EQ(get(rg + "/providers/Microsoft.Resources/deployments/").body["value"].size(), 1U);
  const auto removed = remove(deployment);
  EXPECT_EQ(removed.status, 202);
  EXPECT_EQ(settle(removed).status, 204);
  EXPECT_EQ(remove(deployment).status, 204);
  EXPECT_EQ(get(deployment).code(), "DeploymentNotFound");
  EXPECT_EQ(get(ip).status, 200) << "what it made stays";
}

TEST_F(azure_deployments, are_seen_running_before_they_are_over) {
  make(rg, R"({"location":"westeurope"})");
  const auto started = deploy(
      R"({"resources":[{"type":"Microsoft.Network/publicIPAddresses","apiVersion":"2018-11-01","name":"ip","location":"westeurope",
      "sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}}]})"
  );
  const std::string monitor = started.header("Azure-AsyncOperation");
  EXPECT_EQ(arm("GET", monitor).body["status"].string_or(""), "Running");
  EXPECT_EQ(finished(started), "Succeeded");
  EXPECT_EQ(get(ip).state(), "Succeeded");
}

TEST_F(azure_deployments, refuse_versions_that_a_type_never_had) {
  make(rg, R"({"location":"westeurope"})");
  const auto started = deploy(
      R"({"resources":[{"type":"Microsoft.Network/applicationSecurityGroups","apiVersion":"2015-06-15","name":"asg",
      "location":"westeurope"}]})"
  );
  EXPECT_EQ(finished(started), "Failed");
  EXPECT_NE(last_.dump().find("NoRegisteredProviderFound"), std::string::npos) << last_.dump();
}

TEST_F(azure_deployments, fail_with_the_error_of_the_resource_inside) {
  make(rg, R"({"location":"westeurope"})");
  const auto started = deploy(R"({"resources":[
    {"type":"Microsoft.Network/publicIPAddresses","apiVersion":"2018-11-01","name":"ip","location":"atlantis","properties":{}},
    {"type":"Microsoft.Network/networkSecurityGroups","apiVersion":"2018-11-01","name":"nsg","location":"westeurope","dependsOn":["ip"]}]})"
  );
  EXPECT_EQ(finished(started), "Failed");
  EXPECT_EQ(last_.at({"error", "code"}).string_or(""), "DeploymentFailed");
  const auto detail = last_.at({"error", "details"})[0];
  const auto inner = base::json::parse(detail["message"].string_or(""));
  ASSERT_TRUE(inner.has_value()) << detail.dump();
  EXPECT_EQ(inner->at({"error", "code"}).string_or(""), "LocationNotAvailableForResourceType");
  EXPECT_NE(detail["message"].string_or("").find("\r\n"), std::string::npos);
  EXPECT_EQ(get(deployment).state(), "Failed");
  EXPECT_EQ(get(nsg).status, 404) << "what depends on it was not tried";
}

TEST_F(azure_deployments, copy_a_resource) {
  make(rg, R"({"location":"westeurope"})");
  const auto started = deploy(
      R"({"parameters":{"count":{"type":"int","defaultValue":3}},"variables":{"base":"ip"},"resources":[
      {"type":"Microsoft.Network/publicIPAddresses","apiVersion":"2018-11-01","name":"[concat(variables('base'),copyIndex(1))]",
       "location":"[resourceGroup().location]","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"},
       "copy":{"name":"loop","count":"[parameters('count')]"}},
      {"type":"Microsoft.Network/networkSecurityGroups","apiVersion":"2018-11-01","name":"nsg","location":"westeurope","dependsOn":["loop"]}]})"
  );
  EXPECT_EQ(finished(started), "Succeeded") << last_.dump();
  EXPECT_EQ(get(addresses + "/ip3").status, 200);
  EXPECT_EQ(get(nsg).status, 200);
}

TEST_F(azure_deployments, refuse_wrong_templates_at_once) {
  make(rg, R"({"location":"westeurope"})");
  const std::string address =
      R"("apiVersion":"2018-11-01","type":"Microsoft.Network/publicIPAddresses")";
  for (const auto& bad :
       {std::string("{}"),
        R"({"resources":[{)" + address + R"(,"name":"a/b"}]})",
        R"({"resources":[{)" + address + R"(,"name":"a","dependsOn":["b"]}]})",
        R"({"resources":[{)" + address + R"(,"name":"a","dependsOn":["a"]}]})",
        R"({"resources":[{)" + address + R"(,"name":"[parameters('x')]"}]})",
        R"({"resources":[{)" + address + R"(,"name":"[nonsense()]"}]})",
        std::string(R"({"parameters":{"x":{"type":"string"}},"resources":[]})"),
        std::string(
            R"({"parameters":{"x":{"type":"string","defaultValue":"a","allowedValues":["b"]}},"resources":[]})"
        )}) {
    const auto a = deploy(bad);
    EXPECT_EQ(a.status, 400) << bad;
    EXPECT_EQ(a.code(), "InvalidTemplate") << bad;
    EXPECT_EQ(
        arm("POST",
            deployment + "/validate",
            parsed(R"({"properties":{"mode":"Incremental","template":)" + bad + "}}"))
            .code(),
        "InvalidTemplate"
    );
  }
  EXPECT_EQ(deploy(R"({"resources":[]})", R"({"unknown":{"value":1}})").code(), "InvalidTemplate");
  EXPECT_EQ(
      get("/resourceGroups/none/providers/Microsoft.Resources/deployments").code(),
      "ResourceGroupNotFound"
  );
}

TEST_F(azure_deployments, show_a_policy_violation_as_an_invalid_template_deployment) {
  make(rg, R"({"location":"westeurope"})");
  seed(R"({"policies":[{"name":"Allowed places","allowed_locations":["eastus"]}]})");
  const auto a = deploy(
      R"({"resources":[{"type":"Microsoft.Network/networkSecurityGroups","apiVersion":"2018-11-01","name":"nsg","location":"westeurope"}]})"
  );
  EXPECT_EQ(a.status, 400);
  EXPECT_EQ(a.code(), "InvalidTemplateDeployment");
  EXPECT_EQ(a.body.at({"error", "details"})[0]["code"].string_or(""), "RequestDisallowedByPolicy");
}

TEST(azure_template_expressions, are_evaluated) {
  const auto parameters =
      *base::json::parse(R"({"name":"web","list":["a","b"],"o":{"k":{"n":2}}})");
  const auto variables = *base::json::parse(R"({"nic":"[concat(parameters('name'),'-nic')]"})");
  template_scope scope;
  scope.subscription = "S";
  scope.group = "G";
  scope.location = "westeurope";
  scope.parameters = &parameters;
  scope.variables = &variables;
  scope.copy_index = 4;

  struct row {
    std::string text;
    std::string json;
  };

  for (const auto& r :
       {row{"plain", R"("plain")"},
        row{"[[literal]", R"("[literal]")"},
        row{"[variables('NIC')]", R"("web-nic")"},
        row{"[parameters('o').k.n]", "2"},
        row{"[parameters('list')[1]]", R"("b")"},
        row{"[concat('it''s ', string(5), copyIndex(1))]", R"("it's 55")"},
        row{"[resourceId('N.X/a/b', 'p', 'q')]",
            R"("/subscriptions/S/resourceGroups/G/providers/N.X/a/p/b/q")"},
        row{"[resourceId('other', 'N.X/a', 'p')]",
            R"("/subscriptions/S/resourceGroups/other/providers/N.X/a/p")"},
        row{"[resourceGroup().location]", R"("westeurope")"},
        row{"[if(equals(length(parameters('list')), 2), toLower('YES'), 'no')]", R"("yes")"},
        row{"[format('{0}-{1}', 'a', add(1, 2))]", R"("a-3")"},
        row{"[concat(createArray('a'), createArray('b'))]", R"(["a","b"])"},
        row{"[empty('')]", "true"}}) {
    const auto value = evaluate(base::json(r.text), scope);
    ASSERT_TRUE(value.has_value()) << r.text << ": " << value.error().message;
    EXPECT_EQ(value->dump(), r.json) << r.text;
  }
  for (const auto* bad :
       {"[parameters('none')]",
        "[what()]",
        "[concat('a']",
        "[concat('a)]",
        "[parameters('o').none]",
        "['a' 'b']",
        "[reference('x')]"}) {
    EXPECT_FALSE(evaluate(base::json(bad), scope).has_value()) << bad;
  }
}

} // namespace
} // namespace siteagent::azure_emulator
