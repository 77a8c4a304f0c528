// SPDX-License-Identifier: MIT
// What a create has made so far: <state>/cloud-hosts/<name>.json, 0600, written before the first
// object and after each; gone when the host is recorded or everything was released. A leftover
// tells the next command of a create that was killed.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/fleet/provider.hpp"
#include "core/fleet/registry_document.hpp"
#include "core/fleet/surroundings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

// "pid 123 start 456 boot <id>": this process, not to be mistaken for a later one of its number.
std::string process_owner();
// Does that process still run here? false also for a text that is none of process_owner.
bool is_alive(std::string_view owner);

struct journal_entry {
  std::string name;
  std::string provider;
  int step = 0;
  base::json request; // location, size, disk_gb, idle_minutes, hourly_usd, creation
  std::string started_at;
  std::string owner;                // process_owner() of who writes it
  std::vector<host_object> objects; // made and not yet removed
  base::json created;               // create_host's answer, when it came

  bool owner_is_alive() const; // on this machine
};

class journal {
public:
  explicit journal(const folders& f) : directory_(f.state + "/cloud-hosts") {}

  base::result<void> write(const journal_entry& e) const;
  base::result<void> remove(std::string_view name) const;
  base::result<std::optional<journal_entry>> find(std::string_view name) const;
  // A file that cannot be read is an entry with its name and step 0.
  base::result<std::vector<journal_entry>> all() const;

private:
  std::string directory_;
};

} // namespace siteagent::fleet
