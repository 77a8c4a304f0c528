// SPDX-License-Identifier: MIT
// Real connections to the broker of an offering.
#pragma once

#include "core/agent/events/event_options.hpp"
#include "core/base/secret.hpp"
#include "core/config/config.hpp"
#include "core/net/proxy.hpp"

#include <functional>
#include <stop_token>

namespace siteagent::agent {

// `token`: today's token of the offering, asked for each connection; it is the broker's password.
// `stop` ends an attempt. [any thread]
session_opener make_session_opener(
    const config::offering& offering,
    net::proxy_settings proxies,
    std::function<base::secret()> token,
    const std::stop_token& stop
);

} // namespace siteagent::agent
