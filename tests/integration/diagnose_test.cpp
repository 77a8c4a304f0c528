// SPDX-License-Identifier: MIT
// diagnose and offering-options against whole sites: what is wrong is named, and the role that is
// printed is enough and nothing in it is too much.
#include "tests/integration/site.hpp"

#include "core/base/text.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::integration {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

// The JSON documents among the lines; those with an event are the log.
std::vector<json> documents(const std::string& log) {
  std::vector<json> out;
  for (const std::string_view line : base::split(log, '\n')) {
    if (line.starts_with("{\"") && !line.starts_with("{\"event\"")) {
      const auto parsed = json::parse(line);
      EXPECT_TRUE(parsed) << line;
      out.push_back(parsed ? *parsed : json());
    }
  }
  return out;
}

// Name and detail of the failed checks.
std::vector<std::string> failures(const json& report) {
  std::vector<std::string> out;
  for (const json& offering : report["offerings"].items()) {
    for (const json& check : offering["checks"].items()) {
      if (check["ok"] != json(true)) {
        out.push_back(check["name"].string_or("") + ": " + check["detail"].string_or(""));
      }
    }
  }
  return out;
}

std::vector<std::string> diagnose(const site& s) {
  const agent_run run = s.run_command({"diagnose", "--json"});
  const auto printed = documents(run.log);
  if (printed.size() != 1) {
    ADD_FAILURE() << run.log;
    return {};
  }
  const auto failed = failures(printed[0]);
  EXPECT_EQ(run.exit_code, failed.empty() ? 0 : 1) << run.log;
  EXPECT_EQ(printed[0]["ok"], json(failed.empty()));
  return failed;
}

json application(const json& permissions) {
  return json::object(
      {{"applications",
        json::array({json::object(
            {{"client_id", "33333333-3333-3333-3333-333333333333"},
             {"secret", "emulator-secret"},
             {"tenant", "22222222-2222-2222-2222-222222222222"},
             {"permissions", permissions}}
        )})}}
  );
}

// The printed roles as assignments at the scopes they are assignable in.
json assignments(const std::vector<json>& roles) {
  json out = json::array();
  for (const json& role : roles) {
    out.push_back(json::object(
        {{"scope", role["AssignableScopes"][0]},
         {"actions", role["Actions"]},
         {"notActions", role["NotActions"]}}
    ));
  }
  return out;
}

json without(const json& assigned, std::size_t row, std::size_t action) {
  json out = assigned;
  std::vector<json>& actions = out.items().at(row).member_ref("actions").items();
  actions.erase(actions.begin() + static_cast<std::ptrdiff_t>(action));
  return out;
}

void expect_a_whole_life(const site& s) {
  const std::string order = s.order_machine("web 1");
  ASSERT_EQ(s.run_agent().exit_code, 0);
  ASSERT_EQ(s.order_state(order), "done") << s.order(order).pretty();
  const std::string uuid = s.resource_of(order);
  const agent_run report = s.run_agent("report");
  EXPECT_EQ(report.exit_code, 0);
  for (const bool paused : {true, false}) {
    s.set_paused(uuid, paused);
    const agent_run sync = s.run_agent("membership_sync");
    EXPECT_EQ(sync.exit_code, 0);
    EXPECT_THAT(sync.log, Not(HasSubstr("AuthorizationFailed")));
  }
  EXPECT_THAT(report.log, Not(HasSubstr("AuthorizationFailed")));
  const std::string end = s.terminate(uuid);
  ASSERT_EQ(s.run_agent().exit_code, 0);
  EXPECT_EQ(s.order_state(end), "done") << s.order(end).pretty();
  EXPECT_EQ(s.machine_count(), 0U);
  for (const journal_line& line : s.azure().journal()) {
    EXPECT_NE(line.status, 403) << line.method << " " << line.path;
  }
}

TEST(diagnose, finds_nothing_wrong_with_a_good_site) {
  const site s;
  const agent_run run = s.run_command({"diagnose"});
  EXPECT_EQ(run.exit_code, 0) << run.log;
  EXPECT_THAT(
      run.log,
      AllOf(
          HasSubstr("ok      Waldur user: agent"),
          HasSubstr("ok      permission for orders: OFFERING.MANAGER"),
          HasSubstr("ok      plugin azure, permissions at /subscriptions/"),
          HasSubstr("ok      plugin azure, quota: room for"),
          HasSubstr("ok      order option ssh_public_key"),
          Not(HasSubstr("FAILED")),
          Not(HasSubstr("emulator-secret"))
      )
  );
  EXPECT_TRUE(s.azure().writes().empty());
  EXPECT_TRUE(s.waldur().writes().empty());
}

