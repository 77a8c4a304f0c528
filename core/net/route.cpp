// SPDX-License-Identifier: MIT
#include "core/net/route.hpp"

#include "core/net/tunnel.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace siteagent::net {

namespace {

constexpr std::size_t max_routes = 4;

using addresses = std::vector<std::string>;

base::result<addresses> find_addresses(
    const std::string& host,
    const transport_options& options,
    resolver& names,
    const request& r,
    base::steady_time deadline
) {
  if (is_address(host)) {
    return addresses{host};
  }
  const auto by = std::min(deadline, std::chrono::steady_clock::now() + options.connect_timeout);
  auto found = names.resolve(host, by, r.stop_requested);
  if (found && found->size() > max_routes) {
    found->resize(max_routes);
  }
  if (!found && found.error().code == base::error_code::deadline && by < deadline) {
    // The caller's own deadline is still to come.
    found.error().code = base::error_code::transient;
  }
  return found;
}

} // namespace

std::string route::key() const {
  return hop ? hop->address + " " + hop->host : address;
}

base::result<std::vector<route>> find_routes(
    const origin& to,
    const proxy* via,
    const transport_options& options,
    resolver& names,
    const request& r,
    base::steady_time deadline
) {
  std::vector<route> out;
  addresses targets{to.host};
  if (via == nullptr || tunnel_handshake::wants_address(*via)) {
    auto found = find_addresses(to.host, options, names, r, deadline);
    if (!found) {
      return std::move(found).error();
    }
    targets = *std::move(found);
  }
  if (via == nullptr) {
    for (std::string& address : targets) {
      out.push_back({std::move(address), std::nullopt});
    }
    return out;
  }
  auto proxies = find_addresses(via->host, options, names, r, deadline);
  if (!proxies) {
    return base::with_context(std::move(proxies).error(), "the proxy cannot be found");
  }
  const bool is_http = via->kind == proxy::kind::http || via->kind == proxy::kind::https;
  const bool is_tunnel = !is_http || to.scheme == "https";
  for (const std::string& target : targets) {
    for (const std::string& address : *proxies) {
      out.push_back({{}, proxy_hop{*via, address, target, to.port, is_tunnel}});
    }
  }
  out.resize(std::min(out.size(), max_routes));
  return out;
}

void forget_names(const origin& to, const proxy* via, resolver& names) {
  names.forget(to.host);
  if (via != nullptr) {
    names.forget(via->host);
  }
}

} // namespace siteagent::net
