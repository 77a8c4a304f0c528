// SPDX-License-Identifier: MIT
// What the agent would change, found by letting its own passes run against a Waldur and a cloud
// that can be read and not written: so the plan cannot differ from what a start would do.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"
#include "core/base/json.hpp"

#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace siteagent::agent {

struct planned_change {
  enum class target : std::uint8_t { waldur, cloud };

  target where = target::waldur;
  std::string action = {};   // "approve order", "create machine", "record metadata", ...
  std::string order = {};    // uuid, hex; empty: no order asks for it
  std::string resource = {}; // uuid, hex; empty: unknown
  std::string name = {};     // of the resource, as far as Waldur told
  base::json now = {};       // null: nothing, or not known
  base::json then = {};      // null: the action says it all
};

// Collects changes; the same change a second time is one. [any thread]
class change_list {
public:
  void add(planned_change change);
  std::vector<planned_change> take();

private:
  std::mutex mutex_;
  std::vector<planned_change> changes_;
  std::set<std::string> known_;
};

// Reads pass through; a write becomes a change and is answered as if it had been done: later reads
// show it. References must outlive it.
std::unique_ptr<portal> make_planning_portal(portal& waldur, change_list& changes);

// Reads pass through, a delete or create asks the plugin what it would do (dry run, and any
// plugin is stopped before its first write), power changes are only noted.
std::shared_ptr<backend>
make_planning_backend(std::shared_ptr<backend> cloud, change_list& changes);

// Everything an order pass, a sweep, a status pass and a usage report would change for an offering.
// `planning` must have been made by make_planning_portal, and the offering's plugins must be opened
// through make_planning_backend. An error: that part of the plan could not be made; the rest is.
std::vector<base::error>
plan_offering(offering_context& offering, portal& planning, environment& env);

} // namespace siteagent::agent