TEST(diagnose, prints_a_role_that_is_enough_for_a_whole_life) {
  const site s;
  const agent_run run = s.run_command({"diagnose", "--role"});
  ASSERT_EQ(run.exit_code, 0) << run.log;
  const auto roles = documents(run.log);
  ASSERT_THAT(roles, SizeIs(1));
  EXPECT_TRUE(s.azure().journal().empty()) << "printed before the credentials may do anything";
  s.azure().seed(application(assignments(roles)));
  EXPECT_THAT(diagnose(s), IsEmpty());
  expect_a_whole_life(s);
}

TEST(diagnose, notices_any_action_that_is_missing_from_the_role) {
  const site s;
  const auto roles = documents(s.run_command({"diagnose", "--role"}).log);
  ASSERT_THAT(roles, SizeIs(1));
  const json assigned = assignments(roles);
  const json& actions = roles[0]["Actions"];
  ASSERT_GT(actions.size(), 30U);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string action = actions[i].string_or("");
    json seed = application(without(assigned, 0, i));
    // Registering is asked for only where something is not registered.
    const bool registers = action.ends_with("/register/action");
    const std::string state = registers ? "NotRegistered" : "Registered";
    seed.set(
        "providers", json::object({{"Microsoft.Compute", state}, {"Microsoft.Network", state}})
    );
    s.azure().seed(seed);
    EXPECT_THAT(
        diagnose(s), Contains(AllOf(HasSubstr("permissions at"), HasSubstr(" missing: " + action)))
    );
  }
}

TEST(diagnose, prints_a_role_per_scope_for_a_shared_group_and_they_are_enough) {
  site_options options;
  options.settings = "      default_resource_group: machines\n";
  options.azure_seed =
      *json::parse(R"({"resourceGroups": [{"name": "machines", "location": "westeurope"}]})");
  const site s(options);
  const auto roles = documents(s.run_command({"diagnose", "--role"}).log);
  ASSERT_THAT(roles, SizeIs(2));
  for (const json& action : roles[0]["Actions"].items()) {
    EXPECT_TRUE(action.string_or("").ends_with("/read")) << "beyond its group it only reads";
  }
  const json assigned = assignments(roles);
  s.azure().seed(application(assigned));
  EXPECT_THAT(diagnose(s), IsEmpty());
  expect_a_whole_life(s);
  // Writing disappears from the group: named with the group as its scope.
  json less = assigned;
  less.items().at(1).set("notActions", json::array({"Microsoft.Compute/virtualMachines/write"}));
  s.azure().seed(application(less));
  EXPECT_THAT(
      diagnose(s),
      Contains(AllOf(
          HasSubstr("resourceGroups/machines"),
          HasSubstr("Microsoft.Compute/virtualMachines/write"),
          HasSubstr("az role assignment create")
      ))
  );
}

TEST(diagnose, prints_roles_that_only_enter_the_network_of_the_site) {
  site_options options;
  options.settings = "      default_resource_group: machines\n"
                     "      public_ip: none\n"
                     "      subnet_id: /subscriptions/11111111-1111-1111-1111-111111111111/"
                     "resourceGroups/net/providers/Microsoft.Network/virtualNetworks/corp/"
                     "subnets/machines\n";
  options.azure_seed = *json::parse(R"({
      "resourceGroups": [{"name": "machines", "location": "westeurope"},
                         {"name": "net", "location": "westeurope"}],
      "virtualNetworks": [{"resourceGroup": "net", "name": "corp", "location": "westeurope",
        "properties": {"addressSpace": {"addressPrefixes": ["10.1.0.0/16"]},
          "subnets": [{"name": "machines", "properties": {"addressPrefix": "10.1.1.0/24"}}]}}]})");
  const site s(options);
  const auto roles = documents(s.run_command({"diagnose", "--role"}).log);
  ASSERT_THAT(roles, SizeIs(4));
  const json& in_group = roles[1]["Actions"];
  for (const json& action : in_group.items()) {
    const std::string text = action.string_or("");
    const bool of_network = text.find("/virtualNetworks") != std::string::npos ||
                            text.find("/publicIPAddresses") != std::string::npos;
    EXPECT_TRUE(!of_network || text.ends_with("/read")) << text;
  }
  const json assigned = assignments(roles);
  s.azure().seed(application(assigned));
  EXPECT_THAT(diagnose(s), IsEmpty());
  expect_a_whole_life(s);
  json less = assigned;
  less.items().at(3).set("actions", json::array());
  s.azure().seed(application(less));
  EXPECT_THAT(
      diagnose(s),
      Contains(AllOf(
          HasSubstr("virtualNetworks/corp/subnets/machines"),
          HasSubstr("Microsoft.Network/virtualNetworks/subnets/join/action")
      ))
  );
}

