// SPDX-License-Identifier: MIT
// Reading a plugin's tables: versions, sizes, mandatory members. Pure functions; nothing here
// loads or calls anything.
#pragma once

#include "core/base/result.hpp"

#include <sagent/cloud_host_provider.h>
#include <sagent/plugin.h>
#include <sagent/resource_backend.h>

#include <string>
#include <string_view>

namespace siteagent::host {

// [a-z][a-z0-9-]{0,31}
bool is_plugin_id(std::string_view id);

// A copy in our own layout: members beyond the plugin's struct_size are zero, members beyond ours
// are dropped. `stem` is the file's name without ".so". Errors are `invalid` and name what differs
// and what to do; they do not name the path.
base::result<sagent_plugin> read_descriptor(const sagent_plugin* offered, std::string_view stem);
base::result<sagent_resource_backend> read_backend(const sagent_resource_backend* offered);
base::result<sagent_cloud_host_provider>
read_cloud_host_provider(const sagent_cloud_host_provider* offered);

// serial | per_instance | parallel; a model we do not know is treated as the strictest.
std::string_view name_of_thread_model(std::uint32_t model);

} // namespace siteagent::host
