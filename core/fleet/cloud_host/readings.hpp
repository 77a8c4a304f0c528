// SPDX-License-Identifier: MIT
// When each host could last be read, and whether it had a run area then:
// <state>/cache/cloud-host-readings.json. Losing the file loses nothing that a verb needs.
#pragma once

#include "core/base/clock.hpp"
#include "core/fleet/surroundings.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

class readings {
public:
  explicit readings(const folders& f); // reads the file; an unreadable one is an empty one

  std::optional<base::wall_time> last_of(std::string_view vm_id) const;
  void note(std::string_view vm_id, base::wall_time t);
  // Has the host ever had a run area? Then one that is missing now is no proof of idleness.
  bool has_had_area(std::string_view vm_id) const;
  void note_area(std::string_view vm_id, base::wall_time t);
  // Drops machines that were not noted or kept, and writes when something changed.
  void save(const std::vector<std::string>& kept) const;

private:
  std::string file_;
  std::map<std::string, std::string, std::less<>> times_; // vm id -> RFC 3339
};

} // namespace siteagent::fleet::cloud_host