TEST(diagnose, names_an_expired_secret_and_goes_on_with_waldur) {
  site_options options;
  options.azure_seed = *json::parse(
      R"({"applications": [{"client_id": "33333333-3333-3333-3333-333333333333",
          "secret": "emulator-secret", "tenant": "22222222-2222-2222-2222-222222222222",
          "secret_expired": true}]})"
  );
  const site s(options);
  const agent_run run = s.run_command({"diagnose"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.log, HasSubstr("the client secret has expired; make a new one"));
  EXPECT_THAT(run.log, HasSubstr("ok      open orders"));
}

TEST(diagnose, names_a_token_waldur_refuses_and_goes_on_with_the_cloud) {
  const site s;
  std::string config = read_file(s.config_file());
  const std::string right = "waldur_api_token: e2e0";
  config.replace(config.find(right), right.size(), "waldur_api_token: f2f0");
  write_file(s.config_file(), config);
  const agent_run run = s.run_command({"diagnose"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.log, HasSubstr("FAILED  Waldur user"));
  EXPECT_THAT(run.log, HasSubstr("check the token in the configuration"));
  EXPECT_THAT(run.log, HasSubstr("ok      plugin azure, defaults"));
  EXPECT_THAT(run.log, Not(HasSubstr("f2f0")));
}

TEST(diagnose, names_the_tenant_that_owns_the_subscription) {
  const site s;
  std::string config = read_file(s.config_file());
  const std::string right = "tenant_id: 22222222";
  config.replace(config.find(right), right.size(), "tenant_id: 99999999");
  write_file(s.config_file(), config);
  EXPECT_THAT(
      diagnose(s), Contains(HasSubstr("set tenant_id to 22222222-2222-2222-2222-222222222222"))
  );
}

TEST(diagnose, reports_each_side_when_the_other_cannot_be_reached) {
  const site s;
  // Nothing listens on a port that was just given back.
  std::string dead;
  {
    const emulator passing(SITEAGENT_BIN_DIR "/waldur-emulator", s.dir(), "passing", {});
    dead = passing.url();
  }
  s.write_config(
      s.default_offering_yaml("Good", offering_uuid) +
      s.default_offering_yaml("Lost cloud", "e2ef0000000000000000000000000202", dead)
  );
  const agent_run run = s.run_command({"diagnose", "--json"});
  EXPECT_EQ(run.exit_code, 1);
  const auto printed = documents(run.log);
  ASSERT_THAT(printed, SizeIs(1)) << run.log;
  EXPECT_EQ(printed[0]["offerings"][0]["ok"], json(true)) << printed[0].pretty();
  EXPECT_EQ(printed[0]["offerings"][1]["ok"], json(false));
  EXPECT_THAT(
      failures(printed[0]),
      AllOf(
          Contains(AllOf(HasSubstr("resource manager " + dead), HasSubstr("no connection"))),
          Contains(HasSubstr("offering in Waldur"))
      )
  );
}

TEST(diagnose, tells_a_failed_handshake_from_a_refused_connection) {
  const site s;
  // The emulator speaks no TLS.
  const std::string origin = "https" + s.azure().url().substr(std::string("http").size());
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid, origin));
  EXPECT_THAT(
      diagnose(s),
      Contains(AllOf(HasSubstr("resource manager " + origin), HasSubstr("TLS handshake failed")))
  );
}

