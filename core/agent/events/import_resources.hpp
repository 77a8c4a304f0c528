// SPDX-License-Identifier: MIT
// Answers the portal's question which machines could be imported (Waldur contract 6.7, I1 to I6).
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/events/event_portal.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"

namespace siteagent::agent {

// Offers every machine with this offering's tags that no live resource stands for. The project is
// the one whose slug is in the machine's own tag, verbatim: project_prefix, which the Python agent
// strips from names, has no part in it. An error: the request is set erred in Waldur where that
// could be said. Blocks for one bulk read of the cloud and a few reads and writes of Waldur per
// machine. [any thread]
base::result<void> answer_import_request(
    offering_context& offering,
    portal& waldur,
    event_portal& events,
    environment& env,
    const base::uuid& request
);

} // namespace siteagent::agent
