// SPDX-License-Identifier: MIT
// Puts the real parts together.
#include "core/app/assemble.hpp"

#include "core/agent/events/session_opener.hpp"
#include "core/agent/heartbeat.hpp"
#include "core/agent/request_body.hpp"
#include "core/config/python_agent.hpp"
#include "core/host/instance.hpp"
#include "core/host/plugin.hpp"
#include "core/net/exchange_log.hpp"
#include "core/net/transport.hpp"
#include "core/net/url.hpp"
#include "core/observe/log.hpp"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace siteagent::app {

namespace {

base::result<std::vector<net::origin>> origins_of(const config::offering& offering) {
  std::vector<net::origin> origins;
  for (const std::string& text : {offering.waldur_api_url, offering.oidc_token_url}) {
    if (text.empty()) {
      continue;
    }
    base::result<net::url> url = net::parse_url(text);
    if (!url) {
      return base::with_context(std::move(url).error(), "address of Waldur");
    }
    origins.push_back(url->origin);
  }
  return origins;
}

// Every answer of Waldur is progress of the pass that asked.
class progressing_transport final : public net::transport {
public:
  explicit progressing_transport(std::unique_ptr<net::transport> inner)
      : inner_(std::move(inner)) {}

  base::result<net::response> perform(const net::request& r) override {
    base::result<net::response> answer = inner_->perform(r);
    if (answer) {
      agent::progress_board::touch_here();
    }
    return answer;
  }

private:
  std::unique_ptr<net::transport> inner_;
};

void tell_of_proxies(const net::proxy_settings& proxies, const std::vector<net::origin>& origins) {
  for (const net::origin& to : origins) {
    if (const net::proxy* via = proxies.for_host(to.scheme, to.host, to.port)) {
      observe::logger("http").info(
          "requests go through a proxy", {{"origin", to.text()}, {"proxy", via->text()}}
      );
    }
  }
}

base::result<std::shared_ptr<net::transport>> make_shared_transport(const config::offering& offering
) {
  base::result<std::vector<net::origin>> origins = origins_of(offering);
  if (!origins) {
    return std::move(origins).error();
  }
  base::result<net::proxy_settings> proxies = net::proxies_from(offering.global_proxy);
  if (!proxies) {
    return std::move(proxies).error();
  }
  tell_of_proxies(*proxies, *origins);
  net::transport_options options;
  options.proxies = *std::move(proxies);
  options.allowed_origins = *std::move(origins);
  // The operator wrote http:// himself; the origin check keeps the token where he sent it.
  options.allow_plain_http = offering.waldur_api_url.starts_with("http://");
  options.verify_tls = offering.verify_ssl;
  base::result<std::unique_ptr<net::transport>> made = net::make_transport(std::move(options));
  if (!made) {
    return std::move(made).error();
  }
  net::exchange_log traffic;
  traffic.write = [log = observe::logger("http")](const std::string& line) { log.debug(line); };
  traffic.is_wanted = [] { return observe::logger::is_enabled(observe::level::debug); };
  traffic.headers = {"retry-after", "x-result-count"};
  traffic.query_keys = {"page", "page_size", "state", "field", "offering_uuid", "billing_period"};
  return std::shared_ptr<net::transport>(std::make_shared<progressing_transport>(
      net::log_exchanges(*std::move(made), std::move(traffic))
  ));
}

std::string key_of(const config::offering& offering) {
  return offering.waldur_api_url + "\n" + offering.oidc_token_url + "\n" +
         (offering.verify_ssl ? "verified" : "unverified") + "\n" + offering.global_proxy;
}

// Shared by the loops of all offerings.
struct transports {
  const std::shared_ptr<waldur::token_cache> tokens = waldur::make_token_cache();
  std::mutex mutex;
  std::map<std::string, std::shared_ptr<net::transport>> by_key;

  base::result<std::shared_ptr<net::transport>> get(const config::offering& offering) {
    const std::lock_guard lock(mutex);
    std::shared_ptr<net::transport>& known = by_key[key_of(offering)];
    if (!known) {
      base::result<std::shared_ptr<net::transport>> made = make_shared_transport(offering);
      if (!made) {
        return made;
      }
      known = *std::move(made);
    }
    return known;
  }
};

std::string only_python_has(const std::string& plugin_id) {
  return "'" + plugin_id +
         "' is a plugin of the Python agent without a counterpart here; leave this offering to "
         "that agent, or provide the plugin";
}

} // namespace

