// SPDX-License-Identifier: MIT
// Network interfaces.
#include "handlers.hpp"
#include "network.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>
#include <set>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

std::string subnet_id(const json& configuration) {
  return configuration.at({"properties", "subnet", "id"}).string_or("");
}

std::string address_id(const json& configuration) {
  return configuration.at({"properties", "publicIPAddress", "id"}).string_or("");
}

std::string group_of(const json& interface) {
  return interface.at({"properties", "networkSecurityGroup", "id"}).string_or("");
}

std::string configuration_id(const resource_path& path, const json& configuration) {
  return path.id() + "/ipConfigurations/" + configuration["name"].string_or("");
}

// Addresses taken in a subnet by other interfaces.
std::set<std::uint32_t>
taken_addresses(world& w, const std::string& subnet_key, const std::string& own_key) {
  std::set<std::uint32_t> taken;
  for (const auto& user : w.users_of(subnet_key)) {
    const auto* r = w.find(user);
    if (r == nullptr || user == own_key) {
      continue;
    }
    for (const auto& configuration : r->body.at({"properties", "ipConfigurations"}).items()) {
      if (key_of(subnet_id(configuration)) == subnet_key) {
        const auto address =
            parse_ipv4(configuration.at({"properties", "privateIPAddress"}).string_or(""));
        if (address) {
          taken.insert(*address);
        }
      }
    }
  }
  return taken;
}

cidr range_of(const resource& subnet) {
  const auto& properties = subnet.body["properties"];
  std::string text = properties["addressPrefix"].string_or("");
  if (text.empty()) {
    text = properties["addressPrefixes"][0].string_or("");
  }
  return parse_cidr(text).value_or(cidr{});
}

// Chooses or checks the private address of one configuration; `taken` grows.
std::optional<reply> place_address(
    const resource& subnet,
    const resource_path& path,
    const json& existing_configuration,
    json& configuration,
    std::set<std::uint32_t>& taken
) {
  auto& properties = configuration.member_ref("properties");
  const cidr range = range_of(subnet);
  const bool fixed =
      equals_ignoring_case(properties["privateIPAllocationMethod"].string_or(""), "Static");
  std::string text = properties["privateIPAddress"].string_or("");
  if (!fixed) {
    // A dynamic address stays while the interface stays in its subnet.
    text = equals_ignoring_case(subnet_id(existing_configuration), subnet_id(configuration))
               ? existing_configuration.at({"properties", "privateIPAddress"}).string_or("")
               : std::string();
  }
  if (!text.empty() || fixed) {
    const auto address = parse_ipv4(text);
    if (!address || !range.contains(cidr{*address, 32})) {
      return network_refusal(
          "PrivateIPAddressNotInSubnet",
          "Private static IP address " + text + " does not belong to the range of subnet prefix " +
              range.text() + "."
      );
    }
    if (*address < range.first + 4 || *address == range.last()) {
      return network_refusal(
          "PrivateIPAddressInReservedRange",
          "Private static IP address " + text +
              " falls within reserved IP range of subnet prefix " + range.text() + "."
      );
    }
    if (!taken.insert(*address).second) {
      return network_refusal(
          "PrivateIPAddressIsAllocated",
          "IP configuration " + configuration_id(path, configuration) +
              " is using the private IP address " + text +
              " which is already allocated to another resource."
      );
    }
    properties.set("privateIPAddress", text);
    return std::nullopt;
  }
  for (std::uint32_t candidate = range.first + 4; candidate < range.last(); ++candidate) {
    if (taken.insert(candidate).second) {
      properties.set("privateIPAddress", ipv4_text(candidate));
      return std::nullopt;
    }
  }
  return network_refusal(
      "SubnetIsFull",
      "Subnet " + subnet.path.child + " with address prefix " + range.text() +
          " does not have enough capacity for 1 IP addresses."
  );
}

std::optional<reply>
check_address_free(const context& c, const resource_path& path, const json& configuration) {
  const std::string address = address_id(configuration);
  for (const auto& user : c.world.users_of(key_of(address))) {
    const auto* other = c.world.find(user);
    if (other == nullptr || user == path.key()) {
      continue;
    }
    std::string holder = other->path.id();
    for (const auto& theirs : other->body.at({"properties", "ipConfigurations"}).items()) {
      if (equals_ignoring_case(address_id(theirs), address)) {
        holder = theirs["id"].string_or("");
      }
    }
    return network_refusal(
        "PublicIPAddressInUse",
        "Resource " + configuration_id(path, configuration) + " is referencing public IP address " +
            address + " that is already allocated to resource " + holder + "."
    );
  }
  return std::nullopt;
}

