// SPDX-License-Identifier: MIT
// Fields with rules of their own: URLs, secrets, plugin names. Internal to core/config.
#pragma once

#include "core/base/secret.hpp"
#include "core/config/reader.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::config {

struct web_address {
  std::string text; // as written, without white space around it
  std::string host; // lower case, IPv6 without brackets
  bool encrypted = false;
};

// An http(s) URL without user, query and fragment. Absent, null and "" read as nullopt; what is no
// such URL is reported, without showing the value (people paste tokens into URLs).
std::optional<web_address> read_web_address(map_reader& o, std::string_view key);

// Like read_web_address, but with a user part allowed, which is protected in the redactor; any of
// the `schemes`. "" when absent.
std::string read_endpoint_with_credentials(
    map_reader& o, std::string_view key, std::initializer_list<std::string_view> schemes
);

// The text itself, "${NAME}" or "file:/path"; protected in the redactor. Empty when absent or "".
// `source`: the reference, for read_secret_again(); "" for the text itself.
base::secret read_secret(map_reader& o, std::string_view key, std::string& source);

// A plugin's name: letters, digits, "-" and "_". It becomes part of a file name.
bool is_plugin_name(std::string_view name);

// Whole file, at most `limit` bytes. The error says why, without the path.
base::result<std::string> read_file(const std::string& path, std::size_t limit);

} // namespace siteagent::config
