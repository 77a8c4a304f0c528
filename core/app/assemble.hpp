// SPDX-License-Identifier: MIT
// Puts the real parts together: transports, Waldur clients, plugin instances.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/scheduler.hpp"
#include "core/config/config.hpp"

#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace siteagent::app {

// A Waldur client for an offering; `role` ends up in its user agent
// ("waldur-site-agent-<role>/..."). The transport may be null: then one is made. So may `tokens`.
base::result<std::unique_ptr<waldur::client>> make_client(
    const config::offering& offering,
    std::string_view role,
    std::shared_ptr<net::transport> transport,
    const std::stop_token& stop,
    std::shared_ptr<waldur::token_cache> tokens = nullptr
);

using client_factory =
    std::function<base::result<std::unique_ptr<waldur::client>>(const config::offering& offering)>;

// Clients of one role; offerings with the same origins and TLS settings share a transport, those
// with the same OIDC client an access token.
client_factory make_clients(std::string role, std::stop_token stop);

// The same for the agent's modes.
agent::portal_factory make_portals(std::stop_token stop);

// Connections to the brokers of the offerings of that file, through its proxy. A token that lies
// elsewhere (environment, file) is read again for each.
agent::session_factory make_sessions(const config::agent_config& config, std::stop_token stop);

// Opens plugins for the offerings of that file. Findings of the settings, if wanted, go to
// `findings` (which then must outlive the factory).
agent::backend_factory make_backends(
    const config::agent_config& config,
    const std::vector<std::string>& plugin_directories,
    std::vector<config::finding>* findings = nullptr
);

// The roles' plugins of an offering, each once, in the order order, membership, report.
std::vector<std::string> plugins_of(const config::offering& offering);

// The body of describe that asks a plugin for the order options of an offering.
base::json describe_options(const config::offering& offering);

} // namespace siteagent::app
