// SPDX-License-Identifier: MIT
// A cloud host provider over the emulated Azure, called through the C ABI as the tool does it, with
// the site it needs: group, network, subnet with a security group of its own, somebody else's
// interface and rules.
#pragma once

#include "plugins/azure/cloud_host/provider.hpp"
#include "tests/unit/azure/emulated_azure.hpp"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::azure::test {

// The emulated Azure behind a script of faults.
class faulty_transport final : public net::transport {
public:
  struct fault {
    std::string method;
    std::string path_part; // compared without case, against path?query
    int times = 1;         // -1: for ever
    int skip = 0;
    bool after_effect = false; // the request is carried out, its answer is lost or replaced
    std::optional<int> status; // nullopt: the connection is cut
    std::string body;
    net::header_list headers;
  };

  explicit faulty_transport(emulated_azure& to) : to_(to) {}

  base::result<net::response> perform(const net::request& r) override;

  void add(fault f) { faults_.push_back(std::move(f)); }

  void clear() { faults_.clear(); }

private:
  emulated_azure& to_;
  std::vector<fault> faults_;
};

class azure_hosts : public testing::Test {
protected:
  azure_hosts();

  using method = void (cloud_host::provider::*)(sagent::call&, const sagent::request&);
  // Runs a method the way the SDK's slot does; the outcome is in the returned call.
  fake_call run(method m, const base::json& body, bool dry_run = false);

  void open();

  base::json admit_body(std::vector<std::string> addresses = {"198.51.100.4"}) const;
  base::json create_body(const std::string& name = "b1") const;
  // Admits and creates; the answer of create_host.
  base::json rent(const std::string& name = "b1");
  base::json delete_body(const std::string& name, const base::json& created) const;

  static std::string network_id(const std::string& rest, const std::string& group = "hosts");
  static std::string compute_id(const std::string& rest);
  // The object as its GET shows it; null: not there.
  base::json get(const std::string& id);

  bool has(const std::string& id) { return get(id).is_object(); }

  // Machine, disk, interface, group and address of a host that are there.
  std::vector<std::string> parts_of(const std::string& name);
  using world = std::map<std::string, std::string>;
  // Every object by id, without what only time and reading change.
  world snapshot();
  // The ids, from the provider's name on, that came, went or changed.
  static std::vector<std::string> differences(const world& before, const world& after);
  // Adds a rule to the subnet's security group.
  void add_rule(const std::string& name, const std::string& properties);

  base::json settings;
  emulated_azure azure;
  faulty_transport wire{azure};
  registry shared;
  host_state host_data;
  sagent_host raw_host{};
  sagent::host host;
  std::unique_ptr<cloud_host::provider> provider;
  std::function<void(fake_call&)> prepare;
};

} // namespace siteagent::azure::test
