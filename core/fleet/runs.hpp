// SPDX-License-Identifier: MIT
// Managed runs on a host: what stands there, the marker a reaper sets, and running a program.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/fleet/channel.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::fleet {

struct standing_run {
  std::string name;  // printable
  std::string state; // "live", "dead", "unknown", "kept"
};

// One reading of a host, its own clock.
struct host_reading {
  std::int64_t now = 0;                // the host's clock, epoch seconds
  std::optional<std::int64_t> changed; // when the run area last changed; nullopt: there is none
  std::vector<standing_run> runs;
  std::int64_t cargo = 0; // processes
  std::int64_t rustc = 0;
  bool is_booting = false; // cloud-init says "running"; a broken one may say so for ever

  bool is_busy() const; // a live, kept or unknown run, or a process
};

// One script, one connection, o.cap (60 s when it is left at its default). Any doubt is an error:
// the caller shows it as unread.
base::result<host_reading> read_host(channel& c, const target& host, const channel_options& o = {});

// Public for tests: the script's answer.
base::result<host_reading> parse_host_reading(std::string_view output);

// The marker $HOME/.stado/work/returning. set: `conflict` with "another reaper holds it" when it is
// younger than `stale` (the host's clock), else taken over; `refused` when it cannot be made.
base::result<void> set_returning_marker(
    channel& c,
    const target& host,
    std::string_view owner,
    std::chrono::seconds stale,
    std::stop_token stop = {}
);
base::result<void>
clear_returning_marker(channel& c, const target& host, std::stop_token stop = {});

// `stado host kompilator`.
struct kompilator_request {
  std::vector<std::string> words; // PROGRAM ARG...
  // Delivered without folders that a CACHEDIR.TAG marks, as cargo's target is. "" = none.
  std::string source_directory;
  // Of the git repository at source_directory (or "."), delivered by git archive. "" = none.
  std::string revision;
  // REMOTE[:LOCAL], REMOTE relative to the run's source directory, or to the run's when there is no
  // source; LOCAL default: its last part here. Into LOCAL when that is a folder. Only of a program
  // that ended with 0.
  std::vector<std::pair<std::string, std::string>> fetches;
  bool keep = false; // a program that ended by itself; an interrupted run is removed
  std::function<void(std::string_view)> on_output;
  std::function<void(std::string_view)> on_error_output;
  std::function<void(const std::string&)> progress; // a line
  // The host ends a run whose client is gone, or silent for so long; at least a second.
  std::chrono::seconds silence{60};
};

struct kompilator_report {
  std::string run; // 32 hex digits
  int status = 0;  // PROGRAM's
  bool kept = false;
  std::vector<std::string> fetched; // local paths
};

// Two-marker protocol: the run directory first, then the look for the marker. `refused`: the host
// is being returned, or git knows no such revision; `invalid`: a path of the request; `cancelled`:
// stopped, and the run with it; errors of the channel as they are. When fetching fails the program
// has run: the message says so.
base::result<kompilator_report> run_kompilator(
    channel& c,
    runner& programs,
    const target& host,
    const kompilator_request& r,
    std::stop_token stop
);
// `--remove RUN`: a run's directory, kept or dead. `not_found` listing those that stand, `refused`
// while it runs.
base::result<void>
remove_run(channel& c, const target& host, std::string_view run, std::stop_token stop = {});

} // namespace siteagent::fleet
