// SPDX-License-Identifier: MIT
// Subscriptions, locations, sizes, SKUs and providers.
#include "handlers.hpp"
#include "permissions.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

json subscription_body(const subscription_entry& s) {
  return json::object(
      {{"id", "/subscriptions/" + s.id},
       {"authorizationSource", "RoleBased"},
       {"managedByTenants", json::array()},
       {"subscriptionId", s.id},
       {"tenantId", s.tenant},
       {"displayName", s.name},
       {"state", s.state},
       {"subscriptionPolicies",
        json::object(
            {{"locationPlacementId", "Public_2014-09-01"},
             {"quotaId", s.quota_id},
             {"spendingLimit", s.spending_limit}}
        )}}
  );
}

json location_body(const std::string& subscription, const location_entry& l) {
  json pair = json::array();
  if (!l.pair.empty()) {
    pair.push_back(json::object(
        {{"name", l.pair}, {"id", "/subscriptions/" + subscription + "/locations/" + l.pair}}
    ));
  }
  json body = json::object(
      {{"id", "/subscriptions/" + subscription + "/locations/" + l.name},
       {"name", l.name},
       {"type", "Region"},
       {"displayName", l.display},
       {"regionalDisplayName", "(" + l.geography + ") " + l.display},
       {"metadata",
        json::object(
            {{"regionType", "Physical"},
             {"regionCategory", "Recommended"},
             {"geographyGroup", l.geography},
             {"geography", l.geography},
             {"longitude", l.longitude},
             {"latitude", l.latitude},
             {"physicalLocation", l.physical.empty() ? l.display : l.physical},
             {"pairedRegion", pair}}
        )}}
  );
  if (l.has_zones) {
    json zones = json::array();
    for (const auto* zone : {"1", "2", "3"}) {
      zones.push_back(json::object(
          {{"logicalZone", zone}, {"physicalZone", l.name + "-az" + std::string(zone)}}
      ));
    }
    body.set("availabilityZoneMappings", zones);
  }
  return body;
}

json capability(std::string_view name, std::string_view value) {
  return json::object({{"name", name}, {"value", value}});
}

std::string truth(bool value) {
  return value ? "True" : "False";
}

json capabilities_of(const size_entry& s) {
  return json::array(
      {capability("MaxResourceVolumeMB", std::to_string(s.temporary_disk_mib)),
       capability("OSVhdSizeMB", "1047552"),
       capability("vCPUs", std::to_string(s.cores)),
       capability("HyperVGenerations", s.generations),
       capability("MemoryGB", s.memory_gib),
       capability("MaxDataDiskCount", std::to_string(s.data_disks)),
       capability("CpuArchitectureType", s.architecture),
       capability("PremiumIO", truth(s.premium_storage)),
       capability("vCPUsAvailable", std::to_string(s.cores)),
       capability("vCPUsPerCore", s.cores > 1 ? "2" : "1"),
       capability("AcceleratedNetworkingEnabled", truth(s.accelerated_networking)),
       capability("MaxNetworkInterfaces", std::to_string(s.interfaces)),
       capability("EphemeralOSDiskSupported", "True"),
       capability("EncryptionAtHostSupported", "True"),
       capability("LowPriorityCapable", truth(s.spot)),
       capability("CapacityReservationSupported", "True"),
       capability("TrustedLaunchDisabled", truth(!s.trusted_launch))}
  );
}

json restrictions_of(const world& w, const size_entry& s, const std::string& location) {
  json list = json::array();
  for (const auto& r : w.offer.restrictions) {
    const bool size_fits = r.size == "*" || equals_ignoring_case(r.size, s.name);
    const bool place_fits = r.location == "*" || equals_ignoring_case(r.location, location);
    // Lack of capacity is not announced.
    if (!size_fits || !place_fits || equals_ignoring_case(r.reason, "AllocationFailed")) {
      continue;
    }
    json zones = json::array();
    for (const auto& zone : r.zones) {
      zones.push_back(zone);
    }
    list.push_back(json::object(
        {{"type", r.zones.empty() ? "Location" : "Zone"},
         {"values", json::array({location})},
         {"restrictionInfo",
          json::object({{"locations", json::array({location})}, {"zones", zones}})},
         {"reasonCode", r.reason}}
    ));
  }
  return list;
}

json sku_body(const world& w, const size_entry& s, const location_entry& l) {
  json zones = json::array();
  if (l.has_zones) {
    zones = json::array({"1", "2", "3"});
  }
  const std::string prefix = "Standard_";
  return json::object(
      {{"resourceType", "virtualMachines"},
       {"name", s.name},
       {"tier", "Standard"},
       {"size", s.name.rfind(prefix, 0) == 0 ? s.name.substr(prefix.size()) : s.name},
       {"family", s.family},
       {"locations", json::array({l.name})},
       {"locationInfo",
        json::array(
            {json::object({{"location", l.name}, {"zones", zones}, {"zoneDetails", json::array()}})}
        )},
       {"capabilities", capabilities_of(s)},
       {"restrictions", restrictions_of(w, s, l.name)}}
  );
}

