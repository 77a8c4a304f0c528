// SPDX-License-Identifier: MIT
// Returning a host, and undoing a create: machine with its disk, interface, group, address, each
// to its proven absence. What cannot go is held with its cause and stops only what depends on it.
#pragma once

#include "plugins/azure/cloud_host/objects.hpp"
#include "plugins/azure/services.hpp"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::azure::cloud_host {

struct released_object {
  kind_id which;
  resource_id id;
  bool was_there = true;
};

struct held_object {
  kind_id which;
  resource_id id;
  std::string cause;
  bool retryable = false;
};

struct removal_outcome {
  std::vector<released_object> released;
  std::vector<held_object> held;
  std::optional<base::error> stopped; // the host said stop: nothing more was tried
  std::optional<base::error> blind;   // the first look failed: nothing is known, nothing was done
};

struct removal_target {
  kind_id which;
  resource_id id;
};

// Why the object that is there must stay, or "".
using objection = std::function<std::string(const removal_target& t, const base::json& seen)>;

struct removal_job {
  const services& cloud;
  const arm::scope& call;
  std::vector<removal_target> targets;
  objection object;
  bool dry_run = false;
  bool undoing = false; // a first look that fails stops nothing: what was made may be there
};

removal_outcome remove_in_order(const removal_job& job);

struct deletion {
  const services& cloud;
  const host_settings& s;
  const arm::scope& call;
  std::string name;
  std::string vm_id;    // "": whatever carries the tag
  base::json resources; // null likewise
  std::string tag;
  bool dry_run = false;
};

// The answer of delete_host. Errors: a record that names foreign objects, a first look or list
// that failed, stop.
base::result<base::json> delete_host(const deletion& d);

} // namespace siteagent::azure::cloud_host
