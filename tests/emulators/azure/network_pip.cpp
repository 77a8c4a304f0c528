// SPDX-License-Identifier: MIT
// Public IP addresses.
#include "network.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

// Without "sku" the service still means Basic, which nobody can create any more.
std::string sku_of(const json& request) {
  return request.at({"sku", "name"}).string_or("Basic");
}

std::string method_of(const json& request) {
  return request.at({"properties", "publicIPAllocationMethod"}).string_or("Dynamic");
}

bool is_dns_label(std::string_view label) {
  const auto plain = [](char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9'); };
  return label.size() >= 3 && label.size() <= 63 && label.front() >= 'a' && label.front() <= 'z' &&
         plain(label.back()) &&
         std::all_of(label.begin(), label.end(), [&](char ch) { return plain(ch) || ch == '-'; });
}

std::optional<reply>
check_dns(const context& c, const resource_path& path, std::string_view label) {
  const std::string location = normalized_location(c.body["location"].string_or(""));
  if (!is_dns_label(label)) {
    return network_refusal(
        "InvalidDomainNameLabel",
        "The domain name label " + std::string(label) +
            " is invalid. It must conform to the following regular expression: "
            "^[a-z][a-z0-9-]{1,61}[a-z0-9]$."
    );
  }
  for (const auto& [key, r] : c.world.resources) {
    if (r.path.kind == kind::public_ip && r.location == location && key != path.key() &&
        equals_ignoring_case(
            r.body.at({"properties", "dnsSettings", "domainNameLabel"}).string_or(""), label
        )) {
      return network_refusal(
          "DnsRecordInUse",
          "DNS record " + std::string(label) + "." + location +
              ".cloudapp.azure.com is already used by another public IP."
      );
    }
  }
  return std::nullopt;
}

std::optional<reply> check_quota(const context& c, const std::string& location) {
  std::int64_t used = 0;
  for (const auto& key : c.world.list(kind::public_ip, c.subscription_id())) {
    used += c.world.find(key)->location == location ? 1 : 0;
  }
  const auto limit = c.world.offer.quota_at(location).public_addresses;
  if (used < limit) {
    return std::nullopt;
  }
  return network_refusal(
      "PublicIPCountLimitReached",
      "Cannot create more than " + std::to_string(limit) +
          " public IP addresses for this subscription in this region."
  );
}

std::optional<reply> check_sku(const context& c, const resource_path& path) {
  const std::string sku = sku_of(c.body);
  const bool standard = equals_ignoring_case(sku, "Standard");
  if (!standard && !equals_ignoring_case(sku, "Basic")) {
    return network_refusal(
        "InvalidPublicIPAddressSku", "Unknown public IP address SKU " + sku + "."
    );
  }
  if (!standard && !c.world.basic_addresses_allowed) {
    return network_refusal(
        "IPv4BasicSkuPublicIpCountLimitReached",
        "Cannot create more than 0 IPv4 Basic SKU public IP addresses for this subscription in "
        "this region."
    );
  }
  if (standard && !equals_ignoring_case(method_of(c.body), "Static")) {
    return network_refusal(
        "StandardSkuPublicIPAddressesMustBeStatic",
        "Standard sku publicIp " + path.id() + " must have AllocationMethod set to Static."
    );
  }
  return std::nullopt;
}

std::optional<reply> check_unchanged(const context& c, const resource& existing) {
  const auto& old = existing.body;
  const std::string old_sku = old.at({"sku", "name"}).string_or("");
  if (!equals_ignoring_case(old_sku, sku_of(c.body))) {
    return network_refusal(
        "PublicIpSkuChangeNotAllowed",
        "SKU of public IP address " + existing.path.id() + " cannot be changed."
    );
  }
  const std::string version = c.body.at({"properties", "publicIPAddressVersion"}).string_or("IPv4");
  const bool attached = !c.world.users_of(existing.path.key()).empty();
  if (attached &&
      !equals_ignoring_case(
          method_of(c.body), old.at({"properties", "publicIPAllocationMethod"}).string_or("")
      )) {
    return network_refusal(
        "PublicIPAddressAllocationMethodCannotBeChanged",
        "Allocation method of public IP address " + existing.path.id() +
            " cannot be changed while it is attached."
    );
  }
  if (version != old.at({"properties", "publicIPAddressVersion"}).string_or("") ||
      (!c.body["zones"].is_null() && !(c.body["zones"] == old["zones"]))) {
    return network_refusal(
        "PublicIPAddressPropertyCannotBeChanged",
        "Version and zones of public IP address " + existing.path.id() + " cannot be changed."
    );
  }
  return std::nullopt;
}

// None, one or all three of the zones of the location.
std::optional<reply> check_zones(const network_put& p) {
  const auto& zones = p.c.body["zones"];
  const auto* place = p.c.world.offer.find_location(p.location);
  const bool known = std::all_of(zones.items().begin(), zones.items().end(), [](const json& z) {
    const std::string name = z.string_or("");
    return name == "1" || name == "2" || name == "3";
  });
  if (zones.size() == 0 || (known && place != nullptr && place->has_zones)) {
    return std::nullopt;
  }
  return network_refusal(
      "AvailabilityZonesNotSupportedForLocation",
      "Zones " + zones.dump() + " of resource " + p.path.id() + " are not supported in location " +
          p.location + "."
  );
}

json build(const context& c, const resource_path& path, const std::string& location) {
  const auto& wanted = c.body["properties"];
  json body = tracked_body(path, c.body, location);
  if (c.body["zones"].is_array()) {
    body.set("zones", c.body["zones"]);
  }
  json properties;
  properties.set("provisioningState", "Updating");
  properties.set("resourceGuid", base::uuid::random().dashed());
  properties.set("publicIPAddressVersion", wanted["publicIPAddressVersion"].string_or("IPv4"));
  properties.set("publicIPAllocationMethod", method_of(c.body));
  const auto idle = wanted["idleTimeoutInMinutes"].integer().value_or(4);
  properties.set("idleTimeoutInMinutes", idle);
  properties.set("ipTags", wanted["ipTags"].is_array() ? wanted["ipTags"] : json::array());
  if (sku_of(c.body) == "Standard") {
    properties.set("ddosSettings", json::object({{"protectionMode", "VirtualNetworkInherited"}}));
  }
  const std::string label = wanted.at({"dnsSettings", "domainNameLabel"}).string_or("");
  if (!label.empty()) {
    properties.set(
        "dnsSettings",
        json::object(
            {{"domainNameLabel", label}, {"fqdn", label + "." + location + ".cloudapp.azure.com"}}
        )
    );
  }
  if (wanted["deleteOption"].is_string()) {
    properties.set("deleteOption", wanted["deleteOption"]);
  }
  body.set("properties", properties);
  body.set(
      "sku",
      json::object(
          {{"name", sku_of(c.body)}, {"tier", c.body.at({"sku", "tier"}).string_or("Regional")}}
      )
  );
  return body;
}

std::optional<reply> check_address(const network_put& p) {
  auto bad = check_sku(p.c, p.path);
  const std::string label = p.wanted.at({"dnsSettings", "domainNameLabel"}).string_or("");
  if (!bad) {
    bad = check_zones(p);
  }
  if (!bad && !label.empty()) {
    bad = check_dns(p.c, p.path, label);
  }
  if (!bad && p.existing != nullptr) {
    bad = check_unchanged(p.c, *p.existing);
  }
  if (!bad && p.existing == nullptr && p.c.world.quotas_checked) {
    bad = check_quota(p.c, p.location);
  }
  return bad;
}

std::optional<reply> build_address(const network_put& p, resource& r) {
  r.body = build(p.c, p.path, p.location);
  if (p.existing == nullptr) {
    return std::nullopt;
  }
  auto& properties = r.body.member_ref("properties");
  const auto& old = p.existing->body["properties"];
  // What an interface passed on stays, too.
  for (const auto* key : {"resourceGuid", "ipAddress", "deleteOption"}) {
    if (const auto* value = old.find(key); value != nullptr && p.wanted[key].is_null()) {
      properties.set(key, *value);
    }
  }
  properties.set("resourceGuid", old["resourceGuid"]);
  if (p.c.body["zones"].is_null() && p.existing->body["zones"].is_array()) {
    r.body.set("zones", p.existing->body["zones"]);
  }
  return std::nullopt;
}

std::string holder_of(const context& c, resource& r) {
  const std::string user =
      render(c.world, r).at({"properties", "ipConfiguration", "id"}).string_or("");
  return user.empty() ? lingering_reference(c.world, r.path.key(), c.now()) : user;
}

std::optional<reply> refuse_address_removal(const context& c, resource& r) {
  const std::string user = holder_of(c, r);
  if (user.empty()) {
    return std::nullopt;
  }
  return network_refusal(
      "PublicIPAddressCannotBeDeleted",
      "Public IP address " + r.path.id() +
          " can not be deleted since it is still allocated to resource " + user +
          ". In order to delete the public IP, disassociate/detach the Public IP address from "
          "the resource. To learn how to do this, see aka.ms/deletepublicip."
  );
}

} // namespace

const network_kind& public_ip_kind() {
  static constexpr network_kind row{
      kind::public_ip,
      "PutPublicIpAddressOperation",
      check_address,
      build_address,
      nullptr,
      refuse_address_removal};
  return row;
}

} // namespace siteagent::azure_emulator
