// SPDX-License-Identifier: MIT
// The order form's options over the fake Azure: only what can be ordered now, in any combination.
#include "tests/unit/azure/fixture.hpp"

namespace siteagent::azure::test {
namespace {

using base::json;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class azure_order_options : public azure_test {
protected:
  azure_order_options() { body = json::object({{"what", "options"}}); }

  void ask() {
    const fake_call call = run(&backend::describe);
    ASSERT_EQ(call.code, SAGENT_OK) << call.message;
    options = call.emitted;
  }

  json option(std::string_view name) const {
    for (const json& o : options) {
      if (o["name"] == json(name)) {
        return o;
      }
    }
    return {};
  }

  std::vector<std::string> choices(std::string_view name) const {
    std::vector<std::string> out;
    const json o = option(name);
    for (const json& c : o["choices"].items()) {
      out.push_back(c.string_or(""));
    }
    return out;
  }

  std::string reason_for(std::string_view name, std::string_view choice) const {
    const json o = option(name);
    for (const json& l : o["left_out"].items()) {
      if (l["choice"] == json(choice)) {
        return l["reason"].string_or("");
      }
    }
    return "";
  }

  std::vector<json> options;
};

TEST_F(azure_order_options, hold_what_the_subscription_can_make_now) {
  ask();
  EXPECT_THAT(choices("location"), ElementsAre("westeurope"));
  EXPECT_THAT(reason_for("location", "northeurope"), HasSubstr("no such size in northeurope"));
  // Not the restricted one, not the one beyond the quota, not the one that cannot start the image.
  EXPECT_THAT(choices("size"), ElementsAre("Standard_B1s", "Standard_Zone"));
  EXPECT_THAT(choices("image"), Contains("Canonical:jammy:22_04-lts:latest"));
  EXPECT_THAT(choices("image"), Not(Contains(HasSubstr("Debian")))) << "Azure has none here";
  EXPECT_EQ(option("size")["type"], json("select_string"));
  EXPECT_EQ(option("size")["default"], json("Standard_B1s"));
  EXPECT_EQ(option("size")["required"], json(false));
  EXPECT_EQ(option("ssh_public_key")["type"], json("text"));
  EXPECT_EQ(option("ssh_public_key")["required"], json(true));
  EXPECT_TRUE(arm.writes().empty());
}

TEST_F(azure_order_options, must_be_chosen_where_there_is_no_default) {
  settings.erase("default_size");
  ask();
  EXPECT_EQ(option("size")["required"], json(true));
  EXPECT_EQ(option("size").find("default"), nullptr);
}

TEST_F(azure_order_options, stay_inside_the_guard_rails_and_say_why_one_of_them_is_missing) {
  settings.set("allowed_sizes", json::array({"standard_b1s", "Standard_Closed", "Standard_Big"}));
  settings.set("allowed_locations", json::array({"West Europe", "atlantis"}));
  settings.set("allowed_images", json::array({"Canonical:jammy:22_04-lts", "Debian:x:y"}));
  ask();
  EXPECT_THAT(choices("size"), ElementsAre("standard_b1s"));
  EXPECT_THAT(reason_for("size", "Standard_Closed"), HasSubstr("NotAvailableForSubscription"));
  EXPECT_THAT(reason_for("size", "Standard_Big"), HasSubstr("no quota left in westeurope"));
  EXPECT_THAT(choices("location"), ElementsAre("West Europe"));
  EXPECT_THAT(reason_for("location", "atlantis"), HasSubstr("no location of the subscription"));
  EXPECT_THAT(choices("image"), ElementsAre("Canonical:jammy:22_04-lts:latest"));
  EXPECT_FALSE(reason_for("image", "Debian:x:y:latest").empty());
}

TEST_F(azure_order_options, judge_the_choices_of_a_form_that_is_there) {
  settings.set("allowed_sizes", json::array({"Standard_B1s", "Standard_V1only"}));
  body.set(
      "choices",
      json::object(
          {{"size", json::array({"Standard_B1s", "Standard_V1only", "Standard_Zone"})},
           {"image", json::array({"Canonical:jammy:22_04-lts:latest", "nonsense"})}}
      )
  );
  ask();
  EXPECT_THAT(choices("size"), ElementsAre("Standard_B1s"));
  EXPECT_THAT(reason_for("size", "Standard_V1only"), HasSubstr("cannot start the image"));
  EXPECT_THAT(reason_for("size", "Standard_Zone"), HasSubstr("not among allowed_sizes"));
  EXPECT_THAT(reason_for("image", "nonsense"), HasSubstr("publisher:offer:sku:version"));
}

TEST_F(azure_order_options, are_not_guessed_when_azure_cannot_be_read) {
  scripted down;
  down.path_part = "Microsoft.Compute/skus";
  down.times = -1;
  down.status = 503;
  arm.script(down);
  const fake_call call = run(&backend::describe);
  EXPECT_NE(call.code, SAGENT_OK);
  EXPECT_THAT(call.emitted, IsEmpty());
}

TEST_F(azure_order_options, are_told_apart_from_roles_and_from_nothing_known) {
  body.set("what", "role");
  const fake_call role = run(&backend::describe);
  ASSERT_EQ(role.code, SAGENT_OK);
  EXPECT_EQ(role.emitted.size(), 1U);
  EXPECT_TRUE(arm.log().empty()) << "a role is printed before the credentials may do anything";
  body.set("what", "weather");
  EXPECT_EQ(run(&backend::describe).code, SAGENT_E_UNSUPPORTED);
}

} // namespace
} // namespace siteagent::azure::test
