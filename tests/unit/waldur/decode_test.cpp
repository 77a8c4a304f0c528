// SPDX-License-Identifier: MIT
#include "core/waldur/decode.hpp"

#include "core/base/decimal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::waldur {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::UnorderedElementsAre;

base::json parse(std::string_view text) {
  auto j = base::json::parse(text);
  EXPECT_TRUE(j.has_value()) << text;
  return j ? *std::move(j) : base::json{};
}

const std::string_view full_order = R"({
  "uuid":"5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061","type":"Create","state":"pending-provider",
  "resource_name":"web 1","marketplace_resource_uuid":"0a1b2c3d-4e5f-6071-8293-a4b5c6d7e8f9",
  "resource_uuid":"ffffffffffffffffffffffffffffffff",
  "plan_uuid":"00000000000000000000000000000401","old_plan_uuid":"00000000000000000000000000000402",
  "limits":{"cpu":2,"ram":4.0,"disk":"10.50","gpu":null},
  "attributes":{"size":"Standard_B2s"},"project_slug":"proj-1",
  "created":"2026-08-20T10:00:00Z","backend_id":"ignored","new_field":{"x":[1]}})";

const std::string_view full_resource = R"({
  "uuid":"0a1b2c3d4e5f60718293a4b5c6d7e8f9","name":"web 1","slug":"web-1","state":"OK",
  "backend_id":"/subscriptions/x","attributes":{"a":1},"backend_metadata":{"b":2},
  "limits":{"cpu":2},"plan_uuid":"00000000000000000000000000000401","project_uuid":"p","project_slug":"proj-1",
  "customer_slug":"cust","paused":true,"downscaled":false})";

order decoded_order(const base::json& j) {
  auto o = decode_order(j, {});
  EXPECT_TRUE(o.has_value()) << (o ? "" : o.error().message);
  return o ? *std::move(o) : order{};
}

TEST(decode_order, reads_every_field) {
  const order o = decoded_order(parse(full_order));
  EXPECT_EQ(o.uuid.hex(), "5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061");
  EXPECT_EQ(o.type, "Create");
  EXPECT_EQ(o.state, "pending-provider");
  EXPECT_EQ(o.resource_name, "web 1");
  EXPECT_EQ(o.resource->hex(), "0a1b2c3d4e5f60718293a4b5c6d7e8f9") << "not resource_uuid";
  EXPECT_EQ(o.plan->hex(), "00000000000000000000000000000401");
  EXPECT_EQ(o.old_plan->hex(), "00000000000000000000000000000402");
  EXPECT_THAT(
      o.limits,
      UnorderedElementsAre(
          Pair("cpu", "2"), Pair("ram", testing::AnyOf("4", "4.0")), Pair("disk", "10.50")
      )
  );
  EXPECT_EQ(o.attributes["size"].string(), "Standard_B2s");
  EXPECT_EQ(o.project_slug, "proj-1");
  EXPECT_EQ(base::to_rfc3339(*o.created), "2026-08-20T10:00:00Z");
  EXPECT_NE(o.raw.find("new_field"), nullptr);
}

TEST(decode_order, keeps_unknown_types_and_states_as_text) {
  base::json j = parse(full_order);
  j.set("type", "Migrate").set("state", "pending-moon");
  EXPECT_EQ(decoded_order(j).type, "Migrate");
  EXPECT_EQ(decoded_order(j).state, "pending-moon");
}

TEST(decode_order, misses_only_uuid_type_and_state) {
  const base::json full = parse(full_order);
  for (const auto& [name, ignored] : full.members()) {
    const bool is_needed = name == "uuid" || name == "type" || name == "state";
    base::json stripped = full;
    stripped.erase(name);
    base::json nulled = full;
    nulled.set(name, nullptr);
    for (const base::json& j : {stripped, nulled}) {
      const auto o = decode_order(j, {});
      EXPECT_EQ(o.has_value(), !is_needed) << name;
      if (!o) {
        EXPECT_EQ(o.error().message, "field '" + name + "' is missing");
        EXPECT_EQ(o.error().code, base::error_code::transient);
      }
    }
  }
}

TEST(decode_order, reads_absent_parts_as_absent) {
  const order o = decoded_order(parse(
      R"({"uuid":"5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061","type":"Create","state":"executing","attributes":null,"limits":null})"
  ));
  EXPECT_FALSE(o.resource.has_value());
  EXPECT_FALSE(o.plan.has_value());
  EXPECT_FALSE(o.created.has_value());
  EXPECT_THAT(o.limits, IsEmpty());
  EXPECT_TRUE(o.attributes.is_object());
}

