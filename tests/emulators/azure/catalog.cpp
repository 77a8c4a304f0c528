// SPDX-License-Identifier: MIT
#include "catalog.hpp"

#include "ids.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;

namespace {

constexpr std::string_view default_subscription = "11111111-1111-1111-1111-111111111111";
constexpr std::string_view default_tenant = "22222222-2222-2222-2222-222222222222";
constexpr std::string_view default_client = "33333333-3333-3333-3333-333333333333";
constexpr std::string_view default_object = "44444444-4444-4444-4444-444444444444";

size_entry size_of(
    std::string_view name,
    std::string_view family,
    std::int64_t cores,
    std::int64_t memory,
    std::int64_t temporary_mib,
    std::int64_t data_disks
) {
  size_entry s;
  s.name = name;
  s.family = family;
  s.cores = cores;
  s.memory_gib = std::to_string(memory);
  s.memory_mib = memory * 1024;
  s.temporary_disk_mib = temporary_mib;
  s.data_disks = data_disks;
  s.interfaces = cores >= 8 ? 4 : 2;
  s.accelerated_networking = !base::equals_ignoring_case(family, "standardBSFamily");
  return s;
}

image_entry image_of(
    std::string_view publisher,
    std::string_view offer,
    std::string_view sku,
    std::string_view version,
    std::string_view generation
) {
  image_entry i;
  i.publisher = publisher;
  i.offer = offer;
  i.sku = sku;
  i.version = version;
  i.generation = generation;
  i.trusted_launch = generation == "V2";
  return i;
}

bool offered_in(const std::vector<std::string>& locations, std::string_view location) {
  return locations.empty() ||
         std::any_of(locations.begin(), locations.end(), [&](const std::string& l) {
           return equals_ignoring_case(l, location);
         });
}

bool matches(std::string_view pattern, std::string_view text) {
  return pattern == "*" || equals_ignoring_case(pattern, text);
}

} // namespace

bool version_less(std::string_view a, std::string_view b) {
  const auto left = base::split(a, '.');
  const auto right = base::split(b, '.');
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const std::string_view x = i < left.size() ? left[i] : std::string_view();
    const std::string_view y = i < right.size() ? right[i] : std::string_view();
    if (x.size() != y.size()) { // digits without leading zeros: the longer is the larger
      return x.size() < y.size();
    }
    if (x != y) {
      return x < y;
    }
  }
  return false;
}

catalog default_catalog() {
  catalog c;
  c.subscriptions.push_back(
      {std::string(default_subscription), std::string(default_tenant), "Emulated subscription"}
  );
  c.applications.push_back(
      {std::string(default_tenant),
       std::string(default_client),
       "emulator-secret",
       std::string(default_object)}
  );
  c.locations = {
      {"westeurope", "West Europe", "Europe", true, "Netherlands", "4.9", "52.3667", "northeurope"},
      {"northeurope",
       "North Europe",
       "Europe",
       true,
       "Ireland",
       "-6.2597",
       "53.3478",
       "westeurope"},
      {"eastus", "East US", "US", true, "Virginia", "-79.8164", "37.3719", "westus"},
      {"westus2", "West US 2", "US", true, "Washington", "-119.852", "47.233", "westcentralus"},
  };
  c.sizes = {
      size_of("Standard_B1s", "standardBSFamily", 1, 1, 4096, 2),
      size_of("Standard_B2s", "standardBSFamily", 2, 4, 8192, 4),
      size_of("Standard_B2ms", "standardBSFamily", 2, 8, 16384, 4),
      size_of("Standard_D2s_v3", "standardDSv3Family", 2, 8, 16384, 4),
      size_of("Standard_D2s_v5", "standardDSv5Family", 2, 8, 0, 4),
      size_of("Standard_D4s_v5", "standardDSv5Family", 4, 16, 0, 8),
      size_of("Standard_D8s_v5", "standardDSv5Family", 8, 32, 0, 16),
      size_of("Standard_F2s_v2", "standardFSv2Family", 2, 4, 16384, 4),
      size_of("Standard_F4s_v2", "standardFSv2Family", 4, 8, 32768, 8),
      size_of("Standard_F16s_v2", "standardFSv2Family", 16, 32, 131072, 32),
  };
  const std::string jammy = "0001-com-ubuntu-server-jammy";
  c.images = {
      image_of("Canonical", jammy, "22_04-lts", "22.04.202601100", "V1"),
      image_of("Canonical", jammy, "22_04-lts-gen2", "22.04.202511050", "V2"),
      image_of("Canonical", jammy, "22_04-lts-gen2", "22.04.202601100", "V2"),
      image_of("Canonical", "ubuntu-24_04-lts", "server", "24.04.202601100", "V2"),
      image_of("Debian", "debian-12", "12", "0.20260112.2356", "V1"),
      image_of("Debian", "debian-12", "12-gen2", "0.20260112.2356", "V2"),
  };
  c.providers = {
      {"Microsoft.Authorization", "Registered"},
      {"Microsoft.Billing", "Registered"},
      {"Microsoft.Compute", "Registered"},
      {"Microsoft.Consumption", "Registered"},
      {"Microsoft.CostManagement", "Registered"},
      {"Microsoft.Insights", "Registered"},
      {"Microsoft.MarketplaceOrdering", "Registered"},
      {"Microsoft.Network", "Registered"},
      {"Microsoft.ResourceGraph", "Registered"},
      {"Microsoft.Resources", "Registered"},
      {"Microsoft.Storage", "Registered"},
  };
  return c;
}

