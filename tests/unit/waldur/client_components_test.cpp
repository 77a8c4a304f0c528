// SPDX-License-Identifier: MIT
// Components of an offering and the probe's question, call by call.
#include "tests/unit/waldur/fake_transport.hpp"

#include <gmock/gmock.h>

namespace siteagent::waldur {
namespace {

using base::json;
using testing::HasSubstr;

const std::string path =
    "https://waldur.example.com/api/marketplace-provider-offerings/" + offering_id.hex() + "/";
const json component = *json::parse(R"({"type":"cpu","name":"CPU"})");

TEST_F(waldur_client, lists_components_as_the_server_shows_them) {
  http->expect(answer(200, R"({"components":[{"type":"cpu","limit_period":"month","new":1}]})"));
  const auto rows = waldur().list_components(offering_id);
  ASSERT_TRUE(rows);
  ASSERT_EQ(rows->size(), 1U);
  EXPECT_EQ(rows->front()["new"], json(1));
  EXPECT_EQ(request(0).url, path + "?field=components");
}

TEST_F(waldur_client, takes_an_answer_without_components_for_no_answer) {
  http->expect(answer(200, "{}"));
  const auto rows = waldur().list_components(offering_id);
  ASSERT_FALSE(rows);
  EXPECT_EQ(rows.error().code, base::error_code::transient);
}

TEST_F(waldur_client, creates_a_component_and_wants_a_201) {
  http->expect(answer(201, "{}"));
  EXPECT_TRUE(waldur().create_component(offering_id, component));
  EXPECT_EQ(request(0).method, "POST");
  EXPECT_EQ(request(0).url, path + "create_offering_component/");
  EXPECT_EQ(request(0).body, component.dump());
  http->expect(answer(400, R"({"type":["Bad."]})"));
  const auto refused = waldur().create_component(offering_id, component);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("create component cpu of offering e2ef"));
}

TEST_F(waldur_client, updates_a_component_and_wants_a_200) {
  http->expect(answer(200, "{}"));
  EXPECT_TRUE(waldur().update_component(offering_id, component));
  EXPECT_EQ(request(0).url, path + "update_offering_component/");
  EXPECT_EQ(request(0).body, component.dump());
}

TEST_F(waldur_client, asks_for_nothing_but_the_users_uuid_as_a_probe) {
  http->expect(answer(200, R"({"uuid":"x"})"));
  EXPECT_TRUE(waldur().check_access());
  EXPECT_EQ(request(0).url, "https://waldur.example.com/api/users/me/?field=uuid");
  http->expect(answer(401, R"({"detail":"Invalid token."})"));
  const auto refused = waldur().check_access();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, base::error_code::auth);
}

} // namespace
} // namespace siteagent::waldur
