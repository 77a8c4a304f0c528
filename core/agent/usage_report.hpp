// SPDX-License-Identifier: MIT
// Books what the plugin measured (Waldur contract section 5): one bulk measurement per period,
// two decimals, only components that Waldur takes, only what changed.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"

#include <map>
#include <string>
#include <vector>

namespace siteagent::agent {

class usage_report {
public:
  // References must outlive it.
  usage_report(offering_context& offering, portal& waldur, environment& env);

  // One pass. An error: nothing could be measured. Called by one thread at a time.
  base::result<void> run();

private:
  using amounts = std::map<std::string, base::decimal>; // component type -> two decimals

  base::result<void> report_period(
      backend& cloud,
      const offering_info& info,
      const std::vector<waldur::resource>& resources,
      base::month period
  );
  base::result<std::vector<base::json>> measure(
      backend& cloud,
      const offering_info& info,
      const std::vector<waldur::resource>& resources,
      base::month period
  );
  amounts accepted(const offering_info& info, const base::json& total);
  void book(
      const offering_info& info,
      const waldur::resource& resource,
      amounts measured,
      base::month period
  );
  bool is_current(base::month period) const;
  void say_refused(const waldur::resource& resource, const base::error& e, base::month period);

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
};

} // namespace siteagent::agent
