// SPDX-License-Identifier: MIT
// Names that are taken, refusals before the first write, failures behind it.
#include "tests/unit/azure/create_fixture.hpp"

#include <algorithm>

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;

TEST_F(azure_create, a_foreign_group_makes_the_name_longer) {
  arm.put(group_id(), tagged("ffffffffffffffffffffffffffffffff"));
  base::json untagged = tagged();
  untagged.erase("tags");
  arm.put(group_id("group-01234567-web"), untagged);
  const base::json before = arm.get(group_id());
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(
      call.emitted[0]["backend_id"].string_or(""), HasSubstr("/group-0123456789abcdef-web/")
  );
  EXPECT_EQ(arm.get(group_id()), before);
}

TEST_F(azure_create, refuses_when_every_name_is_taken) {
  for (const char* name :
       {"group-0123-web",
        "group-01234567-web",
        "group-0123456789abcdef-web",
        "group-0123456789abcdef0123456789abcdef-web"}) {
    arm.put(group_id(name), tagged("ffffffffffffffffffffffffffffffff"));
  }
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_CONFLICT);
  EXPECT_THAT(call.message, HasSubstr("group-0123456789abcdef0123456789abcdef-web"));
  EXPECT_EQ(call.public_message.find("group"), std::string::npos);
  EXPECT_TRUE(arm.writes().empty());
}

class azure_create_foreign : public azure_create,
                             public testing::WithParamInterface<const char*> {};

TEST_P(azure_create_foreign, object_in_a_shared_group_makes_the_name_longer) {
  shared_group();
  const std::string id = group_id("shared") + "/providers/" + GetParam() + "web-01234567";
  base::json foreign = tagged();
  foreign.erase("tags");
  arm.put(id, foreign);
  const base::json before = arm.get(id);
  const fake_call call = create();
  ASSERT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_THAT(
      call.emitted[0]["backend_id"].string_or(""), testing::EndsWith("/web-0123456789abcdef")
  );
  ASSERT_EQ(run(&backend::delete_resource).code, SAGENT_OK);
  EXPECT_EQ(arm.get(id), before);
  EXPECT_EQ(arm.ids().size(), 2U);
}

INSTANTIATE_TEST_SUITE_P(
    kinds,
    azure_create_foreign,
    testing::Values(
        "Microsoft.Compute/virtualMachines/",
        "Microsoft.Network/networkInterfaces/nic",
        "Microsoft.Network/networkSecurityGroups/nsg",
        "Microsoft.Network/publicIPAddresses/pubip",
        "Microsoft.Network/virtualNetworks/net",
        "Microsoft.Compute/disks/osdisk"
    )
);

TEST_F(azure_create, an_existing_shared_group_is_never_written) {
  shared_group();
  ASSERT_EQ(create().code, SAGENT_OK);
  EXPECT_EQ(arm.count_requests("PUT", "/resourceGroups/shared?"), 0U);
  EXPECT_TRUE(arm.has(object_id("Microsoft.Compute/virtualMachines", "web-01234567", "shared")));
}

TEST_F(azure_create, a_missing_shared_group_is_made_without_the_resources_tag) {
  settings.set("default_resource_group", "shared");
  ASSERT_EQ(create().code, SAGENT_OK);
  EXPECT_EQ(arm.get(group_id("shared"))["tags"].find(uuid_tag), nullptr);
}

TEST_F(azure_create, a_shared_group_falsely_said_to_be_missing_is_not_written) {
  shared_group();
  const auto say_missing = [&](int times) {
    arm.script(
        {"GET",
         "/resourceGroups/shared/resources?",
         times,
         0,
         false,
         404,
         fake_arm::error_text("ResourceGroupNotFound"),
         {}}
    );
  };
  say_missing(2);
  const fake_call call = create();
  EXPECT_EQ(call.code / 100, 1) << call.code << " " << call.message;
  EXPECT_EQ(arm.writes().size(), 0U);
  say_missing(1);
  ASSERT_EQ(create().code, SAGENT_OK);
  EXPECT_EQ(arm.count_requests("PUT", "/resourceGroups/shared?"), 0U);
}

class azure_create_given_up : public azure_create,
                              public testing::WithParamInterface<const char*> {};

