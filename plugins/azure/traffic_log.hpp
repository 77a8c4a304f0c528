// SPDX-License-Identifier: MIT
// Debug lines of the traffic. Polling URLs carry signatures and tags may be private: only these.
#pragma once

#include "core/net/exchange_log.hpp"

#include <sagent/cpp/plugin.hpp>

namespace siteagent::azure {

inline net::exchange_log traffic_log(const sagent::host& host) {
  net::exchange_log log;
  log.write = [host](const std::string& line) { host.log(SAGENT_LOG_DEBUG, line); };
  log.is_wanted = [host] { return host.is_log_enabled(SAGENT_LOG_DEBUG); };
  log.headers = {"x-ms-request-id", "x-ms-correlation-request-id", "retry-after"};
  log.query_keys = {"api-version", "$expand", "$top", "statusOnly", "forceDeletion"};
  return log;
}

} // namespace siteagent::azure
