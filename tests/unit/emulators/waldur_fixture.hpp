// SPDX-License-Identifier: MIT
// An emulated Waldur inside the test, with its default objects and two callers.
#pragma once

#include "tests/emulators/waldur/waldur.hpp"
#include "tests/unit/emulators/api_client.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace siteagent::waldur_emulator::test {

using emulators::test::api_client;
using emulators::test::quoted;
using emulators::test::reply;

inline const std::string offering_uuid = "e2ef0000000000000000000000000201";
inline const std::string project_uuid = "e2ef0000000000000000000000000301";
inline const std::string plan_uuid = "e2ef0000000000000000000000000401";
inline const std::string orders = "/api/marketplace-orders/";
inline const std::string provider_resources = "/api/marketplace-provider-resources/";
inline const std::string resources = "/api/marketplace-resources/";
inline const std::string usages = "/api/marketplace-component-usages/";

class emulated_waldur : public testing::Test {
protected:
  void SetUp() override {
    auto started = emulators::frame::start(emulator, {});
    ASSERT_TRUE(started) << started.error().message;
    frame = *std::move(started);
    agent = std::make_unique<api_client>(frame->port());
    agent->authorize("Token e2e0000000000000000000000000token001");
    staff = std::make_unique<api_client>(frame->port());
    staff->authorize("Token e2e0000000000000000000000000token002");
  }

  void seed(const std::string& document) {
    const auto r = staff->post("/_emu/seed", quoted(document));
    ASSERT_EQ(r.status, 204) << r.text;
  }

  json order_body(const std::string& attributes = "{'name':'web 1'}") const {
    return json::object(
        {{"offering", "http://h/api/marketplace-public-offerings/" + offering_uuid + "/"},
         {"project", "http://h/api/projects/" + project_uuid + "/"},
         {"plan", "http://h/api/marketplace-public-plans/" + plan_uuid + "/"},
         {"attributes", quoted(attributes)},
         {"limits", quoted("{'cpu':2,'ram':4}")},
         {"accepting_terms_of_service", true}}
    );
  }

  struct placed {
    std::string order;
    std::string resource;
  };

  placed place() {
    const auto r = staff->post(orders, order_body());
    EXPECT_EQ(r.status, 201) << r.text;
    return {r.body["uuid"].string_or(""), r.body["marketplace_resource_uuid"].string_or("")};
  }

  // A resource as it is after a whole creation.
  placed create(const std::string& backend_id = "vm-1") {
    auto p = place();
    EXPECT_EQ(act(p.order, "approve_by_provider"), 200);
    json id = json::object({{"backend_id", backend_id}});
    EXPECT_EQ(agent->post(provider_resources + p.resource + "/set_backend_id/", id).status, 200);
    EXPECT_EQ(act(p.order, "set_state_done"), 200);
    return p;
  }

  // Status of an action of the agent on an order.
  int act(const std::string& order, const std::string& action, const std::string& body = "{}") {
    return agent->post(orders + order + "/" + action + "/", quoted(body)).status;
  }

  std::string order_state(const std::string& uuid) {
    return staff->get(orders + uuid + "/").body["state"].string_or("");
  }

  json resource(const std::string& uuid) { return staff->get(resources + uuid + "/").body; }

  std::string resource_state(const std::string& uuid) {
    return resource(uuid)["state"].string_or("");
  }

  // An order made by an action on a resource.
  std::string order_by(
      const std::string& resource_uuid, const std::string& action, const std::string& body = "{}"
  ) {
    const auto r = staff->post(resources + resource_uuid + "/" + action + "/", quoted(body));
    EXPECT_EQ(r.status, 200) << r.text;
    return r.body["order_uuid"].string_or("");
  }

  waldur emulator;
  std::unique_ptr<emulators::frame> frame;
  std::unique_ptr<api_client> agent;
  std::unique_ptr<api_client> staff;
};

inline const std::string failure = "{'error_message':'no room','error_traceback':''}";

} // namespace siteagent::waldur_emulator::test
