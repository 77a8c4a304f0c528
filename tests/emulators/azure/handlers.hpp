// SPDX-License-Identifier: MIT
// The handlers behind the routes, one per call of the services emulated here.
#pragma once

#include "context.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

// The group of a resource exists: admission.cpp saw to that.
// Resource groups and generic lists (groups.cpp).
reply put_group(context& c, std::string_view name);
reply get_group(context& c, std::string_view name);
reply head_group(context& c, std::string_view name);
reply patch_group(context& c, std::string_view name);
reply delete_group(context& c, std::string_view name);
reply list_groups(context& c);
reply list_resources(context& c, std::string_view group); // "" = the whole subscription

// Common to all kinds (resources.cpp). The group exists.
reply get_resource(context& c, const resource_path& path);
reply list_kind(context& c, kind k, std::string_view group);
reply list_children(context& c, const resource_path& parent); // of its only child type
reply patch_tags(context& c, const resource_path& path);

// Network (network_*.cpp).
reply put_network(context& c, const resource_path& path);
reply delete_network(context& c, const resource_path& path);
// Of an interface; name "" = all.
reply get_ip_configurations(context& c, const resource_path& interface, std::string_view name);
reply get_default_rule(context& c, const resource_path& parent, std::string_view name);

// Compute (machine_*.cpp, disks.cpp).
reply put_machine(context& c, const resource_path& path);
reply patch_machine(context& c, const resource_path& path);
reply delete_machine(context& c, const resource_path& path);
reply get_machine(context& c, const resource_path& path);
// What it may be resized to as it is now.
reply list_machine_sizes(context& c, const resource_path& path);
reply get_instance_view(context& c, const resource_path& path);
reply list_machines(context& c, std::string_view group, std::string_view location);
reply machine_action(context& c, const resource_path& path, std::string_view verb);
reply put_disk(context& c, const resource_path& path);
reply patch_disk(context& c, const resource_path& path);
reply delete_disk(context& c, const resource_path& path);
// Availability sets (availability_sets.cpp).
reply put_availability_set(context& c, const resource_path& path);
reply delete_availability_set(context& c, const resource_path& path);
reply put_ssh_key(context& c, const resource_path& path);
reply delete_ssh_key(context& c, const resource_path& path);
reply generate_ssh_key(context& c, const resource_path& path);

// Terms of images (marketplace.cpp). `segments`: those behind "Microsoft.MarketplaceOrdering";
// nullopt: not served.
std::optional<reply> route_marketplace(context& c, const std::vector<std::string>& segments);

// What the cloud offers (offers.cpp, usages.cpp, images.cpp).
reply list_subscriptions(context& c);
reply get_subscription(context& c);
reply list_tenants(context& c);
reply list_locations(context& c);
reply list_skus(context& c);
// `family`: "" = all
reply list_sizes(context& c, std::string_view location, std::string_view family = {});
reply list_compute_usages(context& c, std::string_view location);
reply list_network_usages(context& c, std::string_view location);
reply list_providers(context& c);
reply get_provider(context& c, std::string_view provider);
reply register_provider(context& c, std::string_view provider, bool on);
// `rest`: the segments behind ".../locations/{loc}/publishers".
reply browse_images(context& c, std::string_view location, const std::vector<std::string>& rest);

} // namespace siteagent::azure_emulator
