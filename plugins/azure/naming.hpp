// SPDX-License-Identifier: MIT
// The names of everything an order creates, derived from the resource's name and uuid alone, so
// that a retry addresses the same objects. Companions are prefixes before the machine's name;
// machines made by earlier products follow the same scheme.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure {

// The user customers log in as when the order names none. Machines in the field carry it.
inline constexpr std::string_view default_user_name = "waldur";

// Lower case; runs of anything but a-z, 0-9 and "-" become one "-"; no "-" at the ends; at most 50
// characters; never empty.
std::string sanitize(std::string_view name);

// How many names are tried before an order is refused because they all belong to somebody else. The
// last rung carries the whole uuid.
inline constexpr unsigned group_ladder = 4;
inline constexpr unsigned machine_ladder = 3;

// A group of its own: group-<hex>-<machine>, 4, 8, 16 or 32 digits of the uuid by rung.
std::string dedicated_group(std::string_view machine, std::string_view uuid_hex, unsigned rung);
// In a shared group the machine carries 8, 16 or 32 digits of the uuid; at most 61 characters, so
// that the network's name stays within Azure's 64.
std::string shared_machine(std::string_view name, std::string_view uuid_hex, unsigned rung);

struct dedicated_name {
  std::size_t digits = 0; // 4: also written by earlier products
};

// Is `group` the dedicated group of this machine, by its name? Case does not matter.
std::optional<dedicated_name> as_dedicated_group(std::string_view group, std::string_view machine);
// The machine name inside a dedicated group's name; nullopt: no such pattern.
std::optional<std::string> machine_of_group(std::string_view group);

// A host name Linux and Azure accept: letters, digits, hyphens, at most 64, never all digits.
std::string computer_name(std::string_view machine);

// Why Azure would not make a group of this name; "" when it would. Only for groups still to be
// made: of those that exist Azure itself is the judge.
std::string objection_to_group_name(std::string_view group);

// "West Europe" and "westeurope" are the same place.
std::string normal_location(std::string_view location);

} // namespace siteagent::azure
