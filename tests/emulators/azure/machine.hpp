// SPDX-License-Identifier: MIT
// Parts of the machine handlers that several files share.
#pragma once

#include "context.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure_emulator {

// What a create asks for, looked up in the catalog.
struct machine_offer {
  const size_entry* size = nullptr;
  const image_entry* image = nullptr; // nullptr: no platform image (attached disk)
  bool is_linux = true;
};

// The compute provider refuses members it does not know.
std::optional<reply> check_known_members(const base::json& body);
// The members that a create needs.
std::optional<reply> check_machine_shape(const base::json& body);
// osProfile: names, password, custom data, keys.
std::optional<reply> check_os_profile(const base::json& os_profile, bool is_linux);
std::optional<reply> check_user_data(const base::json& properties);
// Size, image, generation, architecture, plan, security type, disks; fills `offer`.
std::optional<reply>
check_machine_offer(const context& c, std::string_view location, machine_offer& offer);
// The interfaces: there, free, one primary; data disks to attach: there, free.
std::optional<reply>
check_machine_references(const context& c, const resource_path& path, std::string_view location);
// `cores` more of the size's family, and whether the size may be had at all.
std::optional<reply> check_cores(
    const context& c, const size_entry& size, std::string_view location, std::int64_t cores
);
std::optional<reply>
check_restriction(const context& c, const size_entry& size, std::string_view location);

// The stored body of a new machine.
base::json build_machine(
    const context& c, const resource_path& path, std::string_view location, const machine_offer& o
);
// Everything a machine refers to: interfaces and managed disks.
std::vector<std::string> machine_references(const base::json& body);

// Salted hash of a secret, to notice a change without keeping it; "" for "".
std::string secret_hash(std::string_view text);

struct disk_spec {
  resource_path path;
  std::string location;
  std::string sku;
  std::int64_t size_gib = 30;
  std::string os;         // "" = data disk
  std::string generation; // of an OS disk
  std::string image_id;   // of an OS disk
  base::json zones;
  base::json tags;
};

resource& make_disk(world& w, const disk_spec& spec, base::wall_time now);

std::string
image_id(const std::string& subscription, std::string_view location, const image_entry& i);

// Cores in use in a region, of one family ("" = all).
std::int64_t used_cores(
    const world& w,
    std::string_view subscription,
    std::string_view location,
    std::string_view family
);

} // namespace siteagent::azure_emulator