const subscription_entry* catalog::find_subscription(std::string_view id) const {
  for (const auto& s : subscriptions) {
    if (equals_ignoring_case(s.id, id)) {
      return &s;
    }
  }
  return nullptr;
}

const application_entry* catalog::find_principal(std::string_view object_id) const {
  for (const auto& a : applications) {
    if (equals_ignoring_case(a.object_id, object_id)) {
      return &a;
    }
  }
  return nullptr;
}

const location_entry* catalog::find_location(std::string_view normalized) const {
  for (const auto& l : locations) {
    if (l.name == normalized) {
      return &l;
    }
  }
  return nullptr;
}

const size_entry* catalog::find_size(std::string_view name, std::string_view location) const {
  for (const auto& s : sizes) {
    if (equals_ignoring_case(s.name, name) && offered_in(s.locations, location)) {
      return &s;
    }
  }
  return nullptr;
}

const image_entry* catalog::find_image(
    std::string_view publisher,
    std::string_view offer,
    std::string_view sku,
    std::string_view version,
    std::string_view location
) const {
  const image_entry* best = nullptr;
  const bool latest = equals_ignoring_case(version, "latest");
  for (const auto& i : images) {
    if (!equals_ignoring_case(i.publisher, publisher) || !equals_ignoring_case(i.offer, offer) ||
        !equals_ignoring_case(i.sku, sku) || !offered_in(i.locations, location) ||
        (!latest && i.version != version)) {
      continue;
    }
    if (best == nullptr || version_less(best->version, i.version)) {
      best = &i;
    }
  }
  return best;
}

const image_entry* catalog::find_own_image(std::string_view id, std::string_view location) const {
  const image_entry* best = nullptr;
  const std::string versions = base::to_lower(std::string(id) + "/versions/");
  for (const auto& i : own_images) {
    const std::string own = base::to_lower(i.id);
    const bool fits = equals_ignoring_case(i.id, id) || own.rfind(versions, 0) == 0;
    if (!fits || !offered_in(i.locations, location)) {
      continue;
    }
    const auto version_of = [](const image_entry& e) { return e.id.substr(e.id.rfind('/') + 1); };
    if (best == nullptr || version_less(version_of(*best), version_of(i))) {
      best = &i;
    }
  }
  return best;
}

const quota_table& catalog::quota_at(std::string_view location) const {
  const auto it = location_quotas.find(std::string(location));
  return it == location_quotas.end() ? quotas : it->second;
}

std::int64_t catalog::family_limit(std::string_view family, std::string_view location) const {
  const auto& table = quota_at(location);
  const auto it = table.families.find(base::to_lower(family));
  return it == table.families.end() ? table.family_cores : it->second;
}

bool catalog::is_restricted(
    std::string_view size, std::string_view location, std::string_view zone, bool capacity_only
) const {
  return std::any_of(restrictions.begin(), restrictions.end(), [&](const restriction_entry& r) {
    const bool zone_fits =
        r.zones.empty() || std::find(r.zones.begin(), r.zones.end(), zone) != r.zones.end();
    return zone_fits && matches(r.size, size) && matches(r.location, location) &&
           capacity_only == equals_ignoring_case(r.reason, "AllocationFailed");
  });
}

bool catalog::is_tenant(std::string_view tenant) const {
  return std::any_of(applications.begin(), applications.end(), [&](const application_entry& a) {
    return equals_ignoring_case(a.tenant, tenant);
  });
}

std::string catalog::provider_state(std::string_view provider) const {
  for (const auto& [name, state] : providers) {
    if (equals_ignoring_case(name, provider)) {
      return state;
    }
  }
  return "";
}

} // namespace siteagent::azure_emulator
