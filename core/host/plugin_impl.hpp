// SPDX-License-Identifier: MIT
// What a loaded plugin is inside core/host: checked copies of its tables and the lock that a
// serial plugin needs.
#pragma once

#include "core/host/gate.hpp"
#include "core/host/plugin.hpp"

#include <string>

namespace siteagent::host {

// Tables are copies, cut or zero-filled to our own size; strings were copied out. Constant after
// loading, so every thread may read it; only the gate changes.
class plugin {
public:
  plugin_info info;
  sagent_plugin descriptor{};
  bool has_backend = false;
  sagent_resource_backend backend{};
  bool has_cloud_host = false;
  sagent_cloud_host_provider cloud_host{};
  gate serial; // taken for every call when the plugin declares SAGENT_THREADS_SERIAL
};

} // namespace siteagent::host
