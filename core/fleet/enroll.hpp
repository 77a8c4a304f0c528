// SPDX-License-Identifier: MIT
// Enrolling a host: what it says about itself, and the registry entry made of it.
#pragma once

#include "core/base/result.hpp"
#include "core/fleet/channel.hpp"
#include "core/fleet/registry.hpp"

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>

namespace siteagent::fleet {

struct probed_host {
  std::string hostname; // normalized
  std::string os;       // "Linux"
  std::string arch;     // "x86_64"
  std::string release_platform;
};

// The rules that need no host: enrollment.allow_enroll, the name free and well formed, and, when
// given, the identities (computer name, address) free. `refused`.
base::result<void> check_enrollable(
    const base::json& document,
    std::string_view name,
    const std::vector<std::string>& identities = {}
);

// hostname, uname -s, uname -m: three fixed commands. `refused` naming the observed pair for a
// platform that is not supported; channel errors as they are.
base::result<probed_host> probe_host(channel& c, const target& host, std::stop_token stop = {});

// probe_host until it answers: transport failures are retried every `every` for `longest`, "key
// refused" for the first two minutes. waiting is told the last cause before each pause.
struct probe_patience {
  std::chrono::milliseconds longest{std::chrono::seconds(900)};
  std::chrono::milliseconds every{5'000};
  std::chrono::milliseconds auth_patience{std::chrono::seconds(120)};
  std::function<void(const std::string& cause)> waiting;
};

base::result<probed_host> probe_host_patiently(
    channel& c,
    const target& host,
    const probe_patience& p,
    const base::clock& clock,
    std::stop_token stop
);

// The entry of targets[]: name, kind local, ssh, release_platform, hostnames (without the name and
// without the destination's host), os, arch, notes.
base::json entry_for(
    std::string_view name, const destination& where, const probed_host& h, std::string_view notes
);

// `stado fleet enroll`: check, probe, one conditional write on the generation read first.
base::result<base::json> enroll(
    const registry_store& registry,
    channel& c,
    std::string_view name,
    std::string_view ssh,
    std::stop_token stop = {}
);

} // namespace siteagent::fleet
