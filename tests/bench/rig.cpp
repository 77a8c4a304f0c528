// SPDX-License-Identifier: MIT
#include "tests/bench/rig.hpp"

#include <stdexcept>

namespace siteagent::bench {

namespace {

config::value scalar(const std::string& text) {
  config::value v;
  v.type = config::value::kind::scalar;
  v.text = text;
  return v;
}

config::value map_of(const std::vector<std::pair<std::string, config::value>>& members) {
  config::value v;
  v.type = config::value::kind::map;
  for (const auto& [key, value] : members) {
    v.map.emplace_back(key, value);
  }
  return v;
}

} // namespace

std::shared_ptr<host::instance> open_azure(const std::string& emulator_url, int min_ms) {
  auto plugin = host::load_plugin("azure", host::search_path({SITEAGENT_PLUGIN_DIR}));
  if (!plugin) {
    throw std::runtime_error(plugin.error().message);
  }
  host::instance_options o;
  o.offering_name = "bench";
  o.config_file = "bench";
  o.settings = map_of(
      {{"subscription_id", scalar(std::string(integration::subscription))},
       {"tenant_id", scalar("22222222-2222-2222-2222-222222222222")},
       {"client_id", scalar("33333333-3333-3333-3333-333333333333")},
       {"client_secret", scalar("emulator-secret")},
       {"default_location", scalar("westeurope")},
       {"default_size", scalar("Standard_B1s")},
       {"default_image", scalar("Canonical:0001-com-ubuntu-server-jammy:22_04-lts:latest")},
       {"allowed_ssh_ranges", scalar("203.0.113.0/24")},
       {"cloud",
        map_of(
            {{"resource_manager", scalar(emulator_url)},
             {"authority", scalar(emulator_url)},
             {"audience", scalar(emulator_url)}}
        )},
       {"polling",
        map_of(
            {{"min_ms", scalar(std::to_string(min_ms))}, {"max_ms", scalar(std::to_string(min_ms))}}
        )}}
  );
  auto opened = host::instance::open(*plugin, std::move(o));
  if (!opened) {
    throw std::runtime_error(opened.error().message);
  }
  return *opened;
}

void seed(const integration::emulator& azure, const json& seed) {
  auto http = net::make_transport({});
  if (!http) {
    throw std::runtime_error(http.error().message);
  }
  net::request r;
  r.method = "POST";
  r.url = azure.url() + "/_emu/seed";
  r.body = seed.dump();
  r.deadline = std::chrono::minutes(10);
  const auto answer = (*http)->perform(r);
  if (!answer || answer->status >= 300) {
    throw std::runtime_error("seed: " + (answer ? answer->body : answer.error().message));
  }
}

std::map<int, std::size_t> statuses(const std::vector<integration::journal_line>& journal) {
  std::map<int, std::size_t> out;
  for (const integration::journal_line& l : journal) {
    if (l.path.find("/oauth2/") == std::string::npos) {
      ++out[l.status];
    }
  }
  return out;
}

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace siteagent::bench
