// SPDX-License-Identifier: MIT
// What went wrong with the plugin's predecessor, one test per weakness by its number: it does not
// happen here. plugins/azure/README.md has the table; tests/integration/weaknesses_test.cpp those
// that only a whole site shows, weakness_credentials_test.cpp the last.
#include "plugins/azure/base64.hpp"
#include "plugins/azure/naming.hpp"
#include "tests/unit/azure/taken_over.hpp"

#include <thread>

namespace siteagent::azure::test {

namespace {

using base::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class weakness : public taken_over_machine {
protected:
  // An order of another resource.
  fake_call create_as(const std::string& name, const std::string& owner) {
    body.member_ref("resource").set("name", name);
    body.member_ref("tags").set(uuid_tag, owner);
    return run(&backend::create_resource, "", owner);
  }

  std::string made(const fake_call& call) {
    EXPECT_EQ(call.code, SAGENT_OK) << call.message;
    return call.emitted.empty() ? "" : call.emitted[0]["backend_id"].string_or("");
  }

  json decision() { return run(&backend::evaluate_order).emitted.at(0); }

  // Rejected before approval, and nobody was asked.
  void expect_rejected(const std::string& what) {
    arm.clear_log();
    EXPECT_EQ(decision()["decision"].string_or(""), "reject") << what;
    EXPECT_TRUE(arm.log().empty()) << what;
  }

  static scripted
  answer(const char* method, const char* part, int status, std::string_view code, int times = 1) {
    return {method, part, times, 0, false, status, fake_arm::error_text(code), {}};
  }

  std::size_t single_reads() const { return arm.count_requests("GET", "/virtualMachines/"); }
};

TEST_F(weakness, w01_a_read_that_fails_never_costs_a_running_machine) {
  const std::string id = made(create());
  for (const int status : {429, 503}) {
    for (const char* read : {"/resources?", "/virtualMachines/web", "/instanceView", ""}) {
      clock.advance(std::chrono::hours(2)); // pauses of the last round are over
      arm.clear_log();
      arm.clear_scripts();
      arm.script(answer("GET", read, status, "Busy", -1));
      create();
      clock.advance(std::chrono::hours(2));
      body.set("keep_working_machine", true);
      EXPECT_NE(remove("").code, SAGENT_OK) << status << read;
      EXPECT_TRUE(arm.writes().empty()) << status << read;
    }
  }
  EXPECT_TRUE(arm.has(id));
}

TEST_F(weakness, w01_a_machine_that_was_there_before_is_neither_written_nor_cleaned_up) {
  const std::string id = made(create());
  arm.clear_log();
  arm.lists_know_tags = false; // the look finds nothing
  arm.script(answer("PUT", "/virtualMachines/", 409, "PropertyChangeNotAllowed", -1));
  EXPECT_EQ(made(create()), id);
  body.set("keep_working_machine", true);
  EXPECT_EQ(remove("").code, SAGENT_E_CONFLICT);
  EXPECT_TRUE(arm.has(id));
  EXPECT_EQ(arm.count_requests("DELETE", ""), 0U);
}

TEST_F(weakness, w04_resources_of_one_name_and_one_infix_share_no_group) {
  constexpr const char* twin = "0123ffffffffffffffffffffffffffff";
  const std::string first = made(create());
  const std::string second = made(create_as("web", twin));
  EXPECT_THAT(second, HasSubstr("/group-0123ffff-web/"));
  EXPECT_EQ(remove(first).code, SAGENT_OK);
  EXPECT_FALSE(arm.has(first));
  EXPECT_TRUE(arm.has(second));
}

TEST_F(weakness, w05_user_data_is_sent_as_base64_of_its_bytes_whatever_it_looks_like) {
  for (const std::string data : {"#cloud-config\nname: \xC3\xA4\n", "I2Nsb3VkLWNvbmZpZw=="}) {
    attribute("user_data", data);
    arm.clear_log();
    const std::string id = made(create());
    const json profile = put_body("/virtualMachines/")["properties"]["osProfile"];
    EXPECT_EQ(base64_decode(profile["customData"].string_or("")), data);
    EXPECT_EQ(remove(id).code, SAGENT_OK);
  }
  attribute("user_data", std::string(65'536, 'x'));
  expect_rejected("more than Azure takes");
}

TEST_F(weakness, w06_the_key_goes_to_the_users_own_file) {
  attribute("username", "ada");
  made(create());
  const json profile = put_body("/virtualMachines/")["properties"]["osProfile"];
  const json& key = profile.at({"linuxConfiguration", "ssh", "publicKeys"})[0];
  EXPECT_EQ(key["path"].string_or(""), "/home/ada/.ssh/authorized_keys");
  EXPECT_EQ(key["keyData"].string_or(""), ed25519_key);
}

TEST_F(weakness, w07_password_login_can_be_disabled_and_then_there_is_no_password) {
  settings.set("password_login", "disabled");
  made(create());
  const json profile = put_body("/virtualMachines/")["properties"]["osProfile"];
  EXPECT_EQ(profile.at({"linuxConfiguration", "disablePasswordAuthentication"}).boolean(), true);
  EXPECT_EQ(profile.find("adminPassword"), nullptr);
}

TEST_F(weakness, w07_a_generated_password_is_sent_and_told_to_nobody) {
  const fake_call call = create();
  made(call);
  const json profile = put_body("/virtualMachines/")["properties"]["osProfile"];
  const std::string password = profile["adminPassword"].string_or("");
  ASSERT_GE(password.size(), 12U);
  EXPECT_THAT(host_data.protected_values, testing::Contains(password));
  EXPECT_THAT(call.emitted[0].dump(), Not(HasSubstr(password)));
  for (const json& told : call.checkpoints) {
    EXPECT_THAT(told.dump(), Not(HasSubstr(password)));
  }
}

TEST_F(weakness, w08_clean_up_goes_on_past_what_it_cannot_delete_and_names_it) {
  shared_group();
  arm.script(answer("PUT", "/virtualMachines/", 409, "SkuNotAvailable"));
  EXPECT_EQ(create().code, SAGENT_E_REFUSED);
  arm.script(answer("DELETE", "/networkSecurityGroups/", 409, "ScopeLocked", -1));
  const fake_call first = remove("");
  EXPECT_NE(first.code, SAGENT_OK);
  EXPECT_THAT(first.detail["not_removed"].dump(), HasSubstr("nsgweb-01234567"));
  EXPECT_EQ(arm.ids().size(), 2U); // the shared group and what is locked
  arm.clear_scripts();
  EXPECT_EQ(remove("").code, SAGENT_OK); // found again by its tag
  EXPECT_EQ(arm.ids().size(), 1U);
}

TEST_F(weakness, w09_a_reserved_interface_is_waited_for_and_goes_with_its_machine) {
  shared_group();
  arm.script(answer("PUT", "/virtualMachines/", 409, "SkuNotAvailable"));
  EXPECT_EQ(create().code, SAGENT_E_REFUSED);
  const json refused = put_body("/virtualMachines/")["properties"]["networkProfile"];
  EXPECT_EQ(
      refused["networkInterfaces"][0].at({"properties", "deleteOption"}).string_or(""), "Delete"
  );
  arm.script(answer("DELETE", "/networkInterfaces/", 400, "NicReservedForAnotherVm", 10));
  const auto before = clock.steady();
  EXPECT_EQ(remove("").code, SAGENT_OK);
  EXPECT_GE(clock.steady() - before, std::chrono::seconds(150));
  EXPECT_EQ(arm.ids().size(), 1U);
}

TEST_F(weakness, w10_a_registered_key_is_found_in_either_spelling_of_its_uuid) {
  constexpr const char* hex = "e2ef0000000000000000000000000501";
  constexpr const char* dashed = "E2EF0000-0000-0000-0000-000000000501";
  body.member_ref("order").member_ref("attributes").erase("ssh_public_key");
  for (const auto& [asked, kept] : {std::pair{hex, dashed}, {dashed, hex}}) {
    attribute("ssh_key", asked);
    body.set("ssh_keys", json::object({{kept, ed25519_key}}));
    EXPECT_EQ(decision()["decision"].string_or(""), "accept") << asked;
  }
}

TEST_F(weakness, w11_actual_disks_can_be_metered_instead_of_the_sizes_maximum) {
  settings.set("disk_source", "actual");
  const std::string id = take_over("group-1a2b-old", "old");
  ask_for({id});
  EXPECT_EQ(
      run(&backend::report_usage).emitted.at(0)["total"]["disk"].string_or(""),
      std::to_string(30 * 1024 + 4096)
  );
  azure.reset();
  settings.set("disk_source", "size"); // as documented: the most this size may have
  EXPECT_EQ(
      run(&backend::report_usage).emitted.at(0)["total"]["disk"].string_or(""),
      std::to_string(1'047'552 + 4096)
  );
}

TEST_F(weakness, w12_a_page_that_fails_is_a_translated_error_and_no_short_list) {
  std::vector<std::string> ids;
  for (const char* name : {"a", "b", "c"}) {
    ids.push_back(take_over("group-1a2b-" + std::string(name), name));
  }
  ask_for(ids);
  arm.page_size = 1;
  arm.script(answer("GET", "skiptoken", 503, "ServiceUnavailable", -1));
  for (const method read : {&backend::report_usage, &backend::pull_resources}) {
    const fake_call call = run(read);
    EXPECT_EQ(call.code, SAGENT_E_TRANSIENT) << call.message;
    EXPECT_TRUE(call.emitted.empty());
  }
}

TEST_F(weakness, w12_a_size_list_that_fails_leaves_usage_out_and_machines_present) {
  ask_for({take_over("group-1a2b-old", "old")});
  settings.set("limits_source", "size");
  arm.script(answer("GET", "/vmSizes", 500, "InternalServerError", -1));
  EXPECT_EQ(run(&backend::report_usage).emitted.at(0)["measured"], json(false));
  EXPECT_EQ(run(&backend::pull_resources).emitted.at(0)["presence"].string_or(""), "present");
}

TEST_F(weakness, w13_more_machines_need_no_more_calls) {
  std::vector<std::string> ids;
  std::vector<std::size_t> calls;
  for (const std::size_t many : {5U, 60U}) {
    while (ids.size() < many) {
      const std::string name = "m" + std::to_string(ids.size());
      ids.push_back(take_over("group-1a2b-" + name, name));
    }
    ask_for(ids);
    azure.reset();
    open();
    arm.clear_log();
    EXPECT_EQ(run(&backend::report_usage).emitted.size(), many);
    EXPECT_EQ(run(&backend::pull_resources).emitted.size(), many);
    EXPECT_EQ(single_reads(), 0U);
    calls.push_back(arm.log().size());
  }
  EXPECT_LE(calls[1], calls[0]);
}

TEST_F(weakness, w14_an_operation_that_never_ends_ends_the_call_and_the_next_one_goes_on) {
  arm.script({"GET", "/operations/", -1, 0, false, 200, R"({"status":"InProgress"})", {}});
  const auto before = clock.steady();
  const fake_call call = create();
  EXPECT_EQ(call.code / 100, 1) << call.code << " " << call.message;
  EXPECT_LE(clock.steady() - before, std::chrono::minutes(45));
  EXPECT_FALSE(kinds_of(call.checkpoints, "poll", "put").empty()); // the heartbeat goes on
  arm.clear_scripts();
  made(create());
  EXPECT_EQ(arm.count("virtualMachines"), 1U);
  EXPECT_EQ(arm.count("virtualNetworks/subnets"), 1U);
}

TEST_F(weakness, w15_passing_refusals_cost_no_order) {
  const std::vector<std::pair<int, const char*>> rows{
      {408, "RequestTimeout"},
      {409, "AnotherOperationInProgress"},
      {409, "OperationPreempted"},
      {429, "RetryableError"},
      {429, "TooManyRequests"},
      {500, "InternalServerError"},
      {502, "BadGateway"},
      {503, "ServerBusy"},
      {504, "GatewayTimeout"}};
  int n = 0;
  for (const auto& [status, code] : rows) {
    const std::string owner = std::string(30, '0') + std::to_string(++n + 10);
    arm.script(answer("PUT", "/virtualMachines/", status, code));
    const fake_call call = create_as("web" + std::to_string(n), owner);
    EXPECT_TRUE(call.code == SAGENT_OK || call.code / 100 == 1) << code << ": " << call.message;
    if (call.code != SAGENT_OK) {
      made(create_as("web" + std::to_string(n), owner));
    }
  }
  EXPECT_EQ(arm.count("virtualMachines"), rows.size());
  for (const int status : {429, 503}) { // for ever: the order waits, it does not err
    arm.script(answer("PUT", "/networkInterfaces/", status, "Busy", -1));
    EXPECT_EQ(create_as("last", std::string(32, 'f')).code / 100, 1) << status;
    arm.clear_scripts();
  }
}

TEST_F(weakness, w15_advice_is_followed_and_lack_is_told_to_the_customer) {
  scripted throttled = answer("PUT", "/networkInterfaces/", 429, "TooManyRequests");
  throttled.headers = {{"retry-after", "120"}};
  arm.script(throttled);
  const auto before = clock.steady();
  made(create());
  EXPECT_GE(clock.steady() - before, std::chrono::seconds(120));
  for (const char* lack : {"SkuNotAvailable", "QuotaExceeded"}) {
    arm.script(answer("PUT", "/virtualMachines/", 409, lack));
    const fake_call call = create_as("other", std::string(32, 'f'));
    EXPECT_EQ(call.code / 100, 3) << lack;
    EXPECT_FALSE(call.public_message.empty()) << lack;
  }
}

TEST_F(weakness, w16_a_resize_is_refused_with_a_reason_before_approval) {
  body.set("order", *json::parse(R"({"type":"Update","limits":{"cpu":4},"old_limits":{"cpu":2}})"));
  expect_rejected("other limits");
  EXPECT_THAT(decision()["reason"].string_or(""), HasSubstr("does not change an Azure machine"));
  const fake_call set = run(&backend::set_resource_limits, machine_id());
  EXPECT_EQ(set.code, SAGENT_E_UNSUPPORTED);
  EXPECT_FALSE(set.public_message.empty());
}

TEST_F(weakness, w17_a_plan_that_gives_something_else_is_refused_without_limits_too) {
  json order =
      *json::parse(R"({"type":"Update","limits":{},"old_limits":{"cpu":2},"plan_quotas":{"cpu":8}})"
      );
  order.set("old_plan_quotas", json::object({{"cpu", 2}}));
  body.set("order", order);
  expect_rejected("another plan");
  EXPECT_THAT(decision()["reason"].string_or(""), HasSubstr("plan"));
  order.set("old_plan_quotas", json::object({{"cpu", 8}})); // only the price differs
  body.set("order", order);
  EXPECT_EQ(decision()["decision"].string_or(""), "accept");
}

TEST_F(weakness, w18_limits_can_be_those_of_the_size_and_are_never_made_up_otherwise) {
  body.member_ref("order").set("limits", json::object({{"cpu", 16}}));
  const fake_call as_ordered = create();
  EXPECT_EQ(as_ordered.emitted.at(0).find("limits"), nullptr);
  EXPECT_EQ(remove(made(as_ordered)).code, SAGENT_OK);
  azure.reset();
  settings.set("limits_source", "size");
  const fake_call as_made = create();
  EXPECT_EQ(as_made.emitted.at(0)["limits"]["cpu"].string_or(""), "1");
}

TEST_F(weakness, w19_the_case_of_ids_and_groups_decides_nothing) {
  const std::string id = made(create());
  arm.upper_case_lists = true;
  arm.clear_log();
  ask_for({upper(id), id, upper(id)});
  for (const json& row : run(&backend::pull_resources).emitted) {
    EXPECT_EQ(row["presence"].string_or(""), "present");
  }
  EXPECT_EQ(single_reads(), 0U); // found in the lists
  EXPECT_EQ(remove(upper(id)).code, SAGENT_OK);
  EXPECT_TRUE(arm.ids().empty()); // the group too
}

TEST_F(weakness, w20_an_operators_group_of_the_same_pattern_is_not_dropped) {
  const std::string id = take_over("group-abcd-web", "web");
  const std::string theirs = foreign("Microsoft.Sql/servers", "billing", "group-abcd-web");
  const fake_call call = remove(id);
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_FALSE(arm.has(id));
  EXPECT_TRUE(arm.has(theirs));
  EXPECT_TRUE(arm.has(group_id("group-abcd-web")));
  EXPECT_THAT(call.emitted[0]["remaining"].dump(), HasSubstr("billing"));
}

TEST_F(weakness, w20_nor_one_that_is_tagged_for_another_resource) {
  const std::string id = take_over("group-abcd-web", "web");
  arm.put(group_id("group-abcd-web"), tagged(std::string(32, 'f')));
  EXPECT_EQ(remove(id).code, SAGENT_OK);
  EXPECT_EQ(arm.ids(), std::vector<std::string>{group_id("group-abcd-web")});
}

TEST_F(weakness, w21_another_subscriptions_machine_is_an_error_and_not_gone) {
  made(create());
  std::string id = machine_id();
  id.replace(id.find("11111111"), 8, "99999999");
  arm.clear_log();
  for (const method change :
       {&backend::delete_resource, &backend::pause, &backend::downscale, &backend::restore}) {
    EXPECT_EQ(run(change, id).code, SAGENT_E_INVALID);
  }
  EXPECT_TRUE(arm.log().empty());
  ask_for({id});
  EXPECT_EQ(run(&backend::pull_resources).emitted.at(0)["presence"].string_or(""), "unknown");
}

TEST_F(weakness, w22_a_404_of_something_else_proves_no_absence) {
  const std::string id = made(create());
  for (const auto& [status, code] :
       {std::pair{404, "SubscriptionNotFound"},
        {404, "InvalidResourceNamespace"},
        {403, "AuthorizationFailed"}}) {
    arm.clear_scripts();
    arm.clear_log();
    arm.script(answer("GET", "/virtualMachines/", status, code, -1));
    const fake_call call = remove(id);
    EXPECT_TRUE(arm.writes().empty()) << code;
    EXPECT_NE(call.code, SAGENT_OK) << code;
    EXPECT_NE(call.code, SAGENT_E_NOT_FOUND) << code;
  }
  EXPECT_TRUE(arm.has(id));
}

TEST_F(weakness, w22_a_deletion_that_changed_nothing_is_not_done) {
  const std::string id = made(create());
  arm.script({"DELETE", "", -1, 0, false, 204, "", {}});
  const fake_call call = remove(id);
  EXPECT_NE(call.code, SAGENT_OK);
  EXPECT_THAT(call.message, HasSubstr("still there"));
}

TEST_F(weakness, w23_a_shared_group_of_another_region_is_used_as_it_is) {
  settings.set("default_resource_group", "shared");
  json group = object("{}");
  group.set("location", "eastus");
  arm.put(group_id("shared"), group);
  made(create());
  EXPECT_EQ(arm.count_requests("PUT", "/resourceGroups/shared?"), 0U);
  EXPECT_EQ(arm.get(group_id("shared"))["location"].string_or(""), "eastus");
}

TEST_F(weakness, w24_machines_can_share_an_existing_subnet_and_go_without_addresses) {
  shared_group();
  const std::string network = object_id("Microsoft.Network/virtualNetworks", "team", "net");
  arm.put(group_id("net"), object("{}"));
  arm.put(network, object(R"({"subnets":[{"name":"machines"}]})"));
  settings.set("subnet_id", network + "/subnets/machines");
  settings.set("public_ip", "none");
  made(create());
  made(create_as("other", std::string(32, 'f')));
  EXPECT_EQ(arm.count("virtualMachines"), 2U);
  EXPECT_EQ(arm.count("virtualNetworks"), 1U);
  EXPECT_EQ(arm.count("publicIPAddresses"), 0U);
}

TEST_F(weakness, w25_user_names_are_judged_before_any_call) {
  for (const std::string name :
       {"root", "admin", "administrator", "user1", "1", "-x", "a b", "a/b", "Ann"}) {
    attribute("username", name);
    expect_rejected(name);
  }
  attribute("username", std::string(65, 'a'));
  expect_rejected("65 characters");
  attribute("username", std::string(64, 'a'));
  EXPECT_EQ(decision()["decision"].string_or(""), "accept");
}

TEST_F(weakness, w26_keys_are_judged_before_any_call) {
  const auto field = [](const std::string& text) {
    std::string size(4, '\0');
    size[2] = static_cast<char>(text.size() >> 8U);
    size[3] = static_cast<char>(text.size() & 0xFFU);
    return size + text;
  };
  const auto rsa = [&](std::size_t bytes) {
    const std::string modulus(bytes, '\x81');
    return "ssh-rsa " + base::base64(field("ssh-rsa") + field("\x03") + field(modulus)) + " me";
  };
  const std::string good = ed25519_key;
  for (const std::string& key :
       {rsa(128),
        good + "\n" + good,
        good.substr(0, 40),
        std::string("ssh-dss AAAA me"),
        std::string("hello")}) {
    attribute("ssh_public_key", key);
    expect_rejected(key);
  }
  attribute("ssh_public_key", rsa(256));
  EXPECT_EQ(decision()["decision"].string_or(""), "accept");
}

TEST_F(weakness, w28_the_version_is_resolved_and_recorded_and_a_purchase_plan_sent) {
  const std::string image =
      R"({"name":"22.04.10","properties":{"plan":{"publisher":"p","product":"o","name":"s"}}})";
  arm.script({"GET", "/versions/22.04.10?", 1, 0, false, 200, image, {}});
  const fake_call call = create();
  made(call);
  const json sent = put_body("/virtualMachines/");
  EXPECT_EQ(
      sent.at({"properties", "storageProfile", "imageReference", "version"}).string_or(""),
      "22.04.10"
  );
  EXPECT_EQ(sent.at({"plan", "product"}).string_or(""), "o");
  EXPECT_EQ(
      call.emitted[0].at({"metadata", "virtual_machine", "image"}).string_or(""),
      "Canonical:jammy:22_04-lts:22.04.10"
  );
}

TEST_F(weakness, w30_reports_side_by_side_all_see_the_same) {
  ask_for({take_over("group-1a2b-old", "old")});
  open();
  std::vector<std::string> seen(8);
  std::vector<std::thread> reporters;
  for (std::string& text : seen) {
    reporters.emplace_back([this, &text] {
      text = run(&backend::report_usage).emitted.at(0).dump();
    });
  }
  for (std::thread& r : reporters) {
    r.join();
  }
  EXPECT_THAT(seen, testing::Each(AllOf(HasSubstr(R"("cpu":"1")"), testing::Eq(seen[0]))));
}

TEST_F(weakness, w31_a_missing_right_to_write_is_found_before_the_first_order) {
  arm.script(
      {"GET",
       "/providers/Microsoft.Authorization/permissions",
       -1,
       0,
       false,
       200,
       R"({"value":[{"actions":["*/read"],"notActions":[]}]})",
       {}}
  );
  std::string told;
  for (const json& c : run(&backend::diagnostics).emitted) {
    told += c["ok"] == json(false) ? c["detail"].string_or("") : "";
  }
  EXPECT_THAT(told, HasSubstr("Microsoft.Compute/virtualMachines/write"));
  EXPECT_THAT(told, HasSubstr("Microsoft.Network/networkInterfaces/write"));
  EXPECT_EQ(arm.count_requests("GET", "/providers/Microsoft.Network?"), 1U); // is it registered?
}

TEST_F(weakness, w32_networks_and_ranges_are_judged_at_the_start) {
  const auto parsed = [this](const char* key, json value) {
    json changed = settings;
    changed.set(key, std::move(value));
    return parse_settings(changed.dump());
  };
  EXPECT_FALSE(parsed("subnet_cidr", "192.168.0.0/24"));
  EXPECT_FALSE(parsed("network_cidr", "10.0.0.0"));
  EXPECT_FALSE(parsed("allowed_ssh_ranges", json::array({"203.0.113.300"})));
  EXPECT_FALSE(parsed("allowed_ssh_ranges", json::array({"*"})));
  for (const char* anybody : {"0.0.0.0/0", "::/0", "Internet"}) {
    const auto s = parsed("allowed_ssh_ranges", json::array({anybody}));
    ASSERT_TRUE(s) << s.error().message;
    EXPECT_THAT(s->warnings, testing::Contains(HasSubstr("whole internet"))) << anybody;
  }
}

TEST_F(weakness, w34_names_without_latin_letters_share_nothing_and_keep_what_was_written) {
  const std::string first = made(create_as("\xE6\x97\xA5\xE6\x9C\xAC", std::string(32, 'a')));
  const std::string second = made(create_as("\xD0\xB2\xD0\xB5\xD0\xB1", std::string(32, 'b')));
  EXPECT_NE(base::to_lower(first), base::to_lower(second));
  EXPECT_THAT(first, HasSubstr("/group-aaaa-waldur-vm/"));
  EXPECT_EQ(
      arm.get(first).at({"tags", std::string(display_name_tag)}).string_or(""),
      "\xE6\x97\xA5\xE6\x9C\xAC"
  );
}

} // namespace

} // namespace siteagent::azure::test
