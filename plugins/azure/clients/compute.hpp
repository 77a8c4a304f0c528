// SPDX-License-Identifier: MIT
// Microsoft.Compute: machines, sizes, images, quota.
#pragma once

#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/arm/paging.hpp"
#include "plugins/azure/arm/pipeline.hpp"
#include "plugins/azure/resource_id.hpp"
#include "plugins/azure/settings.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure {

// A size of a location, from the SKU list.
struct size_info {
  std::string name;
  std::string family;
  std::int64_t cores = 0;   // what counts against quota
  std::string generations;  // "V1,V2"; empty: unknown
  std::string architecture; // "x64"; empty: unknown
  std::string restriction;  // why this subscription cannot use it here; empty: it can
};

// A size as metering sees it, from the size list. MiB.
struct size_figures {
  std::int64_t cores = 0;
  std::int64_t memory_mib = 0;
  std::int64_t os_disk_mib = 0; // the largest OS disk the size takes
  std::int64_t temporary_disk_mib = 0;
};

struct quota_line {
  std::int64_t used = 0;
  std::int64_t limit = -1; // -1: none
};

struct image_info {
  std::string version;
  std::string generation;    // "V1", "V2" or ""
  std::string architecture;  // "x64", "Arm64" or ""
  base::json plan;           // object when the image needs one
  std::int64_t disk_gib = 0; // the smallest OS disk for it; 0: unknown
};

using sizes_by_name = std::map<std::string, size_info>;      // keys in lower case
using figures_by_name = std::map<std::string, size_figures>; // keys in lower case
using quota_by_name = std::map<std::string, quota_line>;     // keys in lower case

// [any thread]
class compute_client {
public:
  compute_client(const arm::pipeline& arm, std::string subscription)
      : arm_(arm), subscription_(std::move(subscription)) {}

  // nullopt: positively absent.
  base::result<std::optional<base::json>>
  machine(const arm::scope& call, const resource_id& id) const;
  base::result<base::json> instance_view(const arm::scope& call, const resource_id& id) const;
  // Every machine of the subscription, page by page: the models, and (apart) what they are doing.
  base::result<void> each_machine(const arm::scope& call, const arm::taker& take) const;
  base::result<void> each_machine_state(const arm::scope& call, const arm::taker& take) const;
  base::result<void> each_disk(const arm::scope& call, const arm::taker& take) const;

  base::result<sizes_by_name> sizes(const arm::scope& call, std::string_view location) const;
  base::result<figures_by_name> figures(const arm::scope& call, std::string_view location) const;
  base::result<quota_by_name> quota(const arm::scope& call, std::string_view location) const;

  // Resolves "latest". `invalid`, reason image, when there is no such image in that location.
  base::result<image_info>
  image(const arm::scope& call, std::string_view location, const image_reference& image) const;

private:
  std::string in_location(std::string_view location, std::string_view rest) const;
  std::string list_of(std::string_view type, std::string_view version) const;
  base::result<std::string> latest_version(
      const arm::scope& call, std::string_view location, const image_reference& image
  ) const;
  base::error no_such_image(
      const arm::scope& call, std::string_view location, const image_reference& image
  ) const;

  const arm::pipeline& arm_;
  std::string subscription_;
};

// Compares dotted versions number by number.
bool version_less(std::string_view a, std::string_view b);

// "running" of the status "PowerState/running" in a list of statuses; nullopt: none.
std::optional<std::string> power_of(const base::json& statuses);

// The time of the status "ProvisioningState/..."; nullopt: none.
std::optional<base::wall_time> changed_of(const base::json& statuses);

} // namespace siteagent::azure
