// SPDX-License-Identifier: MIT
// Removes what earlier runs left in the cloud: objects with our tags whose resource Waldur
// positively shows as over. "Not visible in Waldur" is unknown, not gone.
#pragma once

#include "core/agent/backend.hpp"
#include "core/agent/environment.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"

#include <atomic>
#include <map>
#include <string>

namespace siteagent::agent {

class sweep {
public:
  // References must outlive it.
  sweep(offering_context& offering, portal& waldur, environment& env);
  ~sweep(); // waits for the one that runs

  // Starts one on the pool unless one is running.
  void start();

  void wait() { group_.wait(); }

  bool is_idle() const { return group_.is_idle(); }

private:
  struct found {
    bool has_machine = false;
  };

  void run();
  base::result<std::map<base::uuid, found>> list(backend& cloud);
  void settle(backend& cloud, const base::uuid& resource, const found& what);
  void remove(backend& cloud, const waldur::resource& resource, bool keep_working_machine);

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
  std::atomic<bool> running_{false};
  task_group group_;
};

} // namespace siteagent::agent
