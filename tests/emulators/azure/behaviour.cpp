// SPDX-License-Identifier: MIT
#include "behaviour.hpp"

#include "core/base/text.hpp"

#include <utility>

namespace siteagent::azure_emulator {

using base::json;

namespace {

bool seed_flag(behaviour& b, std::string_view key, const json& value) {
  const std::pair<std::string_view, bool*> flags[] = {
      {"rule_writes_supersede", &b.rule_writes_supersede},
      {"repeat_items_across_pages", &b.repeats_items},
      {"empty_pages", &b.empty_pages},
      {"hide_stopped_disks", &b.hides_stopped_disks},
      {"resizes_across_families", &b.resizes_across_families},
      {"disks_survive", &b.disks_survive},
  };
  for (const auto& [name, flag] : flags) {
    if (name == key && value.is_bool()) {
      *flag = *value.boolean();
      return true;
    }
  }
  return false;
}

bool seed_seconds(behaviour& b, std::string_view key, const json& value) {
  const std::pair<std::string_view, std::chrono::seconds*> times[] = {
      {"lingering_references_s", &b.lingering_references},
      {"instance_view_lag_s", &b.instance_view_lag},
      {"next_link_life_s", &b.next_link_life},
  };
  const auto number = value.integer();
  for (const auto& [name, time] : times) {
    if (name == key && number && *number >= 0) {
      *time = std::chrono::seconds(*number);
      return true;
    }
  }
  if (key == "missing_first_reads" && number && *number >= 0) {
    b.missing_first_reads = *number;
    return true;
  }
  return false;
}

bool seed_limits(behaviour& b, const json& value) {
  std::map<std::string, std::int64_t> limits;
  for (const auto& [name, limit] : value.members()) {
    const auto number = limit.integer();
    if (!number || *number < 0) {
      return false;
    }
    limits[base::to_lower(name)] = *number;
  }
  b.limits = std::move(limits);
  return value.is_object();
}

bool seed_terms(behaviour& b, const json& value) {
  std::set<std::string> terms;
  for (const auto& item : value.items()) {
    terms.insert(base::to_lower(item.string_or("")));
  }
  b.accepted_terms = std::move(terms);
  return value.is_array();
}

} // namespace

bool seed_behaviour(behaviour& b, std::string_view key, const json& value) {
  if (key == "busy_network") {
    const std::string word = value.string_or("");
    b.busy = word == "retryable" ? busy_answer::retryable
             : word == "mixed"   ? busy_answer::mixed
                                 : busy_answer::conflict;
    return b.busy != busy_answer::conflict || word == "conflict";
  }
  if (key == "network_limits") {
    return seed_limits(b, value);
  }
  if (key == "accepted_terms") {
    return seed_terms(b, value);
  }
  return seed_flag(b, key, value) || seed_seconds(b, key, value);
}

} // namespace siteagent::azure_emulator
