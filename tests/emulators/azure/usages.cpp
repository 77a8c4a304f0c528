// SPDX-License-Identifier: MIT
// Quotas and what is used of them.
#include "handlers.hpp"
#include "machine.hpp"
#include "network.hpp"

#include "core/base/text.hpp"

#include <map>

namespace siteagent::azure_emulator {

using base::json;

namespace {

json usage(std::string_view name, std::string_view text, std::int64_t used, std::int64_t limit) {
  return json::object(
      {{"unit", "Count"},
       {"currentValue", used},
       {"limit", limit},
       {"name", json::object({{"value", name}, {"localizedValue", text}})}}
  );
}

std::int64_t count(const context& c, kind k, std::string_view location) {
  std::int64_t n = 0;
  c.world.walk(prefix_of(c.subscription_id(), ""), "", [&](const std::string&, const resource& r) {
    n += r.path.kind == k && r.location == location ? 1 : 0;
    return true;
  });
  return n;
}

} // namespace

reply list_compute_usages(context& c, std::string_view location) {
  const auto& quota = c.world.offer.quota_at(location);
  const std::string subscription = c.subscription_id();
  json value = json::array();
  value.push_back(usage(
      "availabilitySets", "Availability Sets", count(c, kind::availability_set, location), 2500
  ));
  value.push_back(usage(
      "cores", "Total Regional vCPUs", used_cores(c.world, subscription, location, ""), quota.cores
  ));
  value.push_back(usage(
      "virtualMachines", "Virtual Machines", count(c, kind::virtual_machine, location), 25'000
  ));
  value.push_back(usage(
      "lowPriorityCores",
      "Total Regional Low-priority vCPUs",
      used_spot_cores(c.world, subscription, location),
      quota.low_priority_cores
  ));
  std::map<std::string, std::string> families;
  for (const auto& size : c.world.offer.sizes) {
    families[base::to_lower(size.family)] = size.family;
  }
  for (const auto& [key, family] : families) {
    value.push_back(usage(
        family,
        family + " vCPUs",
        used_cores(c.world, subscription, location, family),
        c.world.offer.family_limit(family, location)
    ));
  }
  return json_reply(200, json::object({{"value", value}}));
}

reply list_network_usages(context& c, std::string_view location) {
  const auto& quota = c.world.offer.quota_at(location);

  struct row {
    std::string_view name;
    std::string_view text;
    kind counted;
    std::int64_t limit;
  };

  const row rows[] = {
      {"VirtualNetworks",
       "Virtual Networks",
       kind::virtual_network,
       network_limit(c.world, "virtualNetworks")},
      {"StaticPublicIPAddresses",
       "Static Public IP Addresses",
       kind::public_ip,
       quota.public_addresses},
      {"NetworkSecurityGroups",
       "Network Security Groups",
       kind::security_group,
       network_limit(c.world, "networkSecurityGroups")},
      {"PublicIPAddresses", "Public IP Addresses", kind::public_ip, quota.public_addresses},
      {"StandardSkuPublicIPAddresses",
       "Public IP Addresses - Standard",
       kind::public_ip,
       quota.public_addresses},
      {"ApplicationSecurityGroups",
       "Application Security Groups",
       kind::application_group,
       network_limit(c.world, "applicationSecurityGroups")},
      {"NetworkInterfaces",
       "Network Interfaces",
       kind::network_interface,
       network_limit(c.world, "networkInterfaces")},
  };
  json value = json::array();
  for (const auto& row : rows) {
    json item;
    // This provider writes its counts as floats.
    item.set("currentValue", json::number(std::to_string(count(c, row.counted, location)) + ".0"));
    item.set(
        "id",
        "/subscriptions/" + c.subscription_id() + "/providers/Microsoft.Network/locations/" +
            std::string(location) + "/usages/" + std::string(row.name)
    );
    item.set("limit", json::number(std::to_string(row.limit) + ".0"));
    item.set("name", json::object({{"localizedValue", row.text}, {"value", row.name}}));
    item.set("unit", "Count");
    value.push_back(item);
  }
  return json_reply(200, json::object({{"value", value}}));
}

} // namespace siteagent::azure_emulator
