// SPDX-License-Identifier: MIT
// Microsoft.Resources: the subscription, its providers and locations, groups, and the search by
// tag.
#pragma once

#include "plugins/azure/arm/pipeline.hpp"
#include "plugins/azure/resource_id.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure {

// [any thread]
class resources_client {
public:
  resources_client(const arm::pipeline& arm, std::string subscription)
      : arm_(arm), subscription_(std::move(subscription)) {}

  base::result<base::json> subscription(const arm::scope& call) const;
  // "Registered", "NotRegistered", ...
  base::result<std::string> registration(const arm::scope& call, std::string_view provider) const;
  // Normalised names.
  base::result<std::vector<std::string>> locations(const arm::scope& call) const;

  // nullopt: positively absent.
  base::result<std::optional<base::json>>
  group(const arm::scope& call, std::string_view name) const;
  base::result<std::vector<base::json>>
  members(const arm::scope& call, std::string_view group) const;

  // Objects and groups with that tag; the answer is checked again here, whatever the server
  // filtered.
  base::result<std::vector<base::json>>
  tagged(const arm::scope& call, std::string_view tag, std::string_view value) const;
  // Members of a group that carry the tag, whatever its value.
  base::result<std::vector<base::json>>
  tagged_members(const arm::scope& call, std::string_view group, std::string_view tag) const;
  base::result<std::vector<base::json>>
  tagged_groups(const arm::scope& call, std::string_view tag, std::string_view value) const;

private:
  std::string base_path() const;

  const arm::pipeline& arm_;
  std::string subscription_;
};

} // namespace siteagent::azure