std::optional<reply> check_shape(const resource_path& path, const json& request) {
  const auto& configurations = request.at({"properties", "ipConfigurations"});
  if (configurations.size() == 0) {
    return network_refusal(
        "NetworkInterfaceMustHaveIpConfigurations",
        "Network interface " + path.id() + " must have one or more IP configurations."
    );
  }
  std::size_t primaries = 0;
  for (std::size_t i = 0; i < configurations.size(); ++i) {
    if (configurations[i]["name"].string_or("").empty()) {
      return network_refusal(
          "InvalidRequestFormat", "An IP configuration of " + path.id() + " has no name."
      );
    }
    if (auto bad = check_child_name(configurations[i]["name"].string_or(""))) {
      return bad;
    }
    primaries += configurations[i].at({"properties", "primary"}).boolean().value_or(false) ? 1 : 0;
    if (subnet_id(configurations[i]).empty()) {
      return network_refusal(
          "SubnetMissingInIpConfiguration",
          "IP configuration " + configuration_id(path, configurations[i]) + " has no subnet."
      );
    }
  }
  if (configurations.size() > 1 && primaries != 1) {
    return network_refusal(
        "NicMustHaveOnePrimaryIpConfiguration",
        "Network interface " + path.id() + " must have exactly one primary IP configuration."
    );
  }
  return refuse_duplicate_names(path.id(), configurations);
}

std::vector<std::string> groups_of(const json& configuration) {
  return ids_in(configuration.at({"properties", "applicationSecurityGroups"}));
}

std::optional<reply>
check_references(const context& c, const resource_path& path, const std::string& location) {
  const std::string group = group_of(c.body);
  if (!group.empty()) {
    if (auto bad = check_reference(c, path, group, kind::security_group, location)) {
      return bad;
    }
  }
  for (const auto& configuration : c.body.at({"properties", "ipConfigurations"}).items()) {
    const std::string subnet = subnet_id(configuration);
    auto bad = check_reference(c, path, subnet, kind::subnet, location);
    if (!bad && !address_id(configuration).empty()) {
      bad = check_reference(c, path, address_id(configuration), kind::public_ip, location);
    }
    for (const auto& group_id : groups_of(configuration)) {
      if (!bad) {
        bad = check_reference(c, path, group_id, kind::application_group, location);
      }
    }
    if (bad) {
      return bad;
    }
  }
  return std::nullopt;
}

std::optional<reply>
check_same_network(const context& c, const resource_path& path, const resource* existing) {
  std::set<std::string> networks;
  const auto collect = [&](const json& configurations) {
    for (const auto& configuration : configurations.items()) {
      if (const auto subnet = parse_resource_id(subnet_id(configuration))) {
        networks.insert(key_of(subnet->parent_id()));
      }
    }
  };
  collect(c.body.at({"properties", "ipConfigurations"}));
  // Once a machine uses the interface, it cannot move to another network.
  if (existing != nullptr && !c.world.users_of(path.key()).empty()) {
    collect(existing->body.at({"properties", "ipConfigurations"}));
  }
  if (networks.size() <= 1) {
    return std::nullopt;
  }
  return network_refusal(
      "SubnetsNotInSameVnet",
      "All IP configurations of network interface " + path.id() +
          " must stay in subnets of one virtual network."
  );
}

json configuration_body(const resource_path& path, const json& request, bool primary) {
  const auto& wanted = request["properties"];
  json properties;
  properties.set("provisioningState", "Succeeded");
  if (wanted["privateIPAddress"].is_string()) {
    properties.set("privateIPAddress", wanted["privateIPAddress"]);
  }
  properties.set(
      "privateIPAllocationMethod", wanted["privateIPAllocationMethod"].string_or("Dynamic")
  );
  properties.set("subnet", json::object({{"id", subnet_id(request)}}));
  if (!address_id(request).empty()) {
    json address = json::object({{"id", address_id(request)}});
    const auto& option = wanted.at({"publicIPAddress", "properties", "deleteOption"});
    if (option.is_string()) {
      address.set("properties", json::object({{"deleteOption", option}}));
    }
    properties.set("publicIPAddress", address);
  }
  json groups;
  for (const auto& id : groups_of(request)) { // a client may echo expanded objects
    groups.push_back(json::object({{"id", id}}));
  }
  if (!groups.is_null()) {
    properties.set("applicationSecurityGroups", groups);
  }
  properties.set("primary", wanted["primary"].boolean().value_or(primary));
  properties.set("privateIPAddressVersion", wanted["privateIPAddressVersion"].string_or("IPv4"));
  return json::object(
      {{"name", request["name"]},
       {"id", configuration_id(path, request)},
       {"etag", ""},
       {"type", "Microsoft.Network/networkInterfaces/ipConfigurations"},
       {"properties", properties}}
  );
}