json disk_sku(std::string_view name, std::string_view tier, const location_entry& l) {
  return json::object(
      {{"resourceType", "disks"},
       {"name", name},
       {"tier", tier},
       {"size", "P6"},
       {"locations", json::array({l.name})},
       {"locationInfo",
        json::array({json::object({{"location", l.name}, {"zones", json::array()}})})},
       {"capabilities", json::array()},
       {"restrictions", json::array()}}
  );
}

json plain_sku(
    std::string_view type, std::string_view name, const json& capabilities, const location_entry& l
) {
  json body = json::object({{"resourceType", type}, {"name", name}});
  if (type == "snapshots") {
    body.set("tier", name.substr(0, name.find('_')));
  }
  body.set("locations", json::array({l.name}));
  json zones = json::array();
  if (l.has_zones && type == "snapshots") {
    zones = json::array({"1", "2", "3"});
  }
  body.set("locationInfo", json::array({json::object({{"location", l.name}, {"zones", zones}})}));
  body.set("capabilities", capabilities);
  body.set("restrictions", json::array());
  return body;
}

} // namespace

reply list_subscriptions(context& c) {
  json value = json::array();
  for (const auto& s : c.world.offer.subscriptions) {
    if (may_see(c, "/subscriptions/" + s.id)) {
      value.push_back(subscription_body(s));
    }
  }
  const auto count = value.size();
  return json_reply(
      200,
      json::object(
          {{"value", value}, {"count", json::object({{"type", "Total"}, {"value", count}})}}
      )
  );
}

reply get_subscription(context& c) {
  return json_reply(200, subscription_body(*c.subscription));
}

reply list_tenants(context& c) {
  json value = json::array();
  std::string last;
  for (const auto& s : c.world.offer.subscriptions) {
    if (s.tenant != last) {
      value.push_back(json::object({{"id", "/tenants/" + s.tenant}, {"tenantId", s.tenant}}));
      last = s.tenant;
    }
  }
  return json_reply(200, json::object({{"value", value}}));
}

reply list_locations(context& c) {
  json value = json::array();
  for (const auto& l : c.world.offer.locations) {
    value.push_back(location_body(c.subscription_id(), l));
  }
  return json_reply(200, json::object({{"value", value}}));
}

reply list_skus(context& c) {
  // Only "location eq '...'" filters, as in the real service; anything else lists everything.
  std::string wanted;
  const std::string filter = c.http.parameter("$filter");
  const auto from = filter.find('\'');
  const auto to = filter.rfind('\'');
  if (base::to_lower(filter).find("location eq") != std::string::npos && from < to) {
    wanted = normalized_location(filter.substr(from + 1, to - from - 1));
  }
  json value = json::array();
  for (const auto& l : c.world.offer.locations) {
    if (!wanted.empty() && l.name != wanted) {
      continue;
    }
    value.push_back(disk_sku("Premium_LRS", "Premium", l));
    value.push_back(disk_sku("StandardSSD_LRS", "Standard", l));
    for (const auto* name : {"Standard_LRS", "Standard_ZRS", "Premium_LRS"}) {
      value.push_back(plain_sku("snapshots", name, json::array(), l));
    }
    for (const auto* name : {"Classic", "Aligned"}) {
      value.push_back(plain_sku(
          "availabilitySets",
          name,
          json::array({capability("MaximumPlatformFaultDomainCount", "3")}),
          l
      ));
    }
    for (const auto& s : c.world.offer.sizes) {
      if (c.world.offer.find_size(s.name, l.name) != nullptr) {
        value.push_back(sku_body(c.world, s, l));
      }
    }
  }
  return json_reply(200, json::object({{"value", value}}));
}

reply list_sizes(context& c, std::string_view location, std::string_view family) {
  json value = json::array();
  for (const auto& s : c.world.offer.sizes) {
    if (c.world.offer.find_size(s.name, location) == nullptr ||
        (!family.empty() && !equals_ignoring_case(s.family, family))) {
      continue;
    }
    value.push_back(json::object(
        {{"name", s.name},
         {"numberOfCores", s.cores},
         {"osDiskSizeInMB", 1047552},
         {"resourceDiskSizeInMB", s.temporary_disk_mib},
         {"memoryInMB", s.memory_mib},
         {"maxDataDiskCount", s.data_disks}}
    ));
  }
  return json_reply(200, json::object({{"value", value}}));
}

