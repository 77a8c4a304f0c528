// SPDX-License-Identifier: MIT
// A cloud in the test process: the emulator without sockets, on a clock that moves when told to.
#pragma once

#include "azure_contract.hpp"
#include "tests/emulators/azure/service.hpp"

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/net/url.hpp"

#include <chrono>
#include <gtest/gtest.h>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

inline const std::string subscription_1 = "/subscriptions/11111111-1111-1111-1111-111111111111";
inline const std::string tenant_1 = "22222222-2222-2222-2222-222222222222";
inline const std::string network_api = "2024-05-01";
inline const std::string compute_api = "2024-07-01";
inline const std::string resource_api = "2021-04-01";

struct answer {
  int status = 0;
  net::header_list headers;
  base::json body;

  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (base::equals_ignoring_case(key, name)) {
        return value;
      }
    }
    return "";
  }

  std::string code() const { return body.at({"error", "code"}).string_or(""); }

  std::string message() const { return body.at({"error", "message"}).string_or(""); }

  std::string state() const { return body.at({"properties", "provisioningState"}).string_or(""); }
};

class cloud : public ::testing::Test {
public:
  cloud() {
    azure_.attach_clock(clock_);
    azure_.set_timing(timing::instant());
    EXPECT_TRUE(azure_.reset(true).has_value());
    token_ = fetch_token();
  }

  // A raw request, byte for byte as given; `target` with its query.
  answer
  raw(const std::string& method,
      const std::string& target,
      const std::string& body = "",
      const net::header_list& headers = {}) {
    net::server_request r;
    r.method = method;
    r.target = target;
    const auto mark = target.find('?');
    r.path = target.substr(0, mark);
    r.query = mark == std::string::npos ? std::string() : target.substr(mark + 1);
    for (const auto part : base::split(r.path, '/')) {
      if (!part.empty()) {
        r.segments.push_back(net::decode(part));
      }
    }
    r.parameters = net::parse_query(r.query);
    r.headers = headers;
    r.headers.emplace_back("content-length", std::to_string(body.size()));
    r.body = body;
    r.scheme = "http";
    emulators::call call;
    call.base_url = base_url;
    call.request_id = "99999999-9999-9999-9999-999999999999";
    call.now = clock_.wall();
    call.operation = fault_ ? &*fault_ : nullptr;
    auto response = azure_.handle(r, call);
    azure_.finish(r, call, response);
    answer a;
    a.status = response.status;
    a.headers = response.headers;
    if (!response.body.empty()) {
      auto parsed = base::json::parse(response.body);
      EXPECT_TRUE(parsed.has_value()) << response.body;
      a.body = parsed ? *parsed : base::json();
    }
    // Whatever a test is about, no answer may be one that the official clients do not understand.
    if (const auto* contract = service_contract::shared()) {
      const auto verdict = contract->check({method, r.path, a.status, a.body});
      EXPECT_EQ(verdict.problem, "") << verdict.operation << ": " << method << " " << target;
    }
    return a;
  }

  // An authenticated ARM request. `path` starts with "/" and is taken below the subscription,
  // unless it starts with "/subscriptions" or is an absolute URL of this cloud.
  answer
  arm(const std::string& method,
      const std::string& path,
      const base::json& body = {},
      const std::string& version = compute_api,
      net::header_list headers = {}) {
    std::string target = path;
    if (path.rfind(base_url, 0) == 0) {
      target = path.substr(base_url.size());
    } else {
      const bool whole = path.rfind("/subscriptions", 0) == 0 || path.rfind("/tenants", 0) == 0;
      target = (whole ? std::string() : subscription_1) + path +
               (path.find('?') == std::string::npos ? "?" : "&") + "api-version=" + version;
    }
    headers.emplace_back("authorization", "Bearer " + token_);
    return raw(method, target, body.is_null() ? std::string() : body.dump(), headers);
  }

  answer get(const std::string& path) { return arm("GET", path); }

  answer put(const std::string& path, const std::string& body, net::header_list headers = {}) {
    return arm("PUT", path, parsed(body), compute_api, std::move(headers));
  }

  // PUT, and the operation to its end.
  answer make(const std::string& path, const std::string& body) {
    const auto a = put(path, body);
    EXPECT_TRUE(a.status == 200 || a.status == 201) << path << ": " << a.body.dump();
    settle(a);
    return a;
  }

  answer remove(const std::string& path) { return arm("DELETE", path); }

  // One look at the monitor; instant timing ends there.
  answer settle(const answer& started) {
    std::string url = started.header("Azure-AsyncOperation");
    if (url.empty()) {
      url = started.header("Location");
    }
    return url.empty() ? answer{} : arm("GET", url);
  }

  void seed(const std::string& document) {
    const auto done = azure_.seed(parsed(document));
    EXPECT_TRUE(done.has_value()) << done.error().message;
  }

  static base::json parsed(const std::string& text) {
    auto value = base::json::parse(text);
    EXPECT_TRUE(value.has_value()) << text;
    return value ? *value : base::json();
  }

