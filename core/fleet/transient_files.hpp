// SPDX-License-Identifier: MIT
// Files with secrets that live as long as one call: in a 0700 directory made for this process.
#pragma once

#include "core/base/result.hpp"

#include <string>
#include <string_view>

namespace siteagent::fleet {

// A new path in this process's directory below <state>/transient; nothing is there yet. What lies
// there is removed by remove_transient_files(), also when it was made by another program.
// [any thread]
base::result<std::string> transient_path(const std::string& state, std::string_view name);
// The same with content: made exclusively, 0600, fsynced.
base::result<std::string>
write_transient_file(const std::string& state, std::string_view name, std::string_view content);
// Overwritten, then unlinked; no error when it is not there.
void remove_transient_file(const std::string& path) noexcept;

} // namespace siteagent::fleet
