// SPDX-License-Identifier: MIT
// The one rule by which a security group admits the fleet: what it says, whether one that is there
// says the same, where it goes. Pure.
#pragma once

#include "core/base/json.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::cloud_host {

struct admitting_rule {
  std::string name;
  std::vector<std::string> addresses; // distinct IPv4 literals
  std::int64_t port = 22;
  std::string target; // id of the application group; "": everything behind the security group
};

base::json body_of(const admitting_rule& wanted, std::int64_t priority);

// The rule of that name in the list a security group shows; null: none.
const base::json& find_rule(const base::json& security_group, std::string_view name);

// Does it say the same, whatever its priority? Lists compare as sets, one-element lists also come
// as the singular field, ids compare without case.
bool is_same(const base::json& rule, const admitting_rule& wanted);

// Is it for the same target? One that is not belongs to somebody else.
bool has_same_target(const base::json& rule, const admitting_rule& wanted);

// The lowest priority from 100 that no inbound rule holds; nullopt: all are taken.
std::optional<std::int64_t> free_priority(const base::json& security_group);

// Inbound denials before `priority` that would stop some of the addresses on the port.
std::vector<std::string> shadowing_rules(
    const base::json& security_group, const admitting_rule& wanted, std::int64_t priority
);

// Inbound rules besides that name which admit something.
std::vector<std::string>
other_admitting_rules(const base::json& security_group, std::string_view name);

} // namespace siteagent::azure::cloud_host
