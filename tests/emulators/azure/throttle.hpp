// SPDX-License-Identifier: MIT
// Token buckets of the ARM front door and of the providers behind it.
#pragma once

#include "context.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

class throttle {
public:
  // Off (the default): buckets are counted for the headers, nothing is refused.
  void set_enforced(bool on) { enforced_ = on; }

  void clear() { buckets_.clear(); }

  // The ARM front door; call before the request is routed.
  std::optional<reply> front_door(
      const net::server_request& http,
      std::string_view subscription,
      std::string_view principal,
      base::wall_time now
  );
  // The same for requests that belong to no subscription.
  std::optional<reply> tenant_door(
      const net::server_request& http,
      std::string_view tenant,
      std::string_view principal,
      base::wall_time now
  );
  // A provider's own limits, by method, path and the region of the object.
  std::optional<reply> provider(
      const net::server_request& http,
      std::string_view subscription,
      std::string_view region,
      base::wall_time now
  );
  // Resource Graph: 15 queries in 5 s. Its headers are added in any case.
  std::optional<reply> graph(std::string_view principal, base::wall_time now);
  // x-ms-ratelimit-remaining-* of the answer to the request that was asked about last.
  void add_headers(
      const net::server_request& http, std::string_view subscription, net::header_list& headers
  );

private:
  struct bucket {
    double level = 0;
    double size = 0;
    double per_second = 0;
    base::wall_time filled;
  };

  // Takes one token; nullopt = fine, else the seconds until one is there.
  std::optional<int>
  take(const std::string& name, double size, double per_second, base::wall_time now);
  double level(const std::string& name, double fallback) const;

  bool enforced_ = false;
  // Of the last request: the caller's bucket and its scope, what compute counted, and what was
  // left of the graph's quota.
  std::string own_bucket_;
  std::string own_scope_;
  std::string resource_text_;
  std::string graph_text_;
  std::map<std::string, bucket> buckets_;
};

} // namespace siteagent::azure_emulator