base::result<std::unique_ptr<waldur::client>> make_client(
    const config::offering& offering,
    std::string_view role,
    std::shared_ptr<net::transport> transport,
    const std::stop_token& stop,
    std::shared_ptr<waldur::token_cache> tokens
) {
  if (!transport) {
    base::result<std::shared_ptr<net::transport>> made = make_shared_transport(offering);
    if (!made) {
      return std::move(made).error();
    }
    transport = *std::move(made);
  }
  waldur::client_options options;
  options.api_root = offering.waldur_api_url;
  options.token = offering.waldur_api_token;
  options.oidc_token_url = offering.oidc_token_url;
  options.oidc_client_id = offering.oidc_client_id;
  options.oidc_client_secret = offering.oidc_client_secret;
  options.tokens = std::move(tokens);
  const std::string& source = offering.oidc_token_url.empty() ? offering.waldur_api_token_source
                                                              : offering.oidc_client_secret_source;
  if (!source.empty()) {
    options.read_secret_again = [source] { return config::read_secret_again(source); };
  }
  options.user_agent =
      "waldur-site-agent-" + std::string(role) + "/" + std::string(SITEAGENT_VERSION);
  options.stop_requested = [stop] { return stop.stop_requested(); };
  options.on_warning = [log = observe::logger("waldur").with("offering", offering.name)](
                           const std::string& text
                       ) { log.warning(text); };
  return std::make_unique<waldur::client>(std::move(options), std::move(transport));
}

client_factory make_clients(std::string role, std::stop_token stop) {
  return [shared = std::make_shared<transports>(), role = std::move(role), stop = std::move(stop)](
             const config::offering& offering
         ) -> base::result<std::unique_ptr<waldur::client>> {
    base::result<std::shared_ptr<net::transport>> transport = shared->get(offering);
    if (!transport) {
      return std::move(transport).error();
    }
    return make_client(offering, role, *std::move(transport), stop, shared->tokens);
  };
}

agent::portal_factory make_portals(std::stop_token stop) {
  auto shared = std::make_shared<transports>();
  return [shared, stop = std::move(stop)](
             const config::offering& offering, agent::mode m
         ) -> base::result<std::unique_ptr<agent::portal>> {
    base::result<std::shared_ptr<net::transport>> transport = shared->get(offering);
    if (!transport) {
      return std::move(transport).error();
    }
    base::result<std::unique_ptr<waldur::client>> client =
        make_client(offering, agent::name_of(m), *std::move(transport), stop, shared->tokens);
    if (!client) {
      return std::move(client).error();
    }
    return agent::make_portal(*std::move(client), offering.uuid);
  };
}

agent::session_factory make_sessions(const config::agent_config& config, std::stop_token stop) {
  return [proxies = net::proxies_from(config.global_proxy),
          stop = std::move(stop)](const config::offering& offering) -> agent::session_opener {
    if (!proxies) {
      return [failure = proxies.error()](const auto&, const auto&, const auto&) {
        return base::result<std::unique_ptr<net::stomp_session>>(failure);
      };
    }
    auto token = [known = offering.waldur_api_token, source = offering.waldur_api_token_source] {
      return source.empty() ? known : config::read_secret_again(source).value_or(known);
    };
    return agent::make_session_opener(offering, *proxies, std::move(token), stop);
  };
}

agent::backend_factory make_backends(
    const config::agent_config& config,
    const std::vector<std::string>& plugin_directories,
    std::vector<config::finding>* findings
) {
  return [file = config.file, directories = host::search_path(plugin_directories), findings](
             const config::offering& offering, const std::string& plugin_id
         ) -> base::result<std::shared_ptr<agent::backend>> {
    base::result<std::shared_ptr<host::plugin>> plugin = host::load_plugin(plugin_id, directories);
    if (!plugin) {
      return config::is_python_only_plugin(plugin_id)
                 ? base::with_context(std::move(plugin).error(), only_python_has(plugin_id))
                 : std::move(plugin).error();
    }
    host::instance_options options;
    options.offering_name = offering.name;
    options.settings = offering.backend_settings;
    options.config_file = file;
    options.key_path = "backend_settings";
    base::result<std::shared_ptr<host::instance>> instance =
        host::instance::open(*std::move(plugin), std::move(options), findings);
    if (!instance) {
      return std::move(instance).error();
    }
    return agent::make_backend(*std::move(instance), offering);
  };
}

std::vector<std::string> plugins_of(const config::offering& offering) {
  std::vector<std::string> ids;
  for (const std::string& id :
       {offering.order_processing_backend,
        offering.membership_sync_backend,
        offering.reporting_backend}) {
    if (!id.empty() && std::find(ids.begin(), ids.end(), id) == ids.end()) {
      ids.push_back(id);
    }
  }
  return ids;
}

base::json describe_options(const config::offering& offering) {
  return base::json::object(
      {{"what", "options"},
       {"offering", agent::offering_to_json(offering)},
       {"components", agent::components_to_json(offering.components)}}
  );
}

} // namespace siteagent::app
