// SPDX-License-Identifier: MIT
#include "core/app/stado/command.hpp"

namespace siteagent::app::stado {

base::result<substrate> open_substrate(const invocation& i) {
  auto profile = fleet::profile::load(i.env, i.where);
  if (!profile) {
    return std::move(profile).error();
  }
  auto registry = fleet::registry_store::open(*profile, i.where, *i.clock);
  if (!registry) {
    return std::move(registry).error();
  }
  auto credentials = fleet::credential_store::open(*profile, i.where);
  if (!credentials) {
    return std::move(credentials).error();
  }
  auto keys =
      std::make_unique<fleet::fleet_keys>(*credentials, *i.programs, i.where, i.env, *i.clock);
  auto channel = fleet::make_ssh_channel(*keys, *i.programs, i.where, i.local_hostname);
  return substrate{
      *std::move(profile),
      *std::move(registry),
      *std::move(credentials),
      std::move(keys),
      std::move(channel)};
}

} // namespace siteagent::app::stado
