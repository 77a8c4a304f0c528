// SPDX-License-Identifier: MIT
// An emulated Waldur with a stand-in for its broker, and an agent's identity in it.
#pragma once

#include "tests/unit/emulators/fake_broker.hpp"
#include "tests/unit/emulators/waldur_fixture.hpp"

#include <string>
#include <vector>

namespace siteagent::waldur_emulator::test {

inline const std::string identities = "/api/marketplace-site-agent-identities/";

class emulated_waldur_with_broker : public emulated_waldur {
protected:
  void SetUp() override {
    auto options = emulator.options();
    ASSERT_EQ(options.size(), 1U);
    ASSERT_TRUE(options[0].apply(rabbit.url()));
    broker_options quick;
    quick.patience = std::chrono::milliseconds(15'000);
    quick.pause = std::chrono::milliseconds(5);
    emulator.set_broker_options(quick);
    emulated_waldur::SetUp();
    const json body =
        json::object({{"offering", offering_uuid}, {"name", "agent-" + offering_uuid}});
    identity = agent->post(identities, body).body["uuid"].string_or("");
    ASSERT_FALSE(identity.empty());
  }

  reply register_queue(const std::string& body = "{'object_types':[]}") {
    return agent->post(identities + identity + "/register_queue/", quoted(body));
  }

  // What is told from here on, of one type.
  void listen(const std::string& type) {
    EXPECT_EQ(register_queue("{'object_types':['" + type + "']}").status, 201);
  }

  // The contents of the first messages.
  std::vector<json> told(std::size_t count) {
    std::vector<json> contents;
    for (const auto& m : rabbit.messages(count)) {
      contents.push_back(m.content);
    }
    EXPECT_EQ(contents.size(), count);
    contents.resize(count);
    return contents;
  }

  fake_broker rabbit;
  std::string identity;
};

} // namespace siteagent::waldur_emulator::test