TEST_P(azure_create_given_up, machine_is_final_whatever_the_code_says) {
  arm.fail_operation("/virtualmachines/", GetParam());
  const fake_call call = create();
  EXPECT_EQ(call.code / 100, 2) << call.code << " " << call.message;
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U) << "made twice";
  EXPECT_EQ(create().code / 100, 2) << "the next run finds the failed machine";
}

INSTANTIATE_TEST_SUITE_P(
    codes,
    azure_create_given_up,
    testing::Values(
        "Canceled",
        "CanceledAndSupersededDueToAnotherOperation",
        "OperationPreempted",
        "InternalExecutionError",
        "Conflict",
        "SomethingNobodyHasSeen"
    )
);

TEST_F(azure_create, a_write_that_always_misses_something_fails_the_order) {
  arm.script({"PUT", "/virtualMachines/", -1, 0, false, 404, fake_arm::error_text("NotFound"), {}});
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_PERMANENT) << call.message;
  EXPECT_GT(arm.count_requests("PUT", "/virtualMachines/"), 1U) << "it may only be late";
}

TEST_F(azure_create, a_412_of_a_foreign_object_is_a_refusal) {
  arm.script(
      {"PUT",
       "/networkInterfaces/",
       1,
       0,
       false,
       412,
       fake_arm::error_text("PreconditionFailed"),
       {}}
  );
  prepare = [this](fake_call& c) {
    c.on_checkpoint = [this](const base::json& j) -> sagent_code {
      if (j["phase"].string_or("") == "after" && j["kind"].string_or("") == "network-interface") {
        arm.put(
            object_id("Microsoft.Network/networkInterfaces", "nicweb"),
            tagged("ffffffffffffffffffffffffffffffff")
        );
      }
      return SAGENT_OK;
    };
  };
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_CONFLICT) << call.message;
  EXPECT_THAT(call.message, HasSubstr("nicweb"));
  EXPECT_EQ(arm.count("virtualMachines"), 0U);
}

struct refusal_row {
  const char* name;
  const char* key;
  const char* value;
  sagent_code code;
  const char* text;
};

class azure_create_refusals : public azure_create,
                              public testing::WithParamInterface<refusal_row> {};

TEST_P(azure_create_refusals, before_the_first_write) {
  attribute(GetParam().key, GetParam().value);
  const fake_call call = create();
  EXPECT_EQ(call.code, GetParam().code) << call.message;
  EXPECT_THAT(call.public_message, HasSubstr(GetParam().text));
  EXPECT_TRUE(arm.writes().empty());
}

INSTANTIATE_TEST_SUITE_P(
    rows,
    azure_create_refusals,
    testing::Values(
        refusal_row{"location", "location", "mars", SAGENT_E_PERMANENT, "no location 'mars'"},
        refusal_row{
            "size", "size", "Standard_B1x", SAGENT_E_PERMANENT, "did you mean Standard_B1s?"},
        refusal_row{
            "restricted",
            "size",
            "Standard_Closed",
            SAGENT_E_REFUSED,
            "NotAvailableForSubscription"},
        refusal_row{"generation", "size", "Standard_V1only", SAGENT_E_PERMANENT, "generation V2"},
        refusal_row{"quota", "size", "Standard_Big", SAGENT_E_QUOTA, "quota"},
        refusal_row{
            "image",
            "image",
            "Nobody:x:y:latest",
            SAGENT_E_PERMANENT,
            "no image 'Nobody:x:y:latest' in westeurope"},
        refusal_row{
            "image_form", "image", "ubuntu", SAGENT_E_INVALID, "publisher:offer:sku:version"},
        refusal_row{"user", "username", "root", SAGENT_E_INVALID, "reserved"}
    ),
    [](const auto& row) { return std::string(row.param.name); }
);

TEST_F(azure_create, a_zone_restriction_does_not_matter_without_a_zone) {
  attribute("size", "Standard_Zone");
  EXPECT_EQ(create().code, SAGENT_OK);
}

TEST_F(azure_create, checks_it_may_not_make_are_left_to_azure) {
  arm.script({"GET", "/skus?", -1, 0, false, 403, fake_arm::error_text("AuthorizationFailed"), {}});
  arm.cores_limit = 0;
  EXPECT_EQ(create().code, SAGENT_OK);
}

