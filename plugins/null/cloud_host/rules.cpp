// SPDX-License-Identifier: MIT
// Rules of a security group: which priority is free, what makes two of them the same.
#include "plugins/null/cloud_host/provider.hpp"

#include <set>

namespace siteagent::null {

namespace {

using base::json;

std::set<std::string> sources_of(const json& rule) {
  std::set<std::string> all;
  for (const json& each : rule["sources"].items()) {
    all.insert(each.string_or(""));
  }
  if (const auto lone = rule["source"].string()) {
    all.insert(std::string(*lone));
  }
  return all;
}

} // namespace

json admitting_rule(
    std::string_view name,
    const json& addresses,
    std::int64_t port,
    std::string_view destination,
    std::int64_t priority
) {
  json sources = json::array();
  for (const json& address : addresses.items()) {
    sources.push_back(address.string_or("") + "/32");
  }
  return json::object(
      {{"name", name},
       {"direction", "inbound"},
       {"access", "allow"},
       {"protocol", "tcp"},
       {"sources", sources},
       {"destination", destination},
       {"port", port},
       {"priority", priority}}
  );
}

bool is_same_rule(const json& a, const json& b) {
  for (const char* member :
       {"direction", "access", "protocol", "destination", "port", "priority"}) {
    if (!(a[member] == b[member])) {
      return false;
    }
  }
  return sources_of(a) == sources_of(b);
}

std::optional<std::int64_t> free_priority(const json& rules) {
  static constexpr std::int64_t first = 100;
  static constexpr std::int64_t last = 4096;
  std::set<std::int64_t> taken;
  for (const json& rule : rules.items()) {
    if (rule["direction"].string_or("") == "inbound") {
      taken.insert(rule["priority"].integer().value_or(0));
    }
  }
  for (std::int64_t candidate = first; candidate <= last; ++candidate) {
    if (!taken.contains(candidate)) {
      return candidate;
    }
  }
  return std::nullopt;
}

} // namespace siteagent::null
