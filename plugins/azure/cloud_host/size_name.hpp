// SPDX-License-Identifier: MIT
// What the name of a machine size tells without asking Azure. Pure.
#pragma once

#include <string>
#include <string_view>

namespace siteagent::azure::cloud_host {

// "standard_d8S_V5" -> "Standard_D8s_v5"; what is no size name of Azure's comes back as it is.
std::string canonical_size(std::string_view text);

// Letters, digits, "_" and "-" behind "Standard_" or "Basic_".
bool is_size_name(std::string_view text);

// Is it a size with arm64 processors: a "p" among the letters behind its number (Standard_D4ps_v5)?
bool is_arm64_size(std::string_view text);

} // namespace siteagent::azure::cloud_host
