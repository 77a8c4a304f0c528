// SPDX-License-Identifier: MIT
// What the emulated cloud offers: subscriptions, principals, locations, sizes, images, quotas.
// Values only; a seed replaces them key by key.
#pragma once

#include "principals.hpp"

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
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
  std::map<std::string, std::string> providers = {}; // lower-case namespace -> other state
};

// One role assignment of a principal, already resolved to its actions.
struct permission_entry {
  std::string scope = "/";          // "/", a subscription, a group or an object
  std::vector<std::string> actions; // "*", "Microsoft.Compute/*/read"
  std::vector<std::string> not_actions;
  std::int64_t effective_after_s = 0; // how long after the seed the assignment takes effect
  base::wall_time effective_from;
};

struct application_entry {
  std::string tenant;
  std::string client_id;
  std::string secret;
  std::string object_id;
  bool secret_expired = false;
  std::optional<std::vector<permission_entry>> permissions = {}; // nullopt = everything
  login_part login = {};
};

struct location_entry {
  std::string name;
  std::string display;
  std::string geography;
  bool has_zones = true;
  std::string physical = {};  // the city or state
  std::string longitude = {}; // decimal text; "" = not known
  std::string latitude = {};
  std::string pair = {}; // its paired region; "" = none
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
  bool spot = true;                   // may be had as a Spot machine
  std::vector<std::string> locations; // empty = all
};

struct image_entry {
  std::string id; // of a custom or gallery image, which has no publisher; "" = a platform image
  std::string publisher;
  std::string offer;
  std::string sku;
  std::string version;
  std::string os = "Linux";
  std::string generation = "V2";
  std::string architecture = "x64";
  std::int64_t size_gib = 30;
  bool trusted_launch = true;
  std::string state = "Active";       // ScheduledForDeprecation, Deprecated
  base::json plan;                    // null or {publisher, name, product}
  std::vector<std::string> locations; // empty = all
};

// A size that cannot be had: reason "NotAvailableForSubscription" or "QuotaId" (the SKU list says
// so and a create is SkuNotAvailable), or "AllocationFailed" (only the operation fails).
struct restriction_entry {
  std::string size;     // "*" = every size
  std::string location; // "*" = everywhere
  std::string reason;
  std::vector<std::string> zones = {}; // empty = the whole location
};

// An Azure Policy assignment. deny: a PUT or PATCH that violates any of the conditions is refused,
// and without conditions every one of that type is. append, modify: its tags are added.
struct policy_entry {
  std::string name;                           // shown as the display name
  std::string effect = "deny";                // deny, append, modify
  std::string scope;                          // "" = the whole subscription
  std::string type = "*";                     // full resource type, "*" = all
  std::string location;                       // a denied location
  std::vector<std::string> allowed_locations; // empty = no condition, as below
  std::vector<std::string> allowed_sizes;
  std::vector<std::string> denied_sizes;
  std::string required_tag;
  base::json tags;
};

struct quota_table {
  std::int64_t cores = 10'000;              // per region
  std::int64_t family_cores = 10'000;       // per region and family
  std::int64_t low_priority_cores = 10'000; // of Spot machines, per region
  std::int64_t public_addresses = 10'000;
  std::map<std::string, std::int64_t> families; // lower-case family -> limit
};

struct catalog {
  std::vector<subscription_entry> subscriptions;
  std::vector<application_entry> applications;
  login_settings login;
  std::vector<location_entry> locations;
  std::vector<size_entry> sizes;
  std::vector<image_entry> images;
  std::vector<image_entry> own_images; // custom and gallery images
  std::vector<restriction_entry> restrictions;
  std::vector<policy_entry> policies;
  std::vector<std::string> denied_locations; // closed to this subscription by Azure itself
  quota_table quotas;
  std::map<std::string, quota_table> location_quotas; // by location name
  std::map<std::string, std::string> providers;       // namespace -> registration state

  const subscription_entry* find_subscription(std::string_view id) const;
  const application_entry* find_principal(std::string_view object_id) const;
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
  // A custom image, a gallery image version, or the gallery image (its highest version).
  const image_entry* find_own_image(std::string_view id, std::string_view location) const;
  const quota_table& quota_at(std::string_view location) const;
  std::int64_t family_limit(std::string_view family, std::string_view location) const;
  // `zone`: of the machine, "" = none. A restriction of other zones does not count.
  bool is_restricted(
      std::string_view size, std::string_view location, std::string_view zone, bool capacity_only
  ) const;
  bool is_tenant(std::string_view tenant) const;
  std::string provider_state(std::string_view provider) const; // "" = unknown namespace
};

catalog default_catalog();

// Applies one key of a seed document ("subscriptions", "sizes", ...); false: not a catalog key.
base::result<bool> seed_catalog(catalog& c, std::string_view key, const base::json& value);

// True when `a` is a lower version than `b` ("22.04.202401010" style, compared part by part).
bool version_less(std::string_view a, std::string_view b);

} // namespace siteagent::azure_emulator