namespace {

constexpr std::string_view moves =
    "CrossResourceGroupResourceMove, CrossSubscriptionResourceMove, ";
constexpr std::string_view tracked = "SupportsTags, SupportsLocation";

// A type that has resources of its own names what they can and the version clients fall back to.
json type_entry(
    const world& w,
    std::string_view name,
    const std::vector<std::string>& versions,
    const std::string& capabilities
) {
  json locations = json::array();
  for (const auto& l : w.offer.locations) {
    locations.push_back(l.display);
  }
  json list = json::array();
  for (const auto& version : versions) {
    list.push_back(version);
  }
  json entry = json::object(
      {{"resourceType", name},
       {"locations", locations},
       {"apiVersions", list},
       {"capabilities", capabilities}}
  );
  if (capabilities != "None") {
    entry.set("defaultApiVersion", list[0]);
  }
  return entry;
}

std::string capabilities_of(const kind_info& info) {
  if (!info.child.empty()) {
    return "None";
  }
  std::string text(info.kind == kind::ssh_key ? std::string_view() : moves);
  if (info.kind == kind::virtual_machine) {
    text += "SystemAssignedResourceIdentity, ";
  }
  return text + std::string(tracked);
}

json resource_types(const world& w, std::string_view provider) {
  json list = json::array();
  const auto add = [&](std::string_view name, const char* version, std::string_view capabilities) {
    list.push_back(type_entry(w, name, {version}, std::string(capabilities)));
  };
  for (const auto& info : all_kinds()) {
    if (!equals_ignoring_case(info.provider, provider)) {
      continue;
    }
    std::string name(info.type);
    if (!info.child.empty()) {
      name += "/" + std::string(info.child);
    }
    list.push_back(type_entry(w, name, versions_of(info.kind), capabilities_of(info)));
  }
  if (provider == "Microsoft.Compute") {
    add("skus", "2021-07-01", "None");
    for (const auto* name :
         {"locations/operations",
          "locations/vmSizes",
          "locations/usages",
          "locations/publishers"}) {
      add(name, "2024-07-01", "None");
    }
  }
  if (provider == "Microsoft.Network") {
    for (const auto* name :
         {"locations/operations", "locations/operationResults", "locations/usages"}) {
      add(name, "2024-05-01", "None");
    }
  }
  if (provider == "Microsoft.Resources") {
    add("resourceGroups", "2021-04-01", tracked);
    add("deployments", "2021-04-01", "SupportsTags, SupportsExtension");
  }
  if (provider == "Microsoft.Authorization") {
    add("locks", "2020-05-01", "SupportsExtension");
  }
  return list;
}

// These answer without being registered.
bool is_free(std::string_view provider) {
  for (const auto* name :
       {"Microsoft.Authorization",
        "Microsoft.Billing",
        "Microsoft.Consumption",
        "Microsoft.CostManagement",
        "Microsoft.Resources"}) {
    if (equals_ignoring_case(provider, name)) {
      return true;
    }
  }
  return false;
}

json provider_body(const context& c, const std::string& name, const std::string& state) {
  return json::object(
      {{"id", "/subscriptions/" + c.subscription_id() + "/providers/" + name},
       {"namespace", name},
       {"authorizations", json::array()},
       {"resourceTypes", resource_types(c.world, name)},
       {"registrationState", state},
       {"registrationPolicy", is_free(name) ? "RegistrationFree" : "RegistrationRequired"}}
  );
}

reply unknown_namespace(std::string_view provider) {
  return gateway_error(
      404,
      {"InvalidResourceNamespace",
       "The resource namespace '" + std::string(provider) + "' is invalid."}
  );
}

} // namespace

reply list_providers(context& c) {
  json value = json::array();
  for (const auto& [name, state] : c.world.offer.providers) {
    value.push_back(
        provider_body(c, name, c.world.provider_state(c.subscription_id(), name, c.now()))
    );
  }
  return json_reply(200, json::object({{"value", value}}));
}

reply get_provider(context& c, std::string_view provider) {
  for (const auto& [name, state] : c.world.offer.providers) {
    if (equals_ignoring_case(name, provider)) {
      const json body =
          provider_body(c, name, c.world.provider_state(c.subscription_id(), name, c.now()));
      if (c.world.timing.ends_at_first_poll) {
        c.world.registrations[world::provider_key(c.subscription_id(), name)] =
            c.now(); // this was the poll
      }
      return json_reply(200, body);
    }
  }
  return unknown_namespace(provider);
}

reply register_provider(context& c, std::string_view provider, bool on) {
  for (const auto& [name, initial] : c.world.offer.providers) {
    if (equals_ignoring_case(name, provider)) {
      const std::string key = world::provider_key(c.subscription_id(), name);
      std::string state = c.world.provider_state(c.subscription_id(), name, c.now());
      if (state == (on ? "NotRegistered" : "Registered")) {
        state = on ? "Registering" : "Unregistering";
        c.world.registrations[key] = c.now() + c.world.registration_time();
      }
      c.world.provider_states[key] = state;
      return json_reply(200, provider_body(c, name, state));
    }
  }
  return unknown_namespace(provider);
}

} // namespace siteagent::azure_emulator
