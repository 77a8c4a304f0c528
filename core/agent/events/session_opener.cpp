// SPDX-License-Identifier: MIT
// Real connections to the broker of an offering.
#include "core/agent/events/session_opener.hpp"

#include <utility>

namespace siteagent::agent {

session_opener make_session_opener(
    const config::offering& offering,
    net::proxy_settings proxies,
    std::function<base::secret()> token,
    const std::stop_token& stop
) {
  net::stomp_options fixed;
  fixed.host = offering.stomp_ws_host;
  fixed.port = offering.stomp_ws_port;
  fixed.path = offering.stomp_ws_path;
  fixed.use_tls = offering.websocket_use_tls;
  fixed.verify_certificate = offering.verify_ssl;
  fixed.proxies = std::move(proxies);
  fixed.stop_requested = [stop] { return stop.stop_requested(); };
  fixed.user_agent = "waldur-site-agent-event_process/" SITEAGENT_VERSION;
  return [fixed = std::move(fixed), token = std::move(token)](
             const waldur::event_queue& queue,
             net::stomp_message_handler on_message,
             net::stomp_end_handler on_end
         ) {
    net::stomp_options options = fixed;
    options.virtual_host = queue.virtual_host;
    options.login = queue.login;
    options.passcode = token();
    return net::stomp_session::connect(
        std::move(options), std::move(on_message), std::move(on_end)
    );
  };
}

} // namespace siteagent::agent
