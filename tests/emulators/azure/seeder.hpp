// SPDX-License-Identifier: MIT
// How the objects of a seed come into the world. Used by the files seed*.cpp only.
#pragma once

#include "context.hpp"
#include "world.hpp"

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <string>

namespace siteagent::azure_emulator {

base::error wrong_seed(const std::string& key, const std::string& why);

// Objects enter through the same handlers as requests, so a seed cannot make what Azure would not.
class seeder {
public:
  seeder(world& w, base::wall_time now);

  // A PUT whose operation ends at once. Errors name the key of the seed and the path.
  base::result<void> put(const std::string& key, const std::string& path, const base::json& body);

  world& state() { return world_; }

  std::string first_subscription() const;

private:
  void end_operation(const std::string& key);

  world& world_;
  emulators::call call_;
};

base::result<void> ensure_group(
    seeder& s, const std::string& subscription, const std::string& name, const std::string& location
);
void drop_kind(world& w, kind k);
// "running", "stopped", "deallocated"; anything else is running.
void seed_power(world& w, const std::string& key, const std::string& word);

// The key "machines": a number, or [{"resourceGroup", "name", "size", "location", "tags",
// "power"}].
base::result<void> seed_machines(seeder& s, const base::json& value);

} // namespace siteagent::azure_emulator
