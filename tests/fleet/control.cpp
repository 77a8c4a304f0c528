// SPDX-License-Identifier: MIT
#include "tests/fleet/control.hpp"

namespace siteagent::fleet::test {

control::control(runner& programs)
    : where_{home_.path().string(), home_.file(".stado")},
      key_(make_key_pair(home_.file("id_fleet"), "stado-ssh-test")) {
  const environment env = [key = key_.file](std::string_view name) -> std::optional<std::string> {
    return name == "STADO_HOST_SSH_KEY_FILE" ? std::optional(key) : std::nullopt;
  };
  const auto p = profile::load([](std::string_view) { return std::nullopt; }, where_);
  keys_ = std::make_unique<fleet_keys>(
      *credential_store::open(*p, where_), programs, where_, env, base::real_clock()
  );
  channel_ = make_ssh_channel(*keys_, programs, where_, "here.example.org");
}

target control::target_of(const machine& m) const {
  m.authorize(key_.public_key);
  target t;
  t.name = m.name();
  t.kind = "local";
  t.ssh = m.destination();
  return t;
}

target control::this_machine() const {
  target t;
  t.name = "here";
  t.kind = "local";
  return t;
}

} // namespace siteagent::fleet::test
