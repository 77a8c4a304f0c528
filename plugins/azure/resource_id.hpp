// SPDX-License-Identifier: MIT
// ARM resource ids: parsed, printed, and compared without regard to case.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::azure {

struct resource_id {
  std::string subscription;
  std::string group;
  std::string provider; // "Microsoft.Compute"; empty: the id of a resource group
  std::vector<std::pair<std::string, std::string>> parts; // (type, name), outermost first

  // The whole string, any case of the keywords; nullopt for everything else, also for ids of
  // subscriptions alone.
  static std::optional<resource_id> parse(std::string_view text);
  static resource_id of_group(std::string_view subscription, std::string_view group);

  std::string text() const; // as ARM writes it, not percent-encoded
  std::string path() const; // for a URL: every segment percent-encoded
  std::string type() const; // "Microsoft.Compute/virtualMachines", also for nested types

  const std::string& name() const { return parts.empty() ? group : parts.back().second; }

  bool is_group() const { return provider.empty(); }

  bool is_virtual_machine() const;
  // The id of a child of this one, or of a sibling in the same group.
  resource_id child(std::string_view child_type, std::string_view child_name) const;
  resource_id in_same_group(std::string_view full_type, std::string_view new_name) const;
};

// What ids are compared by: lower case, no trailing slash.
std::string id_key(std::string_view id);

inline bool same_id(std::string_view a, std::string_view b) {
  return id_key(a) == id_key(b);
}

} // namespace siteagent::azure
