// SPDX-License-Identifier: MIT
// Virtual networks and subnets.
#include "handlers.hpp"
#include "operations.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::json;

namespace {

reply bad_request(std::string_view code, const std::string& message) {
  return error_reply(400, {std::string(code), message, "", json::array()});
}

// Prefixes as the request gives them; a wrong one ends in `bad`.
std::vector<cidr> parse_prefixes(const json& list, std::optional<reply>& bad) {
  std::vector<cidr> prefixes;
  for (const auto& item : list.items()) {
    const std::string text = item.string_or("");
    if (const auto prefix = parse_cidr(text)) {
      prefixes.push_back(*prefix);
    } else if (const auto loose = parse_cidr(text, true)) {
      bad = bad_request(
          "InvalidCIDRNotation",
          "The address prefix " + text +
              " has an invalid CIDR notation. For the given prefix length, the address prefix "
              "should be " +
              loose->text() + "."
      );
    } else if (!looks_like_ipv6(text)) {
      bad = bad_request(
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
    return bad_request(
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
      return bad_request(
          "NetcfgSubnetRangeOutsideVnet",
          "Subnet '" + subnet.name + "' is not valid in virtual network '" + network.name +
              "': its range " + prefix.text() + " is outside the range of the virtual network."
      );
    }
    if (prefix.bits > 29) {
      return bad_request(
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
        return bad_request(
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
std::optional<reply> refuse_if_subnet_used(world& w, resource& subnet) {
  const json shown = render(w, subnet);
  const auto& users = shown.at({"properties", "ipConfigurations"});
  if (users.size() == 0) {
    return std::nullopt;
  }
  return bad_request(
      "InUseSubnetCannotBeDeleted",
      "Subnet " + subnet.path.child + " is in use by " + users[0]["id"].string_or("") +
          " and cannot be deleted. In order to delete the subnet, delete all the resources within "
          "the subnet. See aka.ms/deletesubnet."
  );
}

// A used subnet must keep its prefix.
std::optional<reply>
refuse_prefix_change(world& w, resource& existing, const wanted_subnet& subnet) {
  if (subnet_prefixes(existing.body["properties"]) == subnet_prefixes(subnet.properties)) {
    return std::nullopt;
  }
  if (!refuse_if_subnet_used(w, existing)) {
    return std::nullopt;
  }
  const std::string old = subnet_prefixes(existing.body["properties"])[0].string_or("");
  return bad_request(
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

resource& store_subnet(
    context& c, const resource_path& path, const json& request, std::string_view location
) {
  const auto* existing = c.world.find(path.key());
  resource r;
  r.path = path;
  r.location = location;
  r.body = subnet_body(path, request);
  r.created = existing != nullptr ? existing->created : c.now();
  r.changed = c.now();
  const bool same = existing != nullptr && existing->state == provisioning::succeeded &&
                    existing->body["properties"] == r.body["properties"];
  r.state = existing == nullptr ? provisioning::creating
            : same              ? provisioning::succeeded
                                : provisioning::updating;
  const std::string nsg = request.at({"networkSecurityGroup", "id"}).string_or("");
  if (!nsg.empty()) {
    r.uses.push_back(nsg);
  }
  auto& stored = c.world.put(std::move(r));
  c.world.touch_etag(stored);
  return stored;
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
    const context& c,
    const resource_path& path,
    const std::vector<cidr>& space,
    std::vector<wanted_subnet>& wanted
) {
  const std::string location = normalized_location(c.body["location"].string_or(""));
  std::vector<cidr> seen;
  for (const auto& item : c.body.at({"properties", "subnets"}).items()) {
    wanted_subnet subnet{item["name"].string_or(""), item["properties"], {}};
    if (auto bad = check_subnet(c, path, space, subnet, location)) {
      return bad;
    }
    if (auto bad = check_overlap(path, subnet, seen)) {
      return bad;
    }
    seen.insert(seen.end(), subnet.prefixes.begin(), subnet.prefixes.end());
    wanted.push_back(std::move(subnet));
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
    if (auto bad = kept == wanted.end() ? refuse_if_subnet_used(c.world, *subnet)
                                        : refuse_prefix_change(c.world, *subnet, *kept)) {
      return bad;
    }
  }
  return std::nullopt;
}

std::vector<std::string>
store_subnets(context& c, const resource_path& path, const std::vector<wanted_subnet>& wanted) {
  const std::string location = normalized_location(c.body["location"].string_or(""));
  std::vector<std::string> kept;
  for (const auto& subnet : wanted) {
    resource_path child = path;
    child.kind = kind::subnet;
    child.child = subnet.name;
    store_subnet(c, child, subnet.properties, location);
    kept.push_back(child.key());
  }
  for (const auto& key : c.world.children(path.key())) {
    if (std::find(kept.begin(), kept.end(), key) == kept.end()) {
      c.world.erase(key);
    }
  }
  return kept;
}

} // namespace

reply put_virtual_network(context& c, const resource_path& path) {
  auto* existing = c.world.find(path.key());
  if (auto bad = check_preconditions(c, existing)) {
    return *bad;
  }
  const auto& prefixes = c.body.at({"properties", "addressSpace", "addressPrefixes"});
  if (!prefixes.is_array() || prefixes.size() == 0) {
    return bad_request(
        "InvalidRequestFormat",
        "Virtual network " + path.name +
            " must have at least one address prefix in "
            "properties.addressSpace.addressPrefixes."
    );
  }
  std::optional<reply> bad;
  const auto space = parse_prefixes(prefixes, bad);
  std::vector<wanted_subnet> wanted;
  if (!bad) {
    bad = check_wanted(c, path, space, wanted);
  }
  if (!bad && existing != nullptr) {
    bad = refuse_if_locked(c, *existing);
  }
  if (!bad && existing != nullptr) {
    bad = check_dropped(c, *existing, wanted);
  }
  if (bad) {
    return *bad;
  }
  const bool is_new = existing == nullptr;
  const std::string location = normalized_location(c.body["location"].string_or(""));
  resource r;
  r.path = path;
  r.location = location;
  r.body = network_body(path, c.body, location);
  r.created = is_new ? c.now() : existing->created;
  r.changed = c.now();
  const json before = is_new ? json() : render(c.world, *existing);
  if (!is_new) {
    r.body.member_ref("properties")
        .set("resourceGuid", existing->body.at({"properties", "resourceGuid"}));
  }
  r.state = is_new ? provisioning::creating : provisioning::updating;
  auto& stored = c.world.put(std::move(r));
  c.world.touch_etag(stored);
  const auto subnets = store_subnets(c, path, wanted);
  // A PUT that changes nothing is answered as already done, though it has a monitor all the same.
  if (!is_new && before["tags"] == stored.body["tags"] &&
      before.at({"properties", "addressSpace"}) == stored.body.at({"properties", "addressSpace"}) &&
      before.at({"properties", "subnets"}).size() == subnets.size()) {
    stored.state = provisioning::succeeded;
  }
  operation_plan plan;
  plan.subject = path.key();
  plan.also = subnets;
  plan.location = location;
  plan.is_new = is_new;
  reply answer = json_reply(is_new ? 201 : c.world.network_update_status, render(c.world, stored));
  add_monitor_headers(c, begin(c, plan), monitors::async, answer);
  return answer;
}

reply put_subnet(context& c, const resource_path& path) {
  const std::string parent_key = key_of(path.parent_id());
  auto* network = c.world.find(parent_key);
  if (network == nullptr) {
    return gateway_error(
        404,
        {"ParentResourceNotFound",
         "Failed to perform 'write' on resource(s) of type 'virtualNetworks/subnets', because the "
         "parent resource '" +
             path.parent_id() + "' could not be found."}
    );
  }
  auto* existing = c.world.find(path.key());
  if (auto bad = check_preconditions(c, existing)) {
    return *bad;
  }
  wanted_subnet wanted{path.child, c.body["properties"], {}};
  auto bad = check_subnet(c, network->path, space_of(network->body), wanted, network->location);
  if (!bad) {
    std::vector<cidr> others;
    for (const auto& key : c.world.children(parent_key)) {
      std::optional<reply> ignored;
      const auto list =
          key == path.key()
              ? std::vector<cidr>()
              : parse_prefixes(subnet_prefixes(c.world.find(key)->body["properties"]), ignored);
      others.insert(others.end(), list.begin(), list.end());
    }
    bad = check_overlap(network->path, wanted, others);
  }
  if (!bad) {
    bad = refuse_if_locked(c, *network);
  }
  if (!bad && existing != nullptr) {
    bad = refuse_prefix_change(c.world, *existing, wanted);
  }
  if (bad) {
    return *bad;
  }
  const bool is_new = existing == nullptr;
  const std::string location = network->location;
  auto& stored = store_subnet(c, path, wanted.properties, location);
  c.world.touch_etag(*network);
  operation_plan plan;
  plan.subject = path.key();
  plan.locks = {parent_key};
  plan.location = location;
  plan.is_new = is_new;
  reply answer = json_reply(is_new ? 201 : 200, render(c.world, stored));
  add_monitor_headers(c, begin(c, plan), monitors::async, answer);
  return answer;
}

reply delete_virtual_network(context& c, const resource_path& path) {
  auto* r = c.world.find(path.key());
  if (r == nullptr) {
    return empty_reply(204);
  }
  const auto children = c.world.children(path.key());
  std::optional<reply> bad = check_preconditions(c, r);
  for (const auto& key : children) {
    if (!bad) {
      bad = refuse_if_subnet_used(c.world, *c.world.find(key));
    }
  }
  if (!bad) {
    bad = refuse_if_locked(c, *r);
  }
  if (bad) {
    return *bad;
  }
  r->state = provisioning::deleting;
  for (const auto& key : children) {
    c.world.find(key)->state = provisioning::deleting;
  }
  operation_plan plan;
  plan.action = action::remove;
  plan.pace = pace::network_delete;
  plan.subject = path.key();
  plan.also = children;
  plan.location = r->location;
  reply answer = empty_reply(202);
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

reply delete_subnet(context& c, const resource_path& path) {
  auto* network = c.world.find(key_of(path.parent_id()));
  auto* r = c.world.find(path.key());
  if (r == nullptr || network == nullptr) {
    return empty_reply(204);
  }
  auto bad = check_preconditions(c, r);
  if (!bad) {
    bad = refuse_if_subnet_used(c.world, *r);
  }
  if (!bad) {
    bad = refuse_if_locked(c, *network);
  }
  if (bad) {
    return *bad;
  }
  r->state = provisioning::deleting;
  operation_plan plan;
  plan.action = action::remove;
  plan.pace = pace::network_delete;
  plan.subject = path.key();
  plan.locks = {network->path.key()};
  plan.location = network->location;
  reply answer = empty_reply(202);
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

} // namespace siteagent::azure_emulator
