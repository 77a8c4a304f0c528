// SPDX-License-Identifier: MIT
// Creates that are not recorded: running ones, here or on another machine, and what killed ones
// left. Known from the journals here and from the registry's cloud_hosts_creating.
#pragma once

#include "core/fleet/cloud_host/context.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

struct unfinished {
  enum class life : std::uint8_t {
    running,   // its process is alive on this machine
    elsewhere, // begun on another machine less than two hours ago, longer than any create may take
    dead,
  };

  std::string name;
  std::string provider; // "" when the journal cannot be read
  std::string location;
  std::string size;
  std::optional<base::decimal> hourly;
  std::string started_at; // also the value of the tag stado_created on what it made
  std::string by;         // "build-1 pid 123"
  life state = life::dead;
  std::optional<journal_entry> journal; // of this machine
  bool is_marked = false;               // in the registry

  // "creating b1 (eastus, by build-1 pid 123 since <time>)", for sentences.
  std::string text() const;
};

// Every one of this provider, markers first, in their order. A journal whose host is recorded with
// the machine it made is finished and left out.
base::result<std::vector<unfinished>>
unfinished_creates(const context& c, const base::json& registry);
base::result<std::optional<unfinished>>
find_unfinished(const context& c, const base::json& registry, std::string_view name);

// Says on the narrator what killed creates left, and how to return it. Errors of reading are said,
// too.
void warn_of_leftovers(const context& c, const base::json& registry);

// Removes from the cloud what such a create made, and nothing else: objects that carry the name but
// not this create's stado_created stay. Nothing of it there is an empty removal.
base::result<removal> release_unfinished(
    const context& c, const unfinished& u, const progress_function& progress, std::stop_token stop
);

} // namespace siteagent::fleet::cloud_host
