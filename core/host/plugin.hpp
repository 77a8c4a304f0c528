// SPDX-License-Identifier: MIT
// Plugins: where they may lie, whether to trust the file, loading, negotiation. A loaded plugin
// stays mapped until the process ends.
#pragma once

#include "core/base/result.hpp"

#include <sagent/cloud_host_provider.h>
#include <sagent/plugin.h>
#include <sagent/resource_backend.h>

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::host {

struct plugin_directory {
  std::string path;       // absolute
  bool developer = false; // --plugin-dir: the agent's own uid may own the file; only the file and
                          // its own directory are checked, and /tmp-like parents are accepted
};

// --plugin-dir values replace the default search path (/usr/local/lib/site-agent/plugins, then
// /usr/lib/<triplet>/site-agent/plugins). Relative values are made absolute once, here.
std::vector<plugin_directory> search_path(const std::vector<std::string>& developer_directories);

class plugin; // a loaded, negotiated plugin

struct plugin_info {
  std::string id;
  std::string path;
  std::string version;
  std::string vendor;
  unsigned abi_minor = 0;
  std::string threads; // serial | per_instance | parallel
  std::vector<std::string> extensions;
  std::map<std::string, std::string, std::less<>> settings_schemas; // by extension
  std::string cloud_hosts; // what `describe` of the cloud host provider says; "" = none

  bool offers(std::string_view extension) const;
  // "" = none
  std::string settings_schema(std::string_view extension = SAGENT_EXT_RESOURCE_BACKEND) const;
};

// Everything found in the search path, loadable or not; nothing outside it is opened.
struct plugin_listing {
  std::string path;
  base::result<plugin_info> info;
};

// Trust checks, dlopen, negotiation; cached per path for the life of the process. Errors name the
// path, the reason and the next step. [any thread]
base::result<std::shared_ptr<plugin>>
load_plugin(std::string_view id, const std::vector<plugin_directory>& directories);
// Each file is looked at in a short-lived child process, so that a crash is a report.
std::vector<plugin_listing> list_plugins(const std::vector<plugin_directory>& directories);
base::result<plugin_info>
inspect_plugin(std::string_view id, const std::vector<plugin_directory>& directories);

plugin_info info_of(const plugin& p);

// The first thing every program's main does:
//   if (const int status = host::run_inspection_child(argc, argv);
//       status != host::not_an_inspection_child) {
//     return status;
//   }
// A program that calls it can start itself (/proc/self/exe with a hidden first argument) as the
// child that looks at a plugin file; load_plugin then lets such a child load the file first, so
// that a damaged file is refused instead of taking the agent down. Without the call list_plugins,
// inspect_plugin and load_plugin work in this process. Call before starting threads.
inline constexpr int not_an_inspection_child = -1;
int run_inspection_child(int argc, char** argv);

} // namespace siteagent::host
