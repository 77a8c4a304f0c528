// SPDX-License-Identifier: MIT
// The readers settings.cpp is put together from. Each reads its keys of backend_settings into the
// settings and returns `invalid` naming the key, its value and the remedy. Pure.
#pragma once

#include "plugins/azure/settings.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::parts {

base::error bad(std::string_view key, std::string_view why);
// Trimmed; "" when absent.
std::string text_of(const base::json& document, std::string_view key);
// A lone text counts as a list of one.
base::result<std::vector<std::string>> texts_of(const base::json& document, std::string_view key);
// An http(s) origin without a path; plain http only to this machine. Absent: `target` stays.
base::result<void> read_origin(const base::json& cloud, std::string_view key, std::string& target);
// One of two words; absent counts as `off`.
base::result<bool>
read_switch(const base::json& d, std::string_view key, std::string_view off, std::string_view on);

// Addresses of machines: network_cidr, subnet_cidr, subnet_id, public_ip, allowed_ssh_ranges.
base::result<void> read_network(const base::json& d, settings& out);

// What holds orders back, and what marks objects: allowed_*, max_*, currency, cloud.prices, tags.
// Needs resource_manager and the defaults to be read before.
base::result<void> read_rails(const base::json& d, settings& out);
base::result<void> read_tags(const base::json& d, settings& out);

} // namespace siteagent::azure::parts
