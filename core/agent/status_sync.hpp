// SPDX-License-Identifier: MIT
// Keeps Waldur and the cloud in step for machines that exist (Waldur contract 4.2 rows 5, 6, 8, 10,
// 11 and 4.3): paused and downscaled, metadata, erred and OK again. One bulk read per pass; unknown
// changes nothing.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace siteagent::agent {

// Member of a resource's metadata: true while the machine stands because the agent stopped it.
inline constexpr const char* stopped_marker = "stopped_by_agent";

class status_sync {
public:
  // References must outlive it.
  status_sync(offering_context& offering, portal& waldur, environment& env);

  // One pass over all resources; returns when its work has ended. An error: nothing could be done.
  // Called by one thread at a time.
  base::result<void> run();

private:
  // What earlier passes saw; one entry per resource, used by one task at a time.
  struct history {
    unsigned absent = 0; // consecutive passes
    unsigned failed = 0;
    unsigned start_failures = 0;
    base::steady_time start_not_before{};
  };

  using rows = std::map<base::uuid, base::json>;

  base::result<rows> pull(backend& cloud, const std::vector<waldur::resource>& resources);
  void
  sync_one(backend& cloud, const waldur::resource& resource, const base::json& row, history& past);
  void record(
      const waldur::resource& resource,
      const base::json& metadata,
      bool marked,
      const base::json& limits
  );
  void
  report_trouble(const waldur::resource& resource, const base::json& row, std::string_view message);
  // The plugin's answer to a change of power, or a null when nothing was to do; an error: skip the
  // rest of this resource's pass.
  base::result<base::json> set_power(
      backend& cloud,
      const waldur::resource& resource,
      const std::string& power,
      bool marked,
      history& past
  );
  base::result<base::json>
  change_power(backend& cloud, host::operation op, const waldur::resource& resource);
  bool post_metadata(const waldur::resource& resource, base::json metadata, bool marked);
  base::result<void> write(
      const waldur::resource& resource,
      const char* what,
      const std::function<base::result<void>()>& request
  );

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
  std::map<base::uuid, history> histories_;
};

} // namespace siteagent::agent
