// SPDX-License-Identifier: MIT
// A backend over the fake Azure, called through the C ABI as the agent does it.
#pragma once

#include "plugins/azure/answers.hpp"
#include "plugins/azure/backend.hpp"
#include "tests/unit/azure/fake_arm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace siteagent::azure::test {

inline constexpr const char* uuid = "0123456789abcdef0123456789abcdef";
inline constexpr const char* uuid_tag = "resource-uuid";
inline constexpr const char* ed25519_key =
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIK50yWPtgxagEyrxKY1akPHAkg5dVT4t4pomlvWxhKPK somebody";

// What the host of one call sees and says.
struct fake_call {
  explicit fake_call(base::manual_clock& clock);

  const sagent_call* raw() const { return &table; }

  base::manual_clock& clock;
  base::steady_time deadline;
  std::vector<base::json> emitted;
  std::vector<base::json> checkpoints;
  // Answers each checkpoint; default: go on.
  std::function<sagent_code(const base::json&)> on_checkpoint;
  sagent_code code = SAGENT_OK;
  std::string message;
  std::string public_message;
  std::string provider_code;
  base::json detail;
  std::int64_t retry_after_ms = -1;
  sagent_call table{};
};

// The transport an instance owns; the fake outlives it.
class borrowed_transport final : public net::transport {
public:
  explicit borrowed_transport(net::transport& to) : to_(to) {}

  base::result<net::response> perform(const net::request& r) override { return to_.perform(r); }

private:
  net::transport& to_;
};

// What the host's services work on.
struct host_state {
  std::string secret = "right";
  std::vector<std::string> protected_values;
};

// A host whose services work on `data`; both outlive it.
const sagent_host* make_host(sagent_host& raw, host_state& data);

class azure_test : public testing::Test {
protected:
  azure_test();

  // The backend with the default settings, changed by `change`.
  void open(const std::function<void(base::json&)>& change = {});

  base::json settings = base::json::object();
  base::json body = base::json::object(); // of every call; a Create order at first

  using method = void (backend::*)(sagent::call&, const sagent::request&);
  // Runs a method the way the SDK's slot does; the outcome is in the returned call.
  fake_call run(method m, std::string_view target = "", std::string_view key = uuid);

  // Ids in the default place of the default order.
  static std::string group_id(std::string_view name = "group-0123-web");
  static std::string object_id(
      std::string_view type, std::string_view name, std::string_view group = "group-0123-web"
  );

  static std::string machine_id() { return object_id("Microsoft.Compute/virtualMachines", "web"); }

  static base::json tagged(std::string_view value = uuid);

  base::manual_clock clock;
  fake_arm arm{clock};
  registry shared;
  host_state host_data;
  sagent_host raw_host{};
  sagent::host host;
  std::unique_ptr<backend> azure;
  // Changes the next calls before they run.
  std::function<void(fake_call&)> prepare;
};

std::vector<std::string>
kinds_of(const std::vector<base::json>& checkpoints, std::string_view phase, std::string_view verb);

} // namespace siteagent::azure::test
