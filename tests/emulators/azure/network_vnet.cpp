// SPDX-License-Identifier: MIT
// Virtual networks and subnets.
#include "network.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::json;

namespace {

// Prefixes as the request gives them; a wrong one ends in `bad`.
std::vector<cidr> parse_prefixes(const json& list, std::optional<reply>& bad) {
  std::vector<cidr> prefixes;
  for (const auto& item : list.items()) {
    const std::string text = item.string_or("");
    if (const auto prefix = parse_cidr(text)) {
      prefixes.push_back(*prefix);
    } else if (const auto loose = parse_cidr(text, true)) {
      bad = network_refusal(
          "InvalidCIDRNotation",
          "The address prefix " + text +
              " has an invalid CIDR notation. For the given prefix length, the address prefix "
              "should be " +
              loose->text() + "."
      );
    } else if (!looks_like_ipv6(text)) {
      bad = network_refusal(
          "InvalidAddressPrefixFormat",
          "Address prefix " + text +
              " of the resource is not formatted correctly. It should follow CIDR notation, for "
              "example 10.0.0.0/24."
      );
    }
  }
  return prefixes;
}

// addressPrefix or addressPrefixes of a subnet.
json subnet_prefixes(const json& properties) {
  if (const auto& many = properties["addressPrefixes"]; many.is_array() && many.size() > 0) {
    return many;
  }
  const std::string one = properties["addressPrefix"].string_or("");
  return one.empty() ? json::array() : json::array({one});
}

std::vector<cidr> space_of(const json& network_body) {
  std::optional<reply> ignored;
  return parse_prefixes(
      network_body.at({"properties", "addressSpace", "addressPrefixes"}), ignored
  );
}

struct wanted_subnet {
  std::string name;
  json properties;
  std::vector<cidr> prefixes;
};

std::optional<reply> check_subnet(
    const context& c,
    const resource_path& network,
    const std::vector<cidr>& space,
    wanted_subnet& subnet,
    std::string_view location
) {
  resource_path path = network;
  path.kind = kind::subnet;
  path.child = subnet.name;
  if (auto bad = check_name(path)) {
    return bad;
  }
  const json list = subnet_prefixes(subnet.properties);
  if (list.size() == 0) {
    return network_refusal(
        "NoAddressPrefixOrPoolProvided",
        "No address prefix or IP pool has been provided for Subnet " + path.id() + "."
    );
  }
  std::optional<reply> bad;
  subnet.prefixes = parse_prefixes(list, bad);
  if (bad) {
    return bad;
  }
  for (const auto& prefix : subnet.prefixes) {
    const bool inside =
        std::any_of(space.begin(), space.end(), [&](const cidr& s) { return s.contains(prefix); });
    if (!inside) {
      return network_refusal(
          "NetcfgSubnetRangeOutsideVnet",
          "Subnet '" + subnet.name + "' is not valid in virtual network '" + network.name +
              "': its range " + prefix.text() + " is outside the range of the virtual network."
      );
    }
    if (prefix.bits > 29) {
      return network_refusal(
          "NetcfgInvalidSubnet",
          "Subnet '" + subnet.name + "' is not valid in virtual network '" + network.name +
              "': the smallest prefix is /29."
      );
    }
  }
  const std::string nsg = subnet.properties.at({"networkSecurityGroup", "id"}).string_or("");
  if (!nsg.empty()) {
    return check_reference(c, path, nsg, kind::security_group, location);
  }
  return std::nullopt;
}

std::optional<reply> check_overlap(
    const resource_path& network, const wanted_subnet& subnet, const std::vector<cidr>& others
) {
  for (const auto& prefix : subnet.prefixes) {
    for (const auto& other : others) {
      if (prefix.overlaps(other)) {
        return network_refusal(
            "NetcfgSubnetRangesOverlap",
            "Subnet '" + subnet.name +
                "' is not valid because its IP address range overlaps with that of an existing "
                "subnet in virtual network '" +
                network.name + "'."
        );
      }
    }
  }
  return std::nullopt;
}

// Subnets in use by interfaces; the text names the first.
std::optional<reply> refuse_if_subnet_used(const context& c, resource& subnet) {
  const json shown = render(c.world, subnet);
  std::string user = shown.at({"properties", "ipConfigurations"})[0]["id"].string_or("");
  if (user.empty()) {
    user = lingering_reference(c.world, subnet.path.key(), c.now());
  }
  if (user.empty()) {
    return std::nullopt;
  }
  return network_refusal(
      "InUseSubnetCannotBeDeleted",
      "Subnet " + subnet.path.child + " is in use by " + user +
          " and cannot be deleted. In order to delete the subnet, delete all the resources within "
          "the subnet. See aka.ms/deletesubnet."
  );
}

// A used subnet must keep its prefix.
std::optional<reply>
refuse_prefix_change(const context& c, resource& existing, const wanted_subnet& subnet) {
  if (subnet_prefixes(existing.body["properties"]) == subnet_prefixes(subnet.properties)) {
    return std::nullopt;
  }
  if (!refuse_if_subnet_used(c, existing)) {
    return std::nullopt;
  }
  const std::string old = subnet_prefixes(existing.body["properties"])[0].string_or("");
  return network_refusal(
      "InUsePrefixCannotBeDeleted",
      "IpPrefix " + old + " on Subnet " + existing.path.child +
          " has active allocations and cannot be deleted."
  );
}

json subnet_body(const resource_path& path, const json& request) {
  json properties;
  properties.set("provisioningState", "Updating");
  for (const auto* key : {"addressPrefix", "addressPrefixes"}) {
    if (const auto& value = request[key]; !value.is_null()) {
      properties.set(key, value);
    }
  }
  const std::string nsg = request.at({"networkSecurityGroup", "id"}).string_or("");
  if (!nsg.empty()) {
    properties.set("networkSecurityGroup", json::object({{"id", nsg}}));
  }
  for (const auto* key : {"serviceEndpoints", "defaultOutboundAccess", "natGateway"}) {
    if (const auto& value = request[key]; !value.is_null()) {
      properties.set(key, value);
    }
  }
  const auto& delegations = request["delegations"];
  properties.set("delegations", delegations.is_array() ? delegations : json::array());
  properties.set(
      "privateEndpointNetworkPolicies",
      request["privateEndpointNetworkPolicies"].string_or("Disabled")
  );
  properties.set(
      "privateLinkServiceNetworkPolicies",
      request["privateLinkServiceNetworkPolicies"].string_or("Enabled")
  );
  return json::object(
      {{"name", path.child},
       {"id", path.id()},
       {"etag", ""},
       {"properties", properties},
       {"type", type_name(kind::subnet)}}
  );
}

std::vector<std::string> subnet_references(const json& request) {
  const std::string nsg = request.at({"networkSecurityGroup", "id"}).string_or("");
  return nsg.empty() ? std::vector<std::string>() : std::vector<std::string>{nsg};
}

json network_body(const resource_path& path, const json& request, std::string_view location) {
  json body = tracked_body(path, request, location);
  const auto& wanted = request["properties"];
  json properties;
  properties.set("provisioningState", "Updating");
  properties.set("resourceGuid", base::uuid::random().dashed());
  properties.set(
      "addressSpace",
      json::object({{"addressPrefixes", wanted.at({"addressSpace", "addressPrefixes"})}})
  );
  for (const auto* key : {"dhcpOptions", "encryption", "flowTimeoutInMinutes", "bgpCommunities"}) {
    if (const auto& value = wanted[key]; !value.is_null()) {
      properties.set(key, value);
    }
  }
  properties.set("privateEndpointVNetPolicies", "Disabled");
  properties.set("subnets", json::array());
  properties.set("virtualNetworkPeerings", json::array());
  properties.set("enableDdosProtection", wanted["enableDdosProtection"].boolean().value_or(false));
  body.set("properties", properties);
  return body;
}

std::optional<reply> check_wanted(
    const network_put& p, const std::vector<cidr>& space, std::vector<wanted_subnet>& wanted
) {
  std::vector<cidr> seen;
  for (auto& subnet : wanted) {
    if (auto bad = check_subnet(p.c, p.path, space, subnet, p.location)) {
      return bad;
    }
    if (auto bad = check_overlap(p.path, subnet, seen)) {
      return bad;
    }
    seen.insert(seen.end(), subnet.prefixes.begin(), subnet.prefixes.end());
  }
  return std::nullopt;
}

// A PUT replaces the list of subnets: what is missing from it is deleted, unless it is used.
std::optional<reply> check_dropped(
    const context& c, const resource& existing, const std::vector<wanted_subnet>& wanted
) {
  for (const auto& key : c.world.children(existing.path.key())) {
    auto* subnet = c.world.find(key);
    const auto kept = std::find_if(wanted.begin(), wanted.end(), [&](const wanted_subnet& s) {
      return base::equals_ignoring_case(s.name, subnet->path.child);
    });
    if (auto bad = kept == wanted.end() ? refuse_if_subnet_used(c, *subnet)
                                        : refuse_prefix_change(c, *subnet, *kept)) {
      return bad;
    }
  }
  return std::nullopt;
}

std::vector<wanted_subnet> subnets_of(const json& body) {
  std::vector<wanted_subnet> list;
  for (const auto& item : body.at({"properties", "subnets"}).items()) {
    list.push_back({item["name"].string_or(""), item["properties"], {}});
  }
  return list;
}

std::optional<reply> check_network(const network_put& p) {
  const auto& prefixes = p.wanted.at({"addressSpace", "addressPrefixes"});
  if (!prefixes.is_array() || prefixes.size() == 0) {
    return network_refusal(
        "InvalidRequestFormat",
        "Virtual network " + p.path.name +
            " must have at least one address prefix in "
            "properties.addressSpace.addressPrefixes."
    );
  }
  std::optional<reply> bad;
  const auto space = parse_prefixes(prefixes, bad);
  if (!bad) {
    bad = refuse_duplicate_names(p.path.id(), p.wanted["subnets"]);
  }
  auto wanted = subnets_of(p.c.body);
  if (!bad) {
    bad = check_wanted(p, space, wanted);
  }
  if (!bad) {
    bad = refuse_over_limit(
        p.c,
        "subnets",
        static_cast<std::int64_t>(wanted.size()),
        "SubnetCountLimitReached",
        "subnets in virtual network " + p.path.id()
    );
  }
  if (!bad && p.existing != nullptr) {
    bad = check_dropped(p.c, *p.existing, wanted);
  }
  return bad;
}

std::optional<reply> build_network(const network_put& p, resource& r) {
  r.body = network_body(p.path, p.c.body, p.location);
  if (p.existing != nullptr) {
    r.body.member_ref("properties")
        .set("resourceGuid", p.existing->body.at({"properties", "resourceGuid"}));
  }
  return std::nullopt;
}

bool store_subnets(const network_put& p, std::vector<std::string>& also) {
  bool changed = false;
  for (const auto& subnet : subnets_of(p.c.body)) {
    resource_path child = p.path;
    child.kind = kind::subnet;
    child.child = subnet.name;
    changed = store_child(
                  p.c,
                  child,
                  subnet_body(child, subnet.properties),
                  subnet_references(subnet.properties),
                  p.location
              ) ||
              changed;
    also.push_back(child.key());
  }
  return drop_other_children(p.c, p.path, also) || changed;
}

std::optional<reply> refuse_network_removal(const context& c, resource& r) {
  for (const auto& key : c.world.children(r.path.key())) {
    if (auto bad = refuse_if_subnet_used(c, *c.world.find(key))) {
      return bad;
    }
  }
  return std::nullopt;
}

std::vector<cidr> ranges_of_siblings(const network_put& p) {
  std::vector<cidr> ranges;
  for (const auto& key : p.c.world.children(p.parent->path.key())) {
    std::optional<reply> ignored;
    if (key != p.path.key()) {
      const auto list =
          parse_prefixes(subnet_prefixes(p.c.world.find(key)->body["properties"]), ignored);
      ranges.insert(ranges.end(), list.begin(), list.end());
    }
  }
  return ranges;
}

std::optional<reply> check_one_subnet(const network_put& p) {
  const auto& network = *p.parent;
  wanted_subnet wanted{p.path.child, p.wanted, {}};
  auto bad = check_subnet(p.c, network.path, space_of(network.body), wanted, p.location);
  if (!bad) {
    bad = check_overlap(network.path, wanted, ranges_of_siblings(p));
  }
  const auto count = p.c.world.children(network.path.key()).size() + 1;
  if (!bad && p.existing == nullptr) {
    bad = refuse_over_limit(
        p.c,
        "subnets",
        static_cast<std::int64_t>(count),
        "SubnetCountLimitReached",
        "subnets in virtual network " + network.path.id()
    );
  }
  if (!bad && p.existing != nullptr) {
    bad = refuse_prefix_change(p.c, *p.existing, wanted);
  }
  return bad;
}

std::optional<reply> build_subnet(const network_put& p, resource& r) {
  r.body = subnet_body(p.path, p.wanted);
  r.uses = subnet_references(p.wanted);
  return std::nullopt;
}

} // namespace

const network_kind& virtual_network_kind() {
  static constexpr network_kind row{
      kind::virtual_network,
      "PutVirtualNetworkOperation",
      check_network,
      build_network,
      store_subnets,
      refuse_network_removal};
  return row;
}

const network_kind& subnet_kind() {
  static constexpr network_kind row{
      kind::subnet,
      "PutSubnetOperation",
      check_one_subnet,
      build_subnet,
      nullptr,
      refuse_if_subnet_used};
  return row;
}

} // namespace siteagent::azure_emulator