TEST(diagnose, tells_a_host_without_an_address_from_one_that_is_down) {
  const site s;
  const std::string origin = "https://management.example.invalid"; // RFC 2606: never resolves
  s.write_config(s.default_offering_yaml("Azure VM", offering_uuid, origin));
  EXPECT_THAT(
      diagnose(s),
      Contains(AllOf(
          HasSubstr("resource manager " + origin),
          HasSubstr("look up host"),
          HasSubstr("name servers")
      ))
  );
}

TEST(diagnose, names_what_the_order_form_promises_and_nobody_can_deliver) {
  site_options options;
  options.waldur_seed = *json::parse(
      R"({"offerings": [{"plugin_options": {"supports_pausing": true}, "options": {
          "order": ["size", "location"], "options": {
            "size": {"type": "select_string", "label": "Size",
                     "choices": ["Standard_B1s", "Standard_Gone", "Standard_B2s"]},
            "location": {"type": "select_string", "label": "Location",
                         "choices": ["westeurope", "eastus"]}}}}]})"
  );
  options.azure_seed = *json::parse(
      R"({"restrictions": [{"size": "Standard_B2s", "location": "eastus",
                            "reason": "NotAvailableForSubscription"}]})"
  );
  const site s(options);
  const auto failed = diagnose(s);
  EXPECT_THAT(
      failed, Contains(AllOf(HasSubstr("order option size"), HasSubstr("Standard_Gone (")))
  );
  EXPECT_THAT(
      failed,
      Contains(AllOf(HasSubstr("order option location"), HasSubstr("eastus (Standard_B2s: ")))
  );
  EXPECT_THAT(failed, Contains(HasSubstr("order option ssh_public_key: not in the order form")));
  EXPECT_THAT(failed, Not(Contains(HasSubstr("supports_pausing"))));
}

TEST(offering_options, are_ready_to_paste_and_only_what_can_be_ordered) {
  site_options options;
  options.settings = "      allowed_sizes: [Standard_B1s, Standard_B2s, Standard_F2s_v2]\n";
  options.azure_seed = *json::parse(
      R"({"restrictions": [{"size": "Standard_F2s_v2", "location": "*",
                            "reason": "NotAvailableForSubscription"},
                           {"size": "Standard_B2s", "location": "eastus",
                            "reason": "QuotaId"}]})"
  );
  const site s(options);
  const agent_run run =
      s.run_command({"offering-options", "--json", "--offering", std::string(offering_uuid)});
  ASSERT_EQ(run.exit_code, 0) << run.log;
  const auto printed = documents(run.log);
  ASSERT_THAT(printed, SizeIs(1)) << run.log;
  const json& form = printed[0];
  ASSERT_EQ(form["order"].size(), form["options"].size());
  for (const json& name : form["order"].items()) {
    const json& option = form["options"][name.string_or("")];
    EXPECT_FALSE(option["label"].string_or("").empty()) << name.dump();
    EXPECT_TRUE(option["required"].boolean()) << name.dump();
  }
  const json& fields = form["options"];
  EXPECT_EQ(fields["size"]["choices"], json::array({"Standard_B1s", "Standard_B2s"}));
  EXPECT_EQ(fields["size"]["default"], json("Standard_B1s"));
  EXPECT_EQ(fields["location"]["choices"], json::array({"westeurope", "northeurope", "westus2"}))
      << "Standard_B2s cannot be used in eastus";
  EXPECT_THAT(fields["image"]["choices"].items(), Not(IsEmpty()));
  EXPECT_EQ(fields["ssh_public_key"]["type"], json("text"));
  EXPECT_THAT(run.errors, HasSubstr("left out of size: Standard_F2s_v2"));
  EXPECT_THAT(run.errors, HasSubstr("left out of location: eastus: Standard_B2s"));

  // What was printed is what diagnose then finds in order.
  json offering = json::object({{"options", form}});
  s.waldur().seed(json::object({{"offerings", json::array({offering})}}));
  EXPECT_THAT(diagnose(s), IsEmpty());
}

TEST(offering_options, of_an_offering_the_file_does_not_have_are_refused) {
  const site s;
  const agent_run run = s.run_command({"offering-options", "--offering", "e2ef"});
  EXPECT_EQ(run.exit_code, 1);
  EXPECT_THAT(run.errors, HasSubstr("no usable offering with waldur_offering_uuid e2ef"));
}

} // namespace
} // namespace siteagent::integration
