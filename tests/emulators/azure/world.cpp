// SPDX-License-Identifier: MIT
#include "world.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace siteagent::azure_emulator {

std::string world::provider_key(std::string_view subscription, std::string_view provider) {
  return base::to_lower(std::string(subscription) + "|" + std::string(provider));
}

std::string world::provider_state(
    std::string_view subscription, std::string_view provider, base::wall_time now
) const {
  std::string state = offer.provider_state(provider);
  if (state.empty()) {
    return state;
  }
  const std::string key = provider_key(subscription, provider);
  const auto own = provider_states.find(key);
  if (own != provider_states.end()) {
    state = own->second;
  } else if (const auto* s = offer.find_subscription(subscription)) {
    const auto seeded_state = s->providers.find(base::to_lower(provider));
    state = seeded_state == s->providers.end() ? state : seeded_state->second;
  }
  const auto it = registrations.find(key);
  const bool done = it != registrations.end() && it->second <= now;
  if (done && state == "Registering") {
    return "Registered";
  }
  return done && state == "Unregistering" ? "NotRegistered" : state;
}

std::chrono::milliseconds world::registration_time() const {
  // A minute or more in the real service; scaled like everything else otherwise.
  return registration ? std::chrono::milliseconds(*registration)
                      : timing.duration(pace::machine_create);
}

group* world::find_group(std::string_view subscription, std::string_view name) {
  const auto it = groups.find(key_of(group_id(subscription, name)));
  return it == groups.end() ? nullptr : &it->second;
}

void world::track_changes() {
  tracks_changes = true;
  groups.track();
  operations.track();
  locks.track();
  lingering.track();
  deployments.track();
  seeded.track();
}

void world::forget_touched() {
  touched.clear();
  groups.forget_touched();
  operations.forget_touched();
  locks.forget_touched();
  lingering.forget_touched();
  deployments.forget_touched();
  seeded.forget_touched();
}

void world::add_event(base::json event) {
  constexpr std::size_t most_events = 5000;
  activity.push_back(std::move(event));
  while (activity.size() > most_events) {
    activity.pop_front();
    ++first_event;
  }
}

void world::clear_objects() {
  if (tracks_changes) {
    for (const auto& [key, r] : resources) {
      touched.insert(key);
    }
  }
  groups.clear();
  resources.clear();
  users_.clear();
  locks.clear();
  deployments.clear();
}

resource* world::find(std::string_view key) {
  if (tracks_changes) {
    touched.emplace(key);
  }
  const auto it = resources.find(std::string(key));
  return it == resources.end() ? nullptr : &it->second;
}

resource& world::put(resource r) {
  const std::string key = r.path.key();
  auto uses = std::move(r.uses);
  r.uses.clear();
  if (auto* old = find(key)) {
    set_uses(*old, {});
  }
  auto& stored = resources[key] = std::move(r);
  set_uses(stored, uses);
  return stored;
}

void world::erase(const std::string& key) {
  if (auto* r = find(key)) {
    set_uses(*r, {});
    resources.erase(key);
    drop_locks(key);
  }
}

void world::set_uses(resource& r, const std::vector<std::string>& ids) {
  const std::string key = r.path.key();
  for (const auto& old : r.uses) {
    const auto it = users_.find(old);
    if (it != users_.end()) {
      it->second.erase(key);
      if (it->second.empty()) {
        users_.erase(it);
      }
    }
  }
  r.uses.clear();
  for (const auto& id : ids) {
    r.uses.push_back(key_of(id));
    users_[r.uses.back()].insert(key);
  }
}

const std::set<std::string>& world::users_of(const std::string& key) const {
  static const std::set<std::string> none;
  const auto it = users_.find(key);
  return it == users_.end() ? none : it->second;
}

void world::walk(const std::string& prefix, const std::string& from, const visitor& visit) const {
  for (auto it = resources.lower_bound(std::max(prefix, from));
       it != resources.end() && it->first.compare(0, prefix.size(), prefix) == 0;
       ++it) {
    if (!visit(it->first, it->second)) {
      return;
    }
  }
}

std::vector<std::string>
world::list(kind k, std::string_view subscription, std::string_view group) const {
  std::vector<std::string> keys;
  walk(prefix_of(subscription, group), "", [&](const std::string& key, const resource& r) {
    if (r.path.kind == k) {
      keys.push_back(key);
    }
    return true;
  });
  return keys;
}

std::vector<std::string> world::children(std::string_view parent_key) const {
  std::vector<std::string> keys;
  walk(std::string(parent_key) + "/", "", [&](const std::string& key, const resource&) {
    keys.push_back(key);
    return true;
  });
  return keys;
}

std::vector<std::string> world::in_group(std::string_view group_key) const {
  return children(group_key);
}

void world::drop_locks(const std::string& key) {
  for (auto it = locks.begin(); it != locks.end();) {
    const std::string scope = key_of(it->second.scope);
    const bool inside = scope == key || scope.rfind(key + "/", 0) == 0;
    it = inside ? locks.erase(it) : std::next(it);
  }
}

std::string world::new_address() {
  const std::uint32_t n = next_address_++;
  if (n <= public_addresses.size()) {
    return public_addresses[n - 1];
  }
  const std::uint32_t last = n % 250 + 1;
  const std::uint32_t third = n / 250 % 256;
  const std::uint32_t second = (n / 64'000) % 256;
  return "20." + std::to_string(second) + "." + std::to_string(third) + "." + std::to_string(last);
}

std::string world::new_mac() {
  const std::uint32_t n = next_mac_++;
  std::array<char, 24> text{};
  std::snprintf(
      text.data(),
      text.size(),
      "00-0D-3A-%02X-%02X-%02X",
      (n >> 16U) & 0xFFU,
      (n >> 8U) & 0xFFU,
      n & 0xFFU
  );
  return text.data();
}

void world::touch_etag(resource& r) {
  if (is_network(r.path.kind)) {
    r.etag = "W/\"" + base::uuid::random().dashed() + "\"";
  } else {
    ++r.machine.version;
  }
}

std::string prefix_of(std::string_view subscription, std::string_view group) {
  return key_of(
      group.empty() ? "/subscriptions/" + std::string(subscription) + "/"
                    : group_id(subscription, group) + "/"
  );
}

std::string_view text_of(provisioning p, bool network) {
  switch (p) {
  case provisioning::creating:
    return network ? "Updating" : "Creating";
  case provisioning::updating:
    return "Updating";
  case provisioning::deleting:
    return "Deleting";
  case provisioning::failed:
    return "Failed";
  case provisioning::succeeded:
    break;
  }
  return "Succeeded";
}

} // namespace siteagent::azure_emulator
