// SPDX-License-Identifier: MIT
// When each host could last be read: <state>/cache/cloud-host-readings.json. Only for saying how
// long one that is unread has been standing; losing the file loses nothing else.
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
  // Drops machines that were not noted or kept, and writes when something changed.
  void save(const std::vector<std::string>& kept) const;

private:
  std::string file_;
  std::map<std::string, std::string, std::less<>> times_; // vm id -> RFC 3339
};

} // namespace siteagent::fleet::cloud_host
