// SPDX-License-Identifier: MIT
// The comparison of a resource with its machine.
#include "core/agent/status_need.hpp"

#include "core/agent/request_body.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

constexpr const char* running = "running";
constexpr const char* deallocated = "deallocated";

bool should_stand(const waldur::resource& r) {
  return r.paused || r.downscaled;
}

} // namespace

bool is_marked(const base::json& metadata) {
  return metadata[stopped_marker].boolean().value_or(false);
}

power_change power_change_of(const waldur::resource& r, const std::string& power) {
  if (!r.power_flags_known) {
    return power_change::none;
  }
  if (should_stand(r)) {
    return power == deallocated ? power_change::none : power_change::stop;
  }
  return is_marked(r.backend_metadata) && power != running ? power_change::start
                                                           : power_change::none;
}

bool is_power_owed(const waldur::resource& r, const std::string& power) {
  return !power.empty() && power_change_of(r, power) != power_change::none;
}

bool is_ours_to_start(const waldur::resource& r, const std::string& power) {
  const bool was_marked = is_marked(r.backend_metadata);
  if (!r.power_flags_known) {
    return was_marked;
  }
  return should_stand(r) ? was_marked || power == deallocated : was_marked && power != running;
}

base::json wanted_metadata(const waldur::resource& r, const base::json& metadata, bool marked) {
  base::json wanted = metadata;
  if (wanted.size() == 0) {
    wanted = r.backend_metadata;
    wanted.erase(stopped_marker); // Waldur's own member is no news of the plugin's
  }
  if (marked) {
    wanted.set(stopped_marker, true);
  }
  return wanted;
}

std::optional<base::json>
changed_metadata(const waldur::resource& r, const base::json& metadata, bool marked) {
  base::json wanted = wanted_metadata(r, metadata, marked);
  const bool both_empty = wanted.size() == 0 && r.backend_metadata.size() == 0;
  if (both_empty || wanted == r.backend_metadata) {
    return std::nullopt;
  }
  return wanted;
}

std::optional<waldur::limits> changed_limits(const waldur::resource& r, const base::json& limits) {
  waldur::limits figures;
  for (const auto& [type, amount] : limits.members()) {
    if (const auto text = amount.number_text()) {
      figures.emplace(type, std::string(*text));
    }
  }
  if (figures.empty() || same_limits(figures, r.limits)) {
    return std::nullopt;
  }
  return figures;
}

status_need need_of(const waldur::resource& r, const base::json& row) {
  const std::string power = row["power"].string_or("");
  status_need need;
  need.power = power_change_of(r, power);
  need.metadata = changed_metadata(r, row["metadata"], is_ours_to_start(r, power)).has_value();
  need.limits = changed_limits(r, row["limits"]).has_value();
  need.set_ok = r.state == "Erred";
  return need;
}

} // namespace siteagent::agent
