// SPDX-License-Identifier: MIT
// Public IP addresses.
#include "handlers.hpp"
#include "operations.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

reply bad_request(std::string_view code, const std::string& message) {
  return error_reply(400, {std::string(code), message, "", json::array()});
}

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
    return bad_request(
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
      return bad_request(
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
  return bad_request(
      "PublicIPCountLimitReached",
      "Cannot create more than " + std::to_string(limit) +
          " public IP addresses for this subscription in this region."
  );
}

std::optional<reply> check_sku(const context& c, const resource_path& path) {
  const std::string sku = sku_of(c.body);
  const bool standard = equals_ignoring_case(sku, "Standard");
  if (!standard && !equals_ignoring_case(sku, "Basic")) {
    return bad_request("InvalidPublicIPAddressSku", "Unknown public IP address SKU " + sku + ".");
  }
  if (!standard && !c.world.basic_addresses_allowed) {
    return bad_request(
        "IPv4BasicSkuPublicIpCountLimitReached",
        "Cannot create more than 0 IPv4 Basic SKU public IP addresses for this subscription in "
        "this region."
    );
  }
  if (standard && !equals_ignoring_case(method_of(c.body), "Static")) {
    return bad_request(
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
    return bad_request(
        "PublicIpSkuChangeNotAllowed",
        "SKU of public IP address " + existing.path.id() + " cannot be changed."
    );
  }
  const std::string version = c.body.at({"properties", "publicIPAddressVersion"}).string_or("IPv4");
  if (version != old.at({"properties", "publicIPAddressVersion"}).string_or("") ||
      (!c.body["zones"].is_null() && !(c.body["zones"] == old["zones"]))) {
    return bad_request(
        "PublicIPAddressPropertyCannotBeChanged",
        "Version and zones of public IP address " + existing.path.id() + " cannot be changed."
    );
  }
  return std::nullopt;
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

} // namespace

reply put_public_ip(context& c, const resource_path& path) {
  auto* existing = c.world.find(path.key());
  const std::string location = normalized_location(c.body["location"].string_or(""));
  auto bad = check_preconditions(c, existing);
  if (!bad) {
    bad = check_sku(c, path);
  }
  const std::string label =
      c.body.at({"properties", "dnsSettings", "domainNameLabel"}).string_or("");
  if (!bad && !label.empty()) {
    bad = check_dns(c, path, label);
  }
  if (!bad && existing != nullptr) {
    bad = check_unchanged(c, *existing);
  }
  if (!bad && existing != nullptr) {
    bad = refuse_if_locked(c, *existing);
  }
  if (!bad && existing == nullptr && c.world.quotas_checked) {
    bad = check_quota(c, location);
  }
  if (bad) {
    return *bad;
  }
  const bool is_new = existing == nullptr;
  resource r;
  r.path = path;
  r.location = location;
  r.body = build(c, path, location);
  r.created = is_new ? c.now() : existing->created;
  r.changed = c.now();
  r.state = provisioning::creating;
  if (!is_new) {
    auto& properties = r.body.member_ref("properties");
    properties.set("resourceGuid", existing->body.at({"properties", "resourceGuid"}));
    if (const auto* address = existing->body["properties"].find("ipAddress")) {
      properties.set("ipAddress", *address);
    }
    r.address = existing->address;
    r.state = r.body["tags"] == existing->body["tags"] ? existing->state : provisioning::updating;
  }
  auto& stored = c.world.put(std::move(r));
  c.world.touch_etag(stored);
  operation_plan plan;
  plan.subject = path.key();
  plan.location = location;
  plan.is_new = is_new;
  reply answer = json_reply(is_new ? 201 : 200, render(c.world, stored));
  add_monitor_headers(c, begin(c, plan), monitors::async, answer);
  return answer;
}

reply delete_public_ip(context& c, const resource_path& path) {
  auto* r = c.world.find(path.key());
  if (r == nullptr) {
    return empty_reply(204);
  }
  if (auto bad = check_preconditions(c, r)) {
    return *bad;
  }
  const json shown = render(c.world, *r);
  const std::string user = shown.at({"properties", "ipConfiguration", "id"}).string_or("");
  if (!user.empty()) {
    return bad_request(
        "PublicIPAddressCannotBeDeleted",
        "Public IP address " + path.id() +
            " can not be deleted since it is still allocated to resource " + user +
            ". In order to delete the public IP, disassociate/detach the Public IP address from "
            "the resource. To learn how to do this, see aka.ms/deletepublicip."
    );
  }
  if (auto bad = refuse_if_locked(c, *r)) {
    return *bad;
  }
  r->state = provisioning::deleting;
  operation_plan plan;
  plan.action = action::remove;
  plan.pace = pace::network_delete;
  plan.subject = path.key();
  plan.location = r->location;
  reply answer = empty_reply(202);
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

} // namespace siteagent::azure_emulator
