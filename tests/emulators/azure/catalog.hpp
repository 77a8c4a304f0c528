// SPDX-License-Identifier: MIT
// What the emulated cloud offers: subscriptions, principals, locations, sizes, images, quotas.
// Values only; a seed replaces them key by key.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

struct subscription_entry {
  std::string id;
  std::string tenant;
  std::string name = "Emulated subscription";
  std::string state = "Enabled";
  std::string quota_id = "PayAsYouGo_2014-09-01";
  std::string spending_limit = "Off";
};

struct application_entry {
  std::string tenant;
  std::string client_id;
  std::string secret;
  std::string object_id;
  bool secret_expired = false;
};

struct location_entry {
  std::string name;
  std::string display;
  std::string geography;
  bool has_zones = true;
};

struct size_entry {
  std::string name;
  std::string family;
  std::int64_t cores = 1;
  std::string memory_gib = "1"; // decimal text, as the SKU list shows it
  std::int64_t memory_mib = 1024;
  std::int64_t temporary_disk_mib = 0;
  std::int64_t data_disks = 4;
  std::int64_t interfaces = 2;
  std::string generations = "V1,V2";
  std::string architecture = "x64";
  bool premium_storage = true;
  bool accelerated_networking = false;
  bool trusted_launch = true;
  std::vector<std::string> locations; // empty = all
};

struct image_entry {
  std::string publisher;
  std::string offer;
  std::string sku;
  std::string version;
  std::string os = "Linux";
  std::string generation = "V2";
  std::string architecture = "x64";
  std::int64_t size_gib = 30;
  bool trusted_launch = true;
  base::json plan;                    // null or {publisher, name, product}
  std::vector<std::string> locations; // empty = all
};

// A size that cannot be had: reason "NotAvailableForSubscription" or "QuotaId" (the SKU list says
// so and a create is SkuNotAvailable), or "AllocationFailed" (only the operation fails).
struct restriction_entry {
  std::string size;     // "*" = every size
  std::string location; // "*" = everywhere
  std::string reason;
};

// PUTs refused by an Azure Policy assignment.
struct policy_entry {
  std::string name;
  std::string type;     // full resource type, "*" = all
  std::string location; // "" = everywhere
};

struct quota_table {
  std::int64_t cores = 10'000;        // per region
  std::int64_t family_cores = 10'000; // per region and family
  std::int64_t public_addresses = 10'000;
  std::map<std::string, std::int64_t> families; // lower-case family -> limit
};

struct catalog {
  std::vector<subscription_entry> subscriptions;
  std::vector<application_entry> applications;
  std::vector<location_entry> locations;
  std::vector<size_entry> sizes;
  std::vector<image_entry> images;
  std::vector<restriction_entry> restrictions;
  std::vector<policy_entry> policies;
  quota_table quotas;
  std::map<std::string, quota_table> location_quotas; // by location name
  std::map<std::string, std::string> providers;       // namespace -> registration state

  const subscription_entry* find_subscription(std::string_view id) const;
  const location_entry* find_location(std::string_view normalized) const;
  const size_entry* find_size(std::string_view name, std::string_view location) const;
  // `version` exact or "latest" (the highest); nullptr: no such image there.
  const image_entry* find_image(
      std::string_view publisher,
      std::string_view offer,
      std::string_view sku,
      std::string_view version,
      std::string_view location
  ) const;
  const quota_table& quota_at(std::string_view location) const;
  std::int64_t family_limit(std::string_view family, std::string_view location) const;
  bool is_restricted(std::string_view size, std::string_view location, bool capacity_only) const;
  bool is_tenant(std::string_view tenant) const;
  std::string provider_state(std::string_view provider) const; // "" = unknown namespace
};

catalog default_catalog();

// Applies one key of a seed document ("subscriptions", "sizes", ...); false: not a catalog key.
base::result<bool> seed_catalog(catalog& c, std::string_view key, const base::json& value);

// True when `a` is a lower version than `b` ("22.04.202401010" style, compared part by part).
bool version_less(std::string_view a, std::string_view b);

} // namespace siteagent::azure_emulator