json interface_properties(const json& wanted, const json& configurations, const json& guid) {
  json properties;
  properties.set("provisioningState", "Succeeded");
  properties.set("resourceGuid", guid);
  properties.set("ipConfigurations", configurations);
  const auto& servers = wanted.at({"dnsSettings", "dnsServers"});
  properties.set(
      "dnsSettings",
      json::object(
          {{"dnsServers", servers.is_array() ? servers : json::array()},
           {"appliedDnsServers", servers.is_array() ? servers : json::array()},
           {"internalDomainNameSuffix", internal_domain(guid.string_or(""))}}
      )
  );
  properties.set(
      "enableAcceleratedNetworking", wanted["enableAcceleratedNetworking"].boolean().value_or(false)
  );
  properties.set("vnetEncryptionSupported", false);
  properties.set("enableIPForwarding", wanted["enableIPForwarding"].boolean().value_or(false));
  properties.set(
      "disableTcpStateTracking", wanted["disableTcpStateTracking"].boolean().value_or(false)
  );
  const std::string group = wanted.at({"networkSecurityGroup", "id"}).string_or("");
  if (!group.empty()) {
    properties.set("networkSecurityGroup", json::object({{"id", group}}));
  }
  properties.set("hostedWorkloads", json::array());
  properties.set("tapConfigurations", json::array());
  properties.set("nicType", "Standard");
  properties.set("allowPort25Out", true);
  properties.set("defaultOutboundConnectivityEnabled", false);
  properties.set("auxiliaryMode", wanted["auxiliaryMode"].string_or("None"));
  properties.set("auxiliarySku", wanted["auxiliarySku"].string_or("None"));
  return properties;
}

// A virtual network has room for so many private addresses, in whatever subnets.
std::optional<reply>
check_network_room(const context& c, const resource_path& path, const json& wanted) {
  const auto subnet = parse_resource_id(subnet_id(wanted[0]));
  if (!subnet || !c.world.quotas_checked) {
    return std::nullopt;
  }
  const auto subnets = c.world.children(key_of(subnet->parent_id()));
  auto count = static_cast<std::int64_t>(wanted.size());
  auto at_least = count;
  for (const auto& sibling : subnets) {
    at_least += static_cast<std::int64_t>(c.world.users_of(sibling).size());
  }
  // Few interfaces have more than a handful of addresses: far from the limit nobody counts them.
  if (at_least * 4 < network_limit(c.world, "privateAddressesPerVirtualNetwork")) {
    return std::nullopt;
  }
  for (const auto& sibling : subnets) {
    for (const auto& user : c.world.users_of(sibling)) {
      const auto it = c.world.resources.find(user);
      if (it != c.world.resources.end() && user != path.key()) {
        const auto& theirs = it->second.body.at({"properties", "ipConfigurations"});
        count += std::count_if(theirs.items().begin(), theirs.items().end(), [&](const json& one) {
          return key_of(subnet_id(one)) == sibling;
        });
      }
    }
  }
  return refuse_over_limit(
      c,
      "privateAddressesPerVirtualNetwork",
      count,
      "PrivateIPAddressCountLimitReached",
      "private IP addresses in virtual network " + subnet->parent_id()
  );
}

// Builds the configurations and gives each its address.
std::optional<reply>
build_configurations(context& c, const resource_path& path, const resource* existing, json& out) {
  out = json::array();
  std::map<std::string, std::set<std::uint32_t>> taken;
  const auto& wanted = c.body.at({"properties", "ipConfigurations"});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    json configuration = configuration_body(path, wanted[i], i == 0);
    json before;
    if (existing != nullptr) {
      for (const auto& old : existing->body.at({"properties", "ipConfigurations"}).items()) {
        if (equals_ignoring_case(old["name"].string_or(""), wanted[i]["name"].string_or(""))) {
          before = old;
        }
      }
    }
    const std::string subnet = key_of(subnet_id(wanted[i]));
    if (taken.count(subnet) == 0) {
      taken[subnet] = taken_addresses(c.world, subnet, path.key());
    }
    if (auto bad =
            place_address(*c.world.find(subnet), path, before, configuration, taken[subnet])) {
      return bad;
    }
    out.push_back(std::move(configuration));
  }
  return check_network_room(c, path, wanted);
}

