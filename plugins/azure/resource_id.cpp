// SPDX-License-Identifier: MIT
#include "plugins/azure/resource_id.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

bool usable(std::string_view segment) {
  return !segment.empty() && std::none_of(segment.begin(), segment.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == '?' || c == '#' || c == '%';
  });
}

} // namespace

std::optional<resource_id> resource_id::parse(std::string_view text) {
  if (text.empty() || text.front() != '/') {
    return std::nullopt;
  }
  const std::vector<std::string_view> s = base::split(text.substr(1), '/');
  if (!std::all_of(s.begin(), s.end(), usable)) {
    return std::nullopt;
  }
  const bool has_group = s.size() >= 4 && base::equals_ignoring_case(s[0], "subscriptions") &&
                         base::equals_ignoring_case(s[2], "resourceGroups");
  if (!has_group) {
    return std::nullopt;
  }
  resource_id id = of_group(s[1], s[3]);
  if (s.size() == 4) {
    return id;
  }
  if (s.size() < 8 || s.size() % 2 != 0 || !base::equals_ignoring_case(s[4], "providers")) {
    return std::nullopt;
  }
  id.provider = s[5];
  for (std::size_t i = 6; i + 1 < s.size(); i += 2) {
    id.parts.emplace_back(s[i], s[i + 1]);
  }
  return id;
}

resource_id resource_id::of_group(std::string_view subscription, std::string_view group) {
  resource_id id;
  id.subscription = subscription;
  id.group = group;
  return id;
}

std::string resource_id::text() const {
  std::string out = "/subscriptions/" + subscription + "/resourceGroups/" + group;
  if (!provider.empty()) {
    out += "/providers/" + provider;
  }
  for (const auto& [part_type, part_name] : parts) {
    out += "/" + part_type + "/" + part_name;
  }
  return out;
}

std::string resource_id::path() const {
  std::string out =
      "/subscriptions/" + net::encode(subscription) + "/resourceGroups/" + net::encode(group);
  if (!provider.empty()) {
    out += "/providers/" + net::encode(provider);
  }
  for (const auto& [part_type, part_name] : parts) {
    out += "/" + net::encode(part_type) + "/" + net::encode(part_name);
  }
  return out;
}

std::string resource_id::type() const {
  if (is_group()) {
    return "Microsoft.Resources/resourceGroups";
  }
  std::string out = provider;
  for (const auto& part : parts) {
    out += "/" + part.first;
  }
  return out;
}

bool resource_id::is_virtual_machine() const {
  return base::equals_ignoring_case(type(), "Microsoft.Compute/virtualMachines");
}

resource_id resource_id::child(std::string_view child_type, std::string_view child_name) const {
  resource_id id = *this;
  id.parts.emplace_back(child_type, child_name);
  return id;
}

resource_id
resource_id::in_same_group(std::string_view full_type, std::string_view new_name) const {
  resource_id id = of_group(subscription, group);
  const auto slash = full_type.find('/');
  id.provider = full_type.substr(0, slash);
  id.parts.emplace_back(full_type.substr(slash + 1), new_name);
  return id;
}

std::string id_key(std::string_view id) {
  while (!id.empty() && id.back() == '/') {
    id.remove_suffix(1);
  }
  return base::to_lower(id);
}

} // namespace siteagent::azure
