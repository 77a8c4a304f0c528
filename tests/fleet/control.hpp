// SPDX-License-Identifier: MIT
// A control machine for tests: a home of its own, a key, and the real ssh channel.
#pragma once

#include "core/fleet/channel.hpp"
#include "core/fleet/keys.hpp"
#include "tests/fleet/machine.hpp"

#include <memory>
#include <string>

namespace siteagent::fleet::test {

class control {
public:
  // `runner` replaces the system's, for those that look at what is run.
  explicit control(runner& programs = system_runner());

  channel& hosts() { return *channel_; }

  // Authorizes this control machine's key on it.
  target target_of(const machine& m) const;
  target this_machine() const; // "here", reached without ssh

  const std::filesystem::path& home() const { return home_.path(); }

  std::string pins() const { return where_.state + "/known_hosts"; }

  const key_pair& key() const { return key_; }

  const folders& where() const { return where_; }

private:
  integration::temp_dir home_;
  folders where_;
  key_pair key_;
  std::unique_ptr<fleet_keys> keys_;
  std::unique_ptr<channel> channel_;
};

} // namespace siteagent::fleet::test
