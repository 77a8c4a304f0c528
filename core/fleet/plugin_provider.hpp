// SPDX-License-Identifier: MIT
// Inner side of provider.hpp: the provider that an opened plugin is.
#pragma once

#include "core/fleet/provider.hpp"
#include "core/host/instance.hpp"

#include <memory>
#include <string_view>

namespace siteagent::fleet {

std::unique_ptr<provider>
make_plugin_provider(std::shared_ptr<host::instance> opened, provider_description description);

// The error with its message as the plugin wrote it, and its detail's HTTP status in the error.
base::error without_prefix(base::error e, std::string_view prefix);

} // namespace siteagent::fleet
