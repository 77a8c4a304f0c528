// SPDX-License-Identifier: MIT
// Quotas of cores, and sizes that cannot be had.
#include "machine.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;

namespace {

reply refuse(std::string_view code, const std::string& message) {
  return error_reply(409, {std::string(code), message});
}

} // namespace

namespace {

std::int64_t count_cores(
    const world& w,
    std::string_view subscription,
    std::string_view location,
    std::string_view family,
    bool spot
) {
  std::int64_t total = 0;
  w.walk(prefix_of(subscription, ""), "", [&](const std::string&, const resource& r) {
    if (r.path.kind != kind::virtual_machine || r.location != location || is_spot(r.body) != spot) {
      return true;
    }
    const auto* size = w.offer.find_size(
        r.body.at({"properties", "hardwareProfile", "vmSize"}).string_or(""), r.location
    );
    if (size != nullptr && (family.empty() || equals_ignoring_case(size->family, family))) {
      total += size->cores;
    }
    return true;
  });
  return total;
}

} // namespace

std::string allocation_failure(const resource& machine) {
  return machine.body["zones"].size() > 0 ? "ZonalAllocationFailed" : "AllocationFailed";
}

std::int64_t used_cores(
    const world& w,
    std::string_view subscription,
    std::string_view location,
    std::string_view family
) {
  return count_cores(w, subscription, location, family, false);
}

std::int64_t
used_spot_cores(const world& w, std::string_view subscription, std::string_view location) {
  return count_cores(w, subscription, location, "", true);
}

std::optional<reply> check_cores(
    const context& c,
    const size_entry& size,
    std::string_view location,
    std::int64_t cores,
    bool spot
) {
  if (!c.world.quotas_checked) {
    return std::nullopt;
  }

  struct limit_row {
    std::string what;
    std::int64_t limit;
    std::int64_t used;
  };

  const auto& quota = c.world.offer.quota_at(location);
  const std::vector<limit_row> spot_rows = {
      {"LowPriorityCores",
       quota.low_priority_cores,
       used_spot_cores(c.world, c.subscription_id(), location)},
  };
  const std::vector<limit_row> regular_rows = {
      {"Total Regional Cores", quota.cores, used_cores(c.world, c.subscription_id(), location, "")},
      {size.family + " Cores",
       c.world.offer.family_limit(size.family, location),
       used_cores(c.world, c.subscription_id(), location, size.family)},
  };
  for (const auto& row : spot ? spot_rows : regular_rows) {
    if (cores <= 0 || row.used + cores <= row.limit) {
      continue;
    }
    return refuse(
        "OperationNotAllowed",
        "Operation could not be completed as it results in exceeding approved " + row.what +
            " quota. Additional details - Deployment Model: Resource Manager, Location: " +
            std::string(location) + ", Current Limit: " + std::to_string(row.limit) +
            ", Current Usage: " + std::to_string(row.used) +
            ", Additional Required: " + std::to_string(cores) +
            ", (Minimum) New Limit Required: " + std::to_string(row.used + cores) +
            ". Setup Alerts when Quota reaches threshold. Learn more at "
            "https://aka.ms/quotamonitoringalerting . Submit a request for Quota increase at "
            "https://aka.ms/ProdportalCRP/ by specifying parameters listed in the 'Details' "
            "section "
            "for deployment to succeed."
    );
  }
  return std::nullopt;
}

std::optional<reply> check_restriction(
    const context& c, const size_entry& size, std::string_view location, std::string_view zone
) {
  if (!c.world.offer.is_restricted(size.name, location, zone, false)) {
    return std::nullopt;
  }
  return refuse(
      "SkuNotAvailable",
      "The requested VM size for resource 'Following SKUs have failed for Capacity Restrictions: " +
          size.name + "' is currently not available in location '" + std::string(location) + "'" +
          (zone.empty() ? std::string() : " zone '" + std::string(zone) + "'") +
          ". Please try another size or deploy to a different location or different zone. See "
          "https://aka.ms/azureskunotavailable for details."
  );
}

} // namespace siteagent::azure_emulator
