// SPDX-License-Identifier: MIT
// Resource Graph: the part of its query language that clients of machines use.
#pragma once

#include "context.hpp"

namespace siteagent::azure_emulator {

bool is_resource_graph(const net::server_request& http);

// POST /providers/Microsoft.ResourceGraph/resources. Tables Resources and ResourceContainers;
// where, project, extend, summarize count(), count, order by, limit.
reply query_graph(context& c);

} // namespace siteagent::azure_emulator
