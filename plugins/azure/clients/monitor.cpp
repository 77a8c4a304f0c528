// SPDX-License-Identifier: MIT
#include "plugins/azure/clients/monitor.hpp"

#include "core/net/url.hpp"

namespace siteagent::azure {

namespace {

constexpr std::string_view events_version = "2015-04-01";
// What is read of an event: the log shows a lot more.
constexpr std::string_view members =
    "id,eventDataId,eventTimestamp,operationId,operationName,status,resourceId,properties";

} // namespace

base::result<void> monitor_client::each_compute_event(
    const arm::scope& call, base::wall_time since, const arm::taker& take
) const {
  const std::string filter = "eventTimestamp ge '" + base::to_rfc3339(since) +
                             "' and resourceProvider eq 'Microsoft.Compute'";
  return arm::read_each(
      arm_,
      call,
      "/subscriptions/" + net::encode(subscription_) +
          "/providers/Microsoft.Insights/eventtypes/management/values?api-version=" +
          std::string(events_version) + "&$filter=" + net::encode(filter) +
          "&$select=" + net::encode(members),
      "read the activity log",
      take
  );
}

} // namespace siteagent::azure
