// SPDX-License-Identifier: MIT
// Interfaces and addresses that a machine's create describes instead of naming.
#include "handlers.hpp"
#include "machine.hpp"
#include "operations.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

namespace siteagent::azure_emulator {

using base::json;

namespace {

// The network provider's part of one machine create: its requests, and what they made.
class maker {
public:
  maker(context& c, const resource_path& machine, const std::string& location)
      : c_(c), machine_(machine), location_(location), http_(c.http), call_(c.call) {
    // Conditions and scripted faults are for the machine.
    http_.headers.clear();
    call_.operation = nullptr;
    version_ = c.body.at({"properties", "networkProfile", "networkApiVersion"}).string_or("");
  }

  std::optional<reply> make_interface(const json& wanted, json& reference) {
    const auto& properties = wanted["properties"];
    json body = json::object({{"location", location_}});
    if (wanted["tags"].is_object()) {
      body.set("tags", wanted["tags"]);
    }
    json out;
    for (const auto* key :
         {"networkSecurityGroup",
          "enableAcceleratedNetworking",
          "enableIPForwarding",
          "dnsSettings",
          "disableTcpStateTracking"}) {
      if (const auto& value = properties[key]; !value.is_null()) {
        out.set(key, value);
      }
    }
    json configurations = json::array();
    for (const auto& configuration : properties["ipConfigurations"].items()) {
      json made;
      if (auto bad = make_configuration(configuration, made)) {
        return bad;
      }
      configurations.push_back(made);
    }
    out.set("ipConfigurations", configurations);
    body.set("properties", out);
    const auto path = new_path(kind::network_interface, wanted["name"].string_or(""));
    if (auto bad = put(path, body)) {
      return bad;
    }
    json options = json::object({{"primary", properties["primary"].boolean().value_or(true)}});
    options.set("deleteOption", properties["deleteOption"].string_or("Detach"));
    reference = json::object({{"id", path.id()}, {"properties", options}});
    return std::nullopt;
  }

  void take_back() {
    for (auto it = made_.rbegin(); it != made_.rend(); ++it) {
      c_.world.erase(*it);
    }
  }

private:
  resource_path new_path(kind k, const std::string& name) const {
    resource_path path = machine_;
    path.kind = k;
    path.name = name + "-" + base::uuid::random().hex().substr(0, 8);
    return path;
  }

  std::optional<reply> make_configuration(const json& wanted, json& made) {
    json properties;
    for (const auto* key :
         {"primary", "subnet", "privateIPAddressVersion", "applicationSecurityGroups"}) {
      if (const auto& value = wanted["properties"][key]; !value.is_null()) {
        properties.set(key, value);
      }
    }
    const auto& address = wanted.at({"properties", "publicIPAddressConfiguration"});
    if (address.is_object()) {
      json reference;
      if (auto bad = make_address(address, reference)) {
        return bad;
      }
      properties.set("publicIPAddress", reference);
    }
    made = json::object({{"name", wanted["name"]}, {"properties", properties}});
    return std::nullopt;
  }

  std::optional<reply> make_address(const json& wanted, json& reference) {
    const auto& options = wanted["properties"];
    json body = json::object({{"location", location_}});
    for (const auto* key : {"sku", "tags"}) {
      if (const auto& value = wanted[key]; !value.is_null()) {
        body.set(key, value);
      }
    }
    if (c_.body["zones"].is_array()) {
      body.set("zones", c_.body["zones"]);
    }
    json properties;
    for (const auto* key :
         {"publicIPAllocationMethod",
          "publicIPAddressVersion",
          "idleTimeoutInMinutes",
          "dnsSettings",
          "deleteOption"}) {
      if (const auto& value = options[key]; !value.is_null()) {
        properties.set(key, value);
      }
    }
    body.set("properties", properties);
    const auto path = new_path(kind::public_ip, wanted["name"].string_or("publicip"));
    reference = json::object({{"id", path.id()}});
    return put(path, body);
  }

  std::optional<reply> put(const resource_path& path, const json& body) {
    context sub{c_.world, http_, call_, c_.subscription, c_.principal, version_, body};
    reply answer = put_network(sub, path);
    if (answer.status >= 300) {
      return answer;
    }
    made_.push_back(path.key());
    const auto* r = c_.world.find(path.key());
    const auto op = c_.world.operations.find(key_of(r->operation));
    if (op != c_.world.operations.end()) {
      finish(c_.world, op->second, c_.now());
    }
    return std::nullopt;
  }

  context& c_;
  const resource_path& machine_;
  const std::string& location_;
  net::server_request http_;
  emulators::call call_;
  std::string version_;
  std::vector<std::string> made_;
};

} // namespace

std::optional<reply> make_configured_interfaces(
    context& c, const resource_path& machine, const std::string& location, json& out
) {
  out = json::array();
  maker m(c, machine, location);
  for (const auto& wanted :
       c.body.at({"properties", "networkProfile", "networkInterfaceConfigurations"}).items()) {
    json reference;
    if (auto bad = m.make_interface(wanted, reference)) {
      m.take_back();
      return bad;
    }
    out.push_back(reference);
  }
  return std::nullopt;
}

} // namespace siteagent::azure_emulator