TEST(decode_order, takes_new_plan_uuid_when_plan_uuid_is_absent) {
  base::json j = parse(full_order);
  j.set("plan_uuid", nullptr).set("new_plan_uuid", "00000000000000000000000000000403");
  EXPECT_EQ(decoded_order(j).plan->hex(), "00000000000000000000000000000403");
}

TEST(decode_order, refuses_limits_that_are_no_numbers_by_name) {
  for (const std::string_view value : {R"("much")", R"("")", "true", "[1]", R"("1,5")"}) {
    base::json j = parse(full_order);
    j.set("limits", base::json::object({{"cpu", parse(value)}}));
    const auto o = decode_order(j, {});
    ASSERT_FALSE(o.has_value()) << value;
    EXPECT_THAT(o.error().message, HasSubstr("field 'limits.cpu' is no number"));
  }
  base::json j = parse(full_order);
  j.set("limits", "none");
  EXPECT_EQ(decode_order(j, {}).error().message, "field 'limits' is no object");
}

TEST(decode_order, reads_every_spelling_of_a_time_and_unset_ones_as_unknown) {
  const std::vector<std::string> same = {
      "2026-10-04T01:03:05.2533112Z",
      "2026-10-04T01:03:05.2533112+00:00",
      "2026-10-03T17:03:05.2533112-08:00",
      "2026-10-04t01:03:05.2533112z",
  };
  for (const std::string& text : same) {
    base::json j = parse(full_order);
    j.set("created", text);
    std::vector<std::string> warnings;
    const auto o = decode_order(j, [&](std::string w) { warnings.push_back(std::move(w)); });
    ASSERT_TRUE(o->created.has_value()) << text;
    EXPECT_EQ(base::to_rfc3339(*o->created, true), "2026-10-04T01:03:05.253Z") << text;
    EXPECT_THAT(warnings, IsEmpty());
  }

  struct unknown {
    base::json value;
    std::size_t warnings;
  };

  const std::vector<unknown> cases = {
      {"", 0},
      {nullptr, 0},
      {"0001-01-01T00:00:00Z", 0},
      {"0001-01-01T00:00:00+00:00", 0},
      {"yesterday", 1},
      {"9999-12-31T23:59:59Z", 1},
      {5, 1},
  };
  for (const unknown& c : cases) {
    base::json j = parse(full_order);
    j.set("created", c.value);
    std::size_t warnings = 0;
    const auto o = decode_order(j, [&](const std::string&) { ++warnings; });
    ASSERT_TRUE(o.has_value());
    EXPECT_FALSE(o->created.has_value()) << c.value.dump();
    EXPECT_EQ(warnings, c.warnings) << c.value.dump();
  }
}

TEST(decode_resource, reads_every_field) {
  const auto r = decode_resource(parse(full_resource));
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->name, "web 1");
  EXPECT_EQ(r->slug, "web-1");
  EXPECT_EQ(r->state, "OK");
  EXPECT_EQ(r->backend_id, "/subscriptions/x");
  EXPECT_EQ(r->attributes["a"].integer(), 1);
  EXPECT_EQ(r->backend_metadata["b"].integer(), 2);
  EXPECT_EQ(r->limits.at("cpu"), "2");
  EXPECT_TRUE(r->plan.has_value());
  EXPECT_EQ(r->project_uuid, "p");
  EXPECT_EQ(r->project_slug, "proj-1");
  EXPECT_EQ(r->customer_slug, "cust");
  EXPECT_TRUE(r->paused);
  EXPECT_FALSE(r->downscaled);
  EXPECT_TRUE(r->power_flags_known);
}

TEST(decode_resource, misses_only_uuid_and_backend_id) {
  const base::json full = parse(full_resource);
  for (const auto& [name, ignored] : full.members()) {
    base::json stripped = full;
    stripped.erase(name);
    const auto r = decode_resource(stripped);
    EXPECT_EQ(r.has_value(), name != "uuid" && name != "backend_id") << name;
  }
}

TEST(decode_resource, tells_no_backend_id_from_an_unknown_one) {
  base::json j = parse(full_resource);
  j.set("backend_id", nullptr);
  EXPECT_EQ(decode_resource(j)->backend_id, "");
  j.set("backend_id", "");
  EXPECT_EQ(decode_resource(j)->backend_id, "");
  j.set("backend_id", 5);
  EXPECT_EQ(decode_resource(j).error().message, "field 'backend_id' is missing");
}

