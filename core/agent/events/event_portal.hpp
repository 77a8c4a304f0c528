// SPDX-License-Identifier: MIT
// What event processing asks of Waldur for one offering, beyond agent::portal: waldur::client
// behind an interface, so that a test can be a Waldur of any age and mood.
#pragma once

#include "core/waldur/client.hpp"

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

// Errors as waldur::client documents them. Blocking. [any thread]
class event_portal {
public:
  event_portal() = default;
  event_portal(const event_portal&) = delete;
  event_portal& operator=(const event_portal&) = delete;
  virtual ~event_portal() = default;

  // The registrations make the agent's identity where there is none.
  virtual base::result<waldur::event_queue> register_queue(const std::vector<std::string>& types
  ) = 0;
  virtual base::result<waldur::event_queue> register_legacy_queue(const std::string& type) = 0;

  // Open orders of one resource, oldest first.
  virtual base::result<std::vector<waldur::order>> list_orders_of(const base::uuid& resource) = 0;
  // Keeps the portal from showing the agent as disconnected.
  virtual base::result<void> ping() = 0;

  virtual base::result<std::string> get_import_request(const base::uuid& request) = 0; // its state
  virtual base::result<void> start_import(const base::uuid& request) = 0;
  virtual base::result<void> finish_import(const base::uuid& request) = 0;
  virtual base::result<void> fail_import(const base::uuid& request, std::string_view message) = 0;
  virtual base::result<std::optional<base::uuid>> find_project(std::string_view slug) = 0;
  virtual base::result<bool>
  is_importable_known(const base::uuid& project, std::string_view backend_id) = 0;
  virtual base::result<void> submit_importable(
      const base::uuid& project, std::string_view backend_id, const base::json& metadata
  ) = 0;

  virtual base::result<void> report_policy_result(
      const base::uuid& policy, const base::uuid& resource, bool success, std::string_view message
  ) = 0;
};

// The real one. `client` must outlive it.
std::unique_ptr<event_portal> make_event_portal(waldur::client& client, base::uuid offering);

} // namespace siteagent::agent
