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
  // A provider's own limits, by method and path.
  std::optional<reply>
  provider(const net::server_request& http, std::string_view subscription, base::wall_time now);
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
  std::string own_bucket_; // of the last request: the caller's, and what compute counted
  std::string resource_text_;
  std::map<std::string, bucket> buckets_;
};

} // namespace siteagent::azure_emulator
