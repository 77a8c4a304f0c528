// SPDX-License-Identifier: MIT
// The entry of azure.so: the backend and the cloud host provider with the real transport, clock and
// registry.
#include "core/net/proxy.hpp"
#include "plugins/azure/answers.hpp"
#include "plugins/azure/arm/managed_identity.hpp"
#include "plugins/azure/backend.hpp"
#include "plugins/azure/cloud_host/provider.hpp"
#include "plugins/azure/error_map.hpp"

namespace siteagent::azure {

namespace {

std::unique_ptr<net::transport> made_or_throw(net::transport_options options) {
  options.user_agent = "site-agent-azure/" SITEAGENT_VERSION;
  auto made = net::make_transport(std::move(options));
  if (!made) {
    raise(base::with_context(std::move(made).error(), "Azure backend_settings.cloud"));
  }
  return std::move(*made);
}

// Plain http to the metadata service's address, which the settings' reader has confined.
std::unique_ptr<net::transport> metadata_transport(const settings& s) {
  net::transport_options options;
  options.allowed_origins.push_back(net::parse_url(s.credentials.metadata_origin)->origin);
  options.allow_plain_http = true;
  options.ca_file = s.ca_file;
  return made_or_throw(std::move(options));
}

std::unique_ptr<net::transport> real_transport(const settings& s) {
  net::transport_options options;
  for (const std::string& text : {s.resource_manager, s.authority, s.prices, s.billing}) {
    if (const auto url = net::parse_url(text)) {
      options.allowed_origins.push_back(url->origin);
    }
  }
  options.ca_file = s.ca_file;
  // The environment's: global_proxy of the agent's file is for the way to its portal. The metadata
  // service, above, is the machine's own and never behind one.
  auto proxies = net::proxies_from("");
  if (!proxies) {
    raise(std::move(proxies).error());
  }
  options.proxies = *std::move(proxies);
  auto usual = made_or_throw(std::move(options));
  if (s.credentials.kind != credential_kind::managed_identity) {
    return usual;
  }
  return arm::split_transport(
      std::move(usual), metadata_transport(s), s.credentials.metadata_origin
  );
}

} // namespace

class azure_plugin final : public backend {
public:
  azure_plugin(sagent::host host, const sagent::request& request)
      : backend(host, request, {real_transport, &base::real_clock(), &process_registry()}) {}
};

class azure_hosts final : public cloud_host::provider {
public:
  azure_hosts(sagent::host host, const sagent::request& request)
      : provider(host, request, {real_transport, &base::real_clock(), &process_registry()}) {}
};

} // namespace siteagent::azure

SAGENT_PLUGIN(
    "azure",
    SITEAGENT_VERSION,
    "Site Agent",
    siteagent::azure::azure_plugin,
    siteagent::azure::azure_hosts
)
