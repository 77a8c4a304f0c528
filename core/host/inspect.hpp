// SPDX-License-Identifier: MIT
// Looking at a plugin in a short-lived child process, so that a file that crashes while being
// loaded is a report and not an outage. Inner side of plugin.hpp's inspection.
#pragma once

#include "core/base/result.hpp"
#include "core/host/plugin.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace siteagent::host {

// Finds and checks the file; nothing is loaded. `invalid` also when two directories hold it.
base::result<std::string>
find_file(std::string_view id, const std::vector<plugin_directory>& directories);

// dlopen and negotiation in this process, without any cache or trust check.
base::result<std::shared_ptr<plugin>> load_file(const std::string& path, std::string_view stem);

// The same in a child process. Fails when the child crashes, hangs or refuses the file.
base::result<plugin_info> inspect_file(const std::string& path, std::string_view stem);

// inspect_file before the agent itself loads the file; succeeds at once in a program whose main
// does not offer the child (run_inspection_child was not called).
base::result<void> rehearse_load(const std::string& path, std::string_view stem);

} // namespace siteagent::host
