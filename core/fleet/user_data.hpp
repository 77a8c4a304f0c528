// SPDX-License-Identifier: MIT
// The first boot of a cloud host: the cloud-init text, and asking whether it went well.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/fleet/channel.hpp"

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

// "#cloud-config" and YAML; no secret in it. login as in is_login_name.
std::string render_user_data(std::string_view login, std::string_view public_key);

// [a-z_][a-z0-9_-]{0,31}
bool is_login_name(std::string_view login);

struct boot_report {
  int exit_code = 0;
  std::string status;          // "done"
  std::string extended_status; // "" when this release has none
  std::string rustc;           // one line each
  std::string node;
  std::string npm;
};

// cloud-init status --wait, until `longest` over reconnects; its JSON; then the three versions.
// `refused`: not clean, with the contract's text, the log named and at most five of its error lines
// joined by "; "; `deadline` likewise when it did not finish; `refused` naming the missing program.
struct boot_patience {
  std::chrono::milliseconds longest{std::chrono::seconds(2'700)};
  std::chrono::milliseconds every{5'000};          // between reconnects
  std::function<void(const std::string&)> waiting; // what it waits for, before each wait
};

base::result<boot_report> check_boot(
    channel& c,
    const target& host,
    const boot_patience& p,
    const base::clock& clock,
    std::stop_token stop
);

} // namespace siteagent::fleet
