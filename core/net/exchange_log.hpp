// SPDX-License-Identifier: MIT
// One line per HTTP exchange, for debug logs. Redacted by an allow-list that the caller gives: what
// is not named in it never appears, and bodies never do.
#pragma once

#include "core/base/clock.hpp"
#include "core/net/transport.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace siteagent::net {

struct exchange_log {
  // Takes one line; [any thread], the caller's.
  std::function<void(const std::string& line)> write;
  // Lines are made only while this is true; empty = always. [any thread]
  std::function<bool()> is_wanted = {};
  // Headers of request and answer whose values may be shown, lower case.
  std::vector<std::string> headers = {};
  // Query parameters whose values may be shown, compared without case; other values read "*".
  std::vector<std::string> query_keys = {};
  const base::clock* clock = &base::real_clock(); // must outlive the transport
};

// "PUT https://host/path?api-version=2024-07-01&token=* -> 201 in 35 ms x-request-id=abc", or the
// error's name in place of the status. The inner transport does the work.
std::unique_ptr<transport> log_exchanges(std::unique_ptr<transport> inner, exchange_log log);

} // namespace siteagent::net