TEST(decode_resource, knows_when_the_power_flags_are_unknown) {
  for (const std::string name : {"paused", "downscaled"}) {
    base::json j = parse(full_resource);
    j.erase(name);
    EXPECT_FALSE(decode_resource(j)->power_flags_known);
    j.set(name, nullptr);
    EXPECT_FALSE(decode_resource(j)->power_flags_known);
    j.set(name, "false");
    EXPECT_FALSE(decode_resource(j)->power_flags_known);
  }
}

TEST(decode_offering, reads_components_of_every_billing_type) {
  std::vector<std::string> warnings;
  const auto o = decode_offering(
      parse(
          R"({"customer_uuid":"e2ef0000000000000000000000000101","plugin_options":{"supports_pausing":true},
        "components":[
          {"uuid":"e2ef0000000000000000000000000601","type":"cpu","name":"CPU","billing_type":"limit","measured_unit":"Cores","unit_factor":1,"limit_amount":null},
          {"type":"setup","name":"Setup","billing_type":"few","unit_factor":"0.5","limit_amount":10},
          {"name":"no type"}, 5]})"
      ),
      [&](std::string w) { warnings.push_back(std::move(w)); }
  );
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->customer->hex(), "e2ef0000000000000000000000000101");
  EXPECT_EQ(o->plugin_options["supports_pausing"].boolean(), true);
  ASSERT_EQ(o->components.size(), 2U);
  EXPECT_EQ(o->components[0].billing_type, "limit");
  EXPECT_EQ(o->components[0].measured_unit, "Cores");
  EXPECT_EQ(o->components[0].unit_factor, "1");
  EXPECT_FALSE(o->components[0].limit_amount.has_value());
  EXPECT_EQ(o->components[1].billing_type, "few");
  EXPECT_EQ(o->components[1].unit_factor, "0.5");
  EXPECT_EQ(o->components[1].limit_amount, "10");
  EXPECT_EQ(warnings.size(), 2U);
}

TEST(decode_offering, reads_what_orders_depend_on) {
  const auto o = decode_offering(
      parse(R"({"name":"VM","type":"Marketplace.Slurm","state":"Active","components":[],
                "options":{"order":["size"],"options":{"size":{"type":"string"}}}})"),
      nullptr
  );
  ASSERT_TRUE(o.has_value());
  EXPECT_EQ(o->name, "VM");
  EXPECT_EQ(o->type, "Marketplace.Slurm");
  EXPECT_EQ(o->state, "Active");
  EXPECT_EQ(o->options.at({"options", "size", "type"}).string(), "string");
  const auto bare = decode_offering(parse(R"({"components":[],"options":null})"), nullptr);
  ASSERT_TRUE(bare.has_value());
  EXPECT_EQ(bare->state, "");
  EXPECT_TRUE(bare->options.is_object());
}

TEST(decode_offering, does_not_take_absent_components_for_none) {
  EXPECT_EQ(decode_offering(parse("{}"), {}).error().message, "field 'components' is missing");
  EXPECT_TRUE(decode_offering(parse(R"({"components":[]})"), {}).has_value());
}

TEST(decode_plan, drops_zero_quotas) {
  const auto p =
      decode_plan(parse(R"({"name":"Basic","quotas":{"cpu":2,"ram":0,"disk":"0.00","gpu":null}})"));
  ASSERT_TRUE(p.has_value());
  EXPECT_EQ(p->name, "Basic");
  EXPECT_THAT(p->quotas, UnorderedElementsAre(Pair("cpu", "2")));
  EXPECT_TRUE(decode_plan(parse("{}")).has_value());
  EXPECT_FALSE(decode_plan(parse("[]")).has_value());
  EXPECT_FALSE(decode_plan(parse(R"({"quotas":{"cpu":"x"}})")).has_value());
}

TEST(decode_usage, reads_numbers_and_their_texts_alike) {
  for (const std::string_view usage : {R"("12.50")", "12.50", R"("1.25E+1")"}) {
    base::json j = parse(R"({"uuid":"e2ef0000000000000000000000000701","type":"cpu"})");
    j.set("usage", parse(usage));
    const auto u = decode_usage(j);
    ASSERT_TRUE(u.has_value()) << usage;
    EXPECT_EQ(base::decimal::parse(u->usage), base::decimal::parse("12.5"));
  }
}

} // namespace
} // namespace siteagent::waldur
