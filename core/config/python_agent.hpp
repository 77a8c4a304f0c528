// SPDX-License-Identifier: MIT
// What files written for the Python agent may name and this agent does not have, with the words
// that tell their owner so.
#pragma once

#include <span>
#include <string_view>

namespace siteagent::config {

// A key of `backend_settings` that the Python agent's core reads, and why it does nothing for
// machines.
struct unused_setting {
  std::string_view key;
  std::string_view why;
};

std::span<const unused_setting> unused_settings();

// The reason ("no effect: ..."), or "" for every other key. A plugin whose schema knows the key
// gets it all the same.
std::string_view why_unused(std::string_view settings_key);

// The Python agent's plugins that have no counterpart here.
std::span<const std::string_view> python_only_plugins();
bool is_python_only_plugin(std::string_view id);

// Its username plugins that have no counterpart here.
std::span<const std::string_view> python_only_username_plugins();
bool is_python_only_username_plugin(std::string_view id);

} // namespace siteagent::config