TEST_F(azure_create, refused_machines_are_refusals_with_words_for_the_customer) {
  arm.script(
      {"PUT",
       "/virtualMachines/",
       1,
       0,
       false,
       409,
       fake_arm::error_text("SkuNotAvailable", "The requested VM size"),
       {}}
  );
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_REFUSED);
  EXPECT_THAT(call.public_message, HasSubstr("capacity"));
  EXPECT_EQ(call.provider_code, "SkuNotAvailable");
  EXPECT_EQ(call.detail["http_status"].integer(), 409);
}

TEST_F(azure_create, a_failed_machine_is_never_made_again_by_itself) {
  arm.fail_operation("/virtualmachines/", "OSProvisioningClientError", "bad user data");
  EXPECT_EQ(create().code, SAGENT_E_PERMANENT);
  const fake_call again = create();
  EXPECT_EQ(again.code, SAGENT_E_PERMANENT);
  EXPECT_EQ(again.provider_code, "OSProvisioningClientError");
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
}

TEST_F(azure_create, a_slow_first_boot_is_taken_when_its_agent_reports) {
  arm.fail_operation("/virtualmachines/", "OSProvisioningTimedOut");
  prepare = [this](fake_call& c) {
    c.on_checkpoint = [this](const base::json& j) -> sagent_code {
      if (j["kind"].string_or("") == "virtual-machine" && j["phase"].string_or("") == "poll") {
        arm.script(
            {"GET",
             "/instanceView",
             -1,
             2,
             false,
             200,
             R"({"vmAgent":{"statuses":[{"code":"ProvisioningState/succeeded"}]},"statuses":[{"code":"PowerState/running"}]})",
             {}}
        );
      }
      return SAGENT_OK;
    };
  };
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_OK) << call.message;
  EXPECT_EQ(arm.count_requests("PUT", "/virtualMachines/"), 1U);
}

TEST_F(azure_create, a_slow_first_boot_that_never_ends_fails) {
  arm.fail_operation("/virtualmachines/", "OSProvisioningTimedOut");
  const fake_call call = create();
  EXPECT_EQ(call.code, SAGENT_E_PERMANENT);
  EXPECT_EQ(call.provider_code, "OSProvisioningTimedOut");
}

TEST_F(azure_create, busy_neighbours_are_waited_for) {
  arm.script(
      {"PUT", "/networkInterfaces/", 2, 0, false, 429, fake_arm::error_text("RetryableError"), {}}
  );
  arm.script(
      {"PUT", "/subnets/", 1, 0, false, 409, fake_arm::error_text("AnotherOperationInProgress"), {}}
  );
  EXPECT_EQ(create().code, SAGENT_OK);
}

TEST_F(azure_create, a_dry_run_writes_nothing) {
  open();
  const std::string text = body.dump();
  sagent_request request{};
  request.struct_size = sizeof request;
  request.flags = SAGENT_REQ_DRY_RUN;
  request.body = sagent::borrow(text);
  request.idempotency_key = sagent::borrow(uuid);
  fake_call call(clock);
  sagent::call wrapped(call.raw());
  azure->create_resource(wrapped, sagent::request(request));
  EXPECT_EQ(call.emitted.at(0)["would_create"].string_or(""), machine_id());
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_create, without_a_tag_nothing_is_created) {
  body.erase("uuid_tag");
  EXPECT_EQ(create().code, SAGENT_E_INVALID);
  EXPECT_TRUE(arm.log().empty());
}

TEST_F(azure_create, evaluate_asks_nobody) {
  attribute("image", "ubuntu");
  const fake_call call = run(&backend::evaluate_order);
  EXPECT_EQ(call.emitted.at(0)["decision"].string_or(""), "reject");
  EXPECT_EQ(
      call.emitted.at(0)["reason"].string_or(""),
      "Azure image 'ubuntu' is not in publisher:offer:sku:version form"
  );
  EXPECT_TRUE(arm.log().empty());
  attribute("image", "");
  EXPECT_EQ(run(&backend::evaluate_order).emitted.at(0)["decision"].string_or(""), "accept");
}

} // namespace

} // namespace siteagent::azure::test
