// SPDX-License-Identifier: MIT
// `stado cloud host delete`: everything the host is made of released and confirmed gone, then its
// entry and its key.
#pragma once

#include "core/fleet/cloud_host/context.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

struct delete_report {
  std::string name;
  std::string provider;
  std::vector<released_object> released;
  bool is_entry_removed = false; // false: it was registered nowhere (an unfinished create)
  bool is_key_removed = false;   // false: there was none
  std::string generation;        // of the registry afterwards
};

base::json to_json(const delete_report& r);

// A name is known from the registry, from cloud_hosts_creating, or from a journal. `refused` with
// the seed's sentences: not known; something is held (detail: not_removed, and released). A create
// that still runs is never disturbed.
base::result<delete_report> remove(const context& c, std::string_view name);

// The same for a declared host when the lock is held already.
base::result<delete_report> remove_declared(const context& c, const target& t);

} // namespace siteagent::fleet::cloud_host
