// SPDX-License-Identifier: MIT
// How the emulated cloud misbehaves within what the real one does; a seed sets it. Values only.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

// What a network write gets while another one holds the resource.
enum class busy_answer : std::uint8_t { conflict, retryable, mixed };

struct behaviour {
  azure_emulator::busy_answer busy = busy_answer::conflict;
  bool rule_writes_supersede = false; // a rule write cancels the one before it in its group
  std::chrono::seconds lingering_references{0}; // of interfaces that are gone
  std::chrono::seconds instance_view_lag{0};
  std::int64_t missing_first_reads = 0;       // GETs of a new resource that are 404
  bool repeats_items = false;                 // the last item of a page opens the next one, too
  bool empty_pages = false;                   // every list starts with an empty page
  std::chrono::seconds next_link_life{0};     // 0 = for ever
  bool hides_stopped_disks = false;           // type and size of a deallocated machine's OS disk
  bool resizes_across_families = false;       // also while the machine is allocated
  bool disks_survive = false;                 // a deleted machine's, whatever their option
  std::map<std::string, std::int64_t> limits; // of the network provider, lower-case names
  std::set<std::string> accepted_terms;       // "publisher:offer:plan" in lower case, "*" = all
};

// Applies one key of a seed document; false: not a key of this part, or a wrong value.
bool seed_behaviour(behaviour& b, std::string_view key, const base::json& value);

} // namespace siteagent::azure_emulator
