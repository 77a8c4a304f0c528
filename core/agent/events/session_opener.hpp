// SPDX-License-Identifier: MIT
// Real connections to the broker of an offering.
#pragma once

#include "core/agent/events/event_stream.hpp"
#include "core/base/secret.hpp"
#include "core/config/config.hpp"
#include "core/net/proxy.hpp"

#include <functional>

namespace siteagent::agent {

// `token`: today's token of the offering, asked for each connection; it is the broker's password.
// [any thread]
session_opener make_session_opener(
    const config::offering& offering,
    net::proxy_settings proxies,
    std::function<base::secret()> token
);

} // namespace siteagent::agent
