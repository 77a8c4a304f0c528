// SPDX-License-Identifier: MIT
// Checks that several kinds of resources share: names, tags, locations, etags, address ranges.
// nullopt = fine, else the refusal to send.
#pragma once

#include "context.hpp"

#include "core/base/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

std::optional<reply> check_tags(const base::json& body);
std::optional<reply> check_name(const resource_path& path);
// A name that is neither a resource nor a resource group: that of an ipConfiguration.
std::optional<reply> check_child_name(std::string_view name);
std::optional<reply> check_group_name(std::string_view name);

// The location of a tracked resource: present, offered, and the one it already has.
std::optional<reply>
check_location(const context& c, const resource_path& path, const resource* existing);

// If-Match and If-None-Match against what exists (nullptr = nothing).
std::optional<reply> check_preconditions(const context& c, const resource* existing);

// A reference from `referrer`: there, in the same location, and Succeeded.
std::optional<reply> check_reference(
    const context& c,
    const resource_path& referrer,
    std::string_view id,
    kind expected,
    std::string_view location
);

struct cidr {
  std::uint32_t first = 0;
  unsigned bits = 0;

  std::uint32_t last() const;
  bool contains(const cidr& other) const;
  bool overlaps(const cidr& other) const;
  std::string text() const;
};

std::optional<std::uint32_t> parse_ipv4(std::string_view text);
std::string ipv4_text(std::uint32_t address);
// "10.0.0.0/24". `host_bits_allowed`: as written, with bits set beyond the prefix.
std::optional<cidr> parse_cidr(std::string_view text, bool host_bits_allowed = false);
// An IPv6 prefix by its looks; such ranges are stored but not checked against each other.
bool looks_like_ipv6(std::string_view text);

// Strict base64 (white space allowed between groups, as .NET does); nullopt: not base64.
std::optional<std::string> decode_base64(std::string_view text);

// A fresh body of a tracked network resource: name, id, etag, type, location, tags.
base::json
tracked_body(const resource_path& path, const base::json& request, std::string_view location);

} // namespace siteagent::azure_emulator
