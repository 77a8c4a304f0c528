// SPDX-License-Identifier: MIT
// The public address of each fleet host, as the product's site sees it.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/fleet/channel.hpp"
#include "core/fleet/registry_document.hpp"

#include <chrono>
#include <map>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

// An https origin without credentials, query or fragment; plain http to loopback only. Without a
// trailing slash. `invalid` naming api.url and the rule.
base::result<std::string> check_api_url(std::string_view text);

// The body of an answer: one IPv4 literal, or an object whose `address` is one; globally routable
// unless allow_private. `refused` quoting what came.
base::result<std::string> parse_egress_answer(std::string_view body, bool allow_private);

struct egress_failure {
  std::string host;
  base::error cause;
};

struct egress_measurement {
  std::map<std::string, egress_record> records; // of those that answered
  std::vector<egress_failure> failures;         // in the order of `hosts`
};

// Asks every host, eight at a time, whatever fails.
struct egress_question {
  std::string api_url; // checked
  std::vector<std::string> hosts;
  bool allow_private = false;
  std::chrono::milliseconds cap{30'000};
};

egress_measurement measure_egress(
    channel& c,
    const base::json& registry,
    const egress_question& q,
    const base::clock& clock,
    std::stop_token stop = {}
);

// This machine's own address, asked the same way; nullopt when it cannot be told.
std::optional<std::string>
measure_own_egress(runner& programs, const egress_question& q, std::stop_token stop = {});

// Distinct addresses in numeric order.
std::vector<std::string> addresses_of(const std::map<std::string, egress_record>& records);

} // namespace siteagent::fleet