  std::string fetch_token(
      const std::string& client = "33333333-3333-3333-3333-333333333333",
      const std::string& secret = "emulator-secret",
      const std::string& tenant = tenant_1
  ) {
    const auto a =
        raw("POST",
            "/" + tenant + "/oauth2/v2.0/token",
            "grant_type=client_credentials&client_id=" + client + "&client_secret=" + secret +
                "&scope=https%3A%2F%2Fmanagement.azure.com%2F.default");
    return a.body["access_token"].string_or("");
  }

  // What the next requests' operations shall come to; nullopt = success.
  void fail_operations(std::optional<emulators::operation_fault> fault) { fault_ = fault; }

  base::json inventory() {
    emulators::call call;
    call.base_url = base_url;
    call.now = clock_.wall();
    return azure_.inventory(call);
  }

  // A group "rg" with network "net", subnet "sub" (10.0.0.0/24), address "ip" and interface "nic".
  void make_network() {
    make(rg, R"({"location":"westeurope"})");
    make(
        net,
        R"({"location":"westeurope","properties":{"addressSpace":{"addressPrefixes":["10.0.0.0/16"]}}})"
    );
    make(net + "/subnets/sub", R"({"properties":{"addressPrefix":"10.0.0.0/24"}})");
    make(
        ip,
        R"({"location":"westeurope","sku":{"name":"Standard"},"properties":{"publicIPAllocationMethod":"Static"}})"
    );
    make(nic, interface_body("sub", "ip"));
  }

  static std::string interface_body(
      const std::string& subnet, const std::string& address, const std::string& more = ""
  ) {
    std::string configuration = R"({"name":"ipconfig1","properties":{"subnet":{"id":")" +
                                subscription_1 + net + "/subnets/" + subnet + "\"}";
    if (!address.empty()) {
      configuration += R"(,"publicIPAddress":{"id":")" + subscription_1 + addresses + "/" +
                       address + R"(","properties":{"deleteOption":"Delete"}})";
    }
    return R"({"location":"westeurope","properties":{)" + more + R"("ipConfigurations":[)" +
           configuration + "}}]}}";
  }

  // A create body that Azure accepts, with interface "nic".
  static base::json machine_body() {
    base::json body = parsed(R"({"location":"westeurope","tags":{"order":"7"},"properties":{
      "hardwareProfile":{"vmSize":"Standard_B2s"},
      "storageProfile":{"imageReference":{"publisher":"Canonical","offer":"ubuntu-24_04-lts","sku":"server","version":"latest"},
        "osDisk":{"name":"vm-os","createOption":"FromImage","deleteOption":"Delete","managedDisk":{"storageAccountType":"Premium_LRS"}}},
      "osProfile":{"computerName":"vm","adminUsername":"azureuser","customData":"I2Nsb3VkLWNvbmZpZwo=",
        "linuxConfiguration":{"disablePasswordAuthentication":true,"ssh":{"publicKeys":[{"path":"/home/azureuser/.ssh/authorized_keys","keyData":"KEY"}]}}},
      "networkProfile":{"networkInterfaces":[{"id":"NIC","properties":{"primary":true,"deleteOption":"Delete"}}]}}})"
    );
    auto& properties = body.member_ref("properties");
    properties.member_ref("osProfile")
        .member_ref("linuxConfiguration")
        .member_ref("ssh")
        .member_ref("publicKeys")
        .items()[0]
        .set("keyData", ed25519_key());
    properties.member_ref("networkProfile")
        .member_ref("networkInterfaces")
        .items()[0]
        .set("id", subscription_1 + nic);
    return body;
  }

  static std::string ed25519_key() {
    std::string blob("\0\0\0\x0bssh-ed25519\0\0\0\x20", 19);
    blob.append(32, 'k');
    return "ssh-ed25519 " + base::base64(blob) + " somebody@somewhere";
  }

  // Group, network and a running machine "vm".
  void make_machine() {
    make_network();
    make(vm, machine_body().dump());
  }

  std::string power_of(const std::string& machine = vm) {
    const auto a = get(machine + "/instanceView");
    for (const auto& status : a.body["statuses"].items()) {
      const std::string code = status["code"].string_or("");
      if (code.rfind("PowerState/", 0) == 0) {
        return code.substr(11);
      }
    }
    return "";
  }

  void advance(std::chrono::seconds by) {
    clock_.advance(by);
    azure_.clock_advanced();
  }

  static inline const std::string base_url = "http://127.0.0.1:8001";
  static inline const std::string rg = "/resourceGroups/rg";
  static inline const std::string networks = rg + "/providers/Microsoft.Network";
  static inline const std::string net = networks + "/virtualNetworks/net";
  static inline const std::string addresses = networks + "/publicIPAddresses";
  static inline const std::string ip = addresses + "/ip";
  static inline const std::string nsg = networks + "/networkSecurityGroups/nsg";
  static inline const std::string nic = networks + "/networkInterfaces/nic";
  static inline const std::string compute = rg + "/providers/Microsoft.Compute";
  static inline const std::string vm = compute + "/virtualMachines/vm";

protected:
  base::manual_clock clock_;
  service azure_;
  std::string token_;
  std::optional<emulators::operation_fault> fault_;
};

} // namespace siteagent::azure_emulator
