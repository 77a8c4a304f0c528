// SPDX-License-Identifier: MIT
// Mapping a checked plugin file into the process. Boost.DLL is behind this header.
#pragma once

#include "core/base/result.hpp"

#include <sagent/plugin.h>

#include <string>

namespace siteagent::host {

// Opens `path` (absolute) with immediate binding and local symbols, calls the entry function and
// returns the descriptor as the plugin gave it, so possibly nullptr. The library stays mapped until
// the process ends, also when this fails: destructors, thread-locals and exit handlers of the
// plugin may run late. Runs the plugin's constructors. `invalid` carries the loader's own text, for
// example the missing symbol.
base::result<const sagent_plugin*> load_descriptor(const std::string& path);

} // namespace siteagent::host
