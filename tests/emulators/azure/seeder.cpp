// SPDX-License-Identifier: MIT
#include "seeder.hpp"

#include "admission.hpp"
#include "operations.hpp"
#include "routes.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;
using base::json;
using base::result;

error wrong_seed(const std::string& key, const std::string& why) {
  return {error_code::invalid, "seed: " + key + ": " + why};
}

seeder::seeder(world& w, base::wall_time now) : world_(w) {
  call_.base_url = "http://localhost";
  call_.now = now;
}

result<void> seeder::put(const std::string& key, const std::string& path, const json& body) {
  net::server_request http;
  http.method = "PUT";
  http.path = path;
  http.query = "api-version=2024-07-01";
  http.target = path + "?" + http.query;
  for (const auto part : base::split(path, '/')) {
    if (!part.empty()) {
      http.segments.emplace_back(part);
    }
  }
  http.parameters = {{"api-version", "2024-07-01"}};
  const auto* subscription = world_.offer.find_subscription(http.segments[1]);
  if (subscription == nullptr) {
    return wrong_seed(key, "no subscription " + http.segments[1]);
  }
  context c{world_, http, call_, subscription, "seed", "2024-07-01", body};
  const auto misplaced = check_place(c, target_of(http));
  const reply answer = misplaced ? *misplaced : route_subscription(c);
  if (answer.status >= 300) {
    return wrong_seed(key, path + ": " + answer.body);
  }
  end_operation(key_of(path));
  return {};
}

void seeder::end_operation(const std::string& key) {
  const auto* r = world_.find(key);
  const auto it =
      r == nullptr ? world_.operations.end() : world_.operations.find(key_of(r->operation));
  if (it != world_.operations.end()) {
    finish(world_, it->second, call_.now);
    world_.operations.erase(it); // nobody polls it, and there may be many
  }
}

std::string seeder::first_subscription() const {
  return world_.offer.subscriptions.empty() ? std::string() : world_.offer.subscriptions[0].id;
}

void drop_kind(world& w, kind k) {
  std::vector<std::string> keys;
  for (const auto& [key, r] : w.resources) {
    if (r.path.kind == k) {
      keys.push_back(key);
    }
  }
  for (const auto& key : keys) {
    for (const auto& child : w.children(key)) {
      w.erase(child);
    }
    w.erase(key);
  }
}

result<void> ensure_group(
    seeder& s, const std::string& subscription, const std::string& name, const std::string& location
) {
  if (s.state().find_group(subscription, name) != nullptr) {
    return {};
  }
  return s.put(
      "resourceGroups", group_id(subscription, name), json::object({{"location", location}})
  );
}

void seed_power(world& w, const std::string& key, const std::string& word) {
  auto* r = w.find(key);
  if (r == nullptr) {
    return;
  }
  const power p = word == "deallocated" ? power::deallocated
                  : word == "stopped"   ? power::stopped
                                        : power::running;
  r->machine.power = p;
  r->machine.power_seen = p;
}

} // namespace siteagent::azure_emulator
