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
  const image_entry* image = nullptr; // nullptr: none (attached disk)
  bool is_linux = true;
};

// The compute provider refuses members it does not know.
std::optional<reply> check_known_members(const base::json& body);
// The members that a create needs.
std::optional<reply> check_machine_shape(const base::json& body);
// osProfile: names, password, custom data, keys.
std::optional<reply> check_os_profile(const base::json& os_profile, bool is_linux);
std::optional<reply> check_user_data(const base::json& properties);

// machine_image.cpp: the image of the request, its generation, plan and terms; fills `offer`.
std::optional<reply>
check_machine_image(const context& c, std::string_view location, machine_offer& offer);
// The size that a body asks for; fills `offer.size`.
std::optional<reply> find_machine_size(
    const world& w, const base::json& body, std::string_view location, machine_offer& offer
);
// Size and image against each other.
std::optional<reply> check_generation(
    const size_entry& size, std::string_view generation, std::string_view architecture
);

// machine_rules.cpp: a whole body, of a request or as it would be stored, against its size and
// image: security type, disks, zones, interfaces, priority.
std::optional<reply> check_machine_fit(
    const context& c, const base::json& body, std::string_view location, const machine_offer& offer
);
// machine_references.cpp. The interfaces: there, free, one primary, one network; disks to attach:
// there, free.
std::optional<reply> check_machine_references(
    const context& c, const resource_path& path, const base::json& body, std::string_view location
);

// machine_immutable.cpp: what a machine keeps for life, and what it keeps while it is allocated.
std::optional<reply> check_immutable(const context& c, const resource& existing);

// machine_update.cpp
reply update_machine(context& c, resource& existing, const resource_path& path, bool is_patch);
// Starts the operation that makes the machine.
reply start_machine(context& c, resource& r, int status);
// The list of data disks an update leads to; nullopt and `out` set, or the refusal.
std::optional<reply> change_data_disks(const context& c, const resource& existing, base::json& out);

// machine_network.cpp: makes the interfaces and addresses that networkInterfaceConfigurations
// describe; `out` gets their references. A refusal leaves nothing behind.
std::optional<reply> make_configured_interfaces(
    context& c, const resource_path& machine, const std::string& location, base::json& out
);

// `cores` more of the size's family, and whether the size may be had at all.
std::optional<reply> check_cores(
    const context& c,
    const size_entry& size,
    std::string_view location,
    std::int64_t cores,
    bool is_spot
);
// `zone`: of the machine, "" = none.
std::optional<reply> check_restriction(
    const context& c, const size_entry& size, std::string_view location, std::string_view zone
);
bool is_spot(const base::json& body);
// The code when there is no room for a machine: in its zone, or in the region.
std::string allocation_failure(const resource& machine);

// The stored body of a new machine.
base::json build_machine(
    const context& c, const resource_path& path, std::string_view location, const machine_offer& o
);
// With the ids that the platform gives to a system-assigned identity.
base::json identity_part(const base::json& wanted, const std::string& tenant);
base::json
data_disk_part(const base::json& disk, const std::string& machine, std::string_view default_sku);
// Only in the storage account type do sizes differ here.
std::string default_disk_sku(const size_entry* size);
// Everything a machine refers to: interfaces and managed disks.
std::vector<std::string> machine_references(const base::json& body);
// The managed disk of an entry of a body is `key`.
bool refers_to(const base::json& machine_body, const std::string& key);

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

// Cores in use in a region, of one family ("" = all), without those of Spot machines; or of these
// only.
std::int64_t used_cores(
    const world& w,
    std::string_view subscription,
    std::string_view location,
    std::string_view family
);
std::int64_t
used_spot_cores(const world& w, std::string_view subscription, std::string_view location);

// Changes the power state; an instance view that lags shows the one before for a while.
void set_power(resource& machine, power p, base::wall_time now);
// Removes a machine with what its delete options name.
void remove_machine(world& w, resource& machine, base::wall_time now);
// Spot: deallocated or removed, as its eviction policy says.
void evict_machine(world& w, resource& machine, base::wall_time now);

} // namespace siteagent::azure_emulator