std::vector<std::string> references_of(const json& body) {
  std::vector<std::string> ids;
  if (!group_of(body).empty()) {
    ids.push_back(group_of(body));
  }
  for (const auto& configuration : body.at({"properties", "ipConfigurations"}).items()) {
    ids.push_back(subnet_id(configuration));
    if (!address_id(configuration).empty()) {
      ids.push_back(address_id(configuration));
    }
    for (const auto& id : groups_of(configuration)) {
      ids.push_back(id);
    }
  }
  return ids;
}

// The delete option given on the interface is a property of the address itself.
void pass_on_delete_options(world& w, const json& body) {
  for (const auto& configuration : body.at({"properties", "ipConfigurations"}).items()) {
    const auto& option =
        configuration.at({"properties", "publicIPAddress", "properties", "deleteOption"});
    auto* address = w.find(key_of(address_id(configuration)));
    if (option.is_string() && address != nullptr) {
      address->body.member_ref("properties").set("deleteOption", option);
    }
  }
}

std::optional<reply> check_interface(const network_put& p) {
  auto bad = check_shape(p.path, p.c.body);
  if (!bad) {
    bad = check_references(p.c, p.path, p.location);
  }
  if (!bad) {
    bad = check_same_network(p.c, p.path, p.existing);
  }
  if (!bad) {
    bad = check_application_groups(p);
  }
  for (const auto& configuration : p.wanted["ipConfigurations"].items()) {
    if (!bad && !address_id(configuration).empty()) {
      bad = check_address_free(p.c, p.path, configuration);
    }
  }
  return bad;
}

std::optional<reply> build_interface(const network_put& p, resource& r) {
  json configurations;
  if (auto bad = build_configurations(p.c, p.path, p.existing, configurations)) {
    return bad;
  }
  r.body = tracked_body(p.path, p.c.body, p.location);
  const json guid = p.existing == nullptr ? json(base::uuid::random().dashed())
                                          : p.existing->body.at({"properties", "resourceGuid"});
  r.body.set("properties", interface_properties(p.wanted, configurations, guid));
  r.body.set("kind", "Regular");
  r.uses = references_of(r.body);
  pass_on_delete_options(p.c.world, r.body);
  return std::nullopt;
}

reply reserved(const std::string& machine) {
  return network_refusal(
      "NicReservedForAnotherVm",
      "Nic(s) in request is reserved for another Virtual Machine for 180 seconds. Please provide "
      "another nic(s) or retry after 180 seconds. Reserved VM: " +
          machine
  );
}

std::optional<reply> refuse_interface_removal(const context& c, resource& r) {
  for (const auto& key : c.world.users_of(r.path.key())) {
    const auto* machine = c.world.find(key);
    if (machine == nullptr) {
      continue;
    }
    if (machine->state == provisioning::deleting) {
      return reserved(machine->path.id());
    }
    return network_refusal(
        "NicInUse",
        "Network Interface " + r.path.id() + " is used by existing resource " + machine->path.id() +
            ". In order to delete the network interface, it must be dissociated from the resource. "
            "To learn more, see aka.ms/deletenic."
    );
  }
  return r.interface.reserved_until > c.now()
             ? std::optional<reply>(reserved(r.interface.reserved_for))
             : std::nullopt;
}

} // namespace

std::string internal_domain(std::string_view guid) {
  return std::string(guid.substr(0, 8)) + "emulated.ax.internal.cloudapp.net";
}

reply get_ip_configurations(context& c, const resource_path& interface, std::string_view name) {
  auto* r = c.world.find(interface.key());
  if (r == nullptr) {
    return resource_not_found(interface);
  }
  const json list = render(c.world, *r).at({"properties", "ipConfigurations"});
  if (name.empty()) {
    return json_reply(200, json::object({{"value", list}}));
  }
  for (const auto& configuration : list.items()) {
    if (equals_ignoring_case(configuration["name"].string_or(""), name)) {
      return json_reply(200, configuration);
    }
  }
  return error_reply(
      404,
      {"NotFound",
       "Resource " + interface.id() + "/ipConfigurations/" + std::string(name) + " not found.",
       "",
       json::array()}
  );
}

const network_kind& interface_kind() {
  static constexpr network_kind row{
      kind::network_interface,
      "PutNicOperation",
      check_interface,
      build_interface,
      nullptr,
      refuse_interface_removal};
  return row;
}

} // namespace siteagent::azure_emulator
