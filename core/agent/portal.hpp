// SPDX-License-Identifier: MIT
// What the agent asks of Waldur for one offering: waldur::client behind an interface, so that the
// machines of this folder can be tested against a portal that misbehaves on purpose.
#pragma once

#include "core/waldur/client.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

class people;
class usage_books;
class registry;
class event_portal;

// Errors as waldur::client documents them. Blocking. [any thread]
class portal {
public:
  portal() = default;
  portal(const portal&) = delete;
  portal& operator=(const portal&) = delete;
  virtual ~portal() = default;

  // Reads: retried below this line. Writes: sent once.
  virtual base::result<std::vector<waldur::order>> list_orders() = 0;
  virtual base::result<waldur::order> get_order(const base::uuid& order) = 0;
  virtual base::result<std::string> get_order_state(const base::uuid& order) = 0;
  virtual base::result<void> approve(const base::uuid& order) = 0;
  virtual base::result<void> reject(const base::uuid& order, std::string_view comment) = 0;
  virtual base::result<void> set_done(const base::uuid& order) = 0;
  virtual base::result<void> set_erred(const base::uuid& order, std::string_view message) = 0;

  virtual base::result<waldur::offering> get_offering() = 0;
  virtual base::result<waldur::plan> get_plan(const base::uuid& plan) = 0;
  virtual base::result<std::map<std::string, std::string>> list_ssh_keys(const base::uuid& customer
  ) = 0;

  virtual base::result<waldur::resource> get_resource(const base::uuid& resource) = 0;
  virtual base::result<std::vector<waldur::resource>>
  list_resources(const std::vector<std::string>& states) = 0;
  virtual base::result<void>
  set_backend_id(const base::uuid& resource, std::string_view backend_id) = 0;
  virtual base::result<void>
  set_backend_metadata(const base::uuid& resource, const base::json& metadata) = 0;
  virtual base::result<void> set_limits(const base::uuid& resource, const waldur::limits& l) = 0;
  virtual base::result<void>
  set_endpoints(const base::uuid& resource, const std::vector<waldur::endpoint>& endpoints) = 0;
  virtual base::result<void>
  set_resource_erred(const base::uuid& resource, std::string_view message) = 0;
  virtual base::result<void> set_resource_ok(const base::uuid& resource) = 0;
  virtual base::result<void> refresh_last_sync(const base::uuid& resource) = 0;

  virtual base::result<std::vector<waldur::component_usage>>
  list_usages(const base::uuid& resource, std::string_view billing_period) = 0;
  virtual base::result<void> set_usage(
      const base::uuid& resource,
      std::string_view date,
      const std::vector<waldur::usage_item>& usages
  ) = 0;

  // The offering's users, as long as this portal lives; null: nobody may be asked
  // (members/people.hpp).
  virtual people* find_people() { return nullptr; }

  // The usage of single users, likewise (usage/usage_books.hpp).
  virtual usage_books* find_usage_books() { return nullptr; }

  // The agent's own records, likewise (registration.hpp).
  virtual registry* find_registry() { return nullptr; }

  // What events need, likewise (events/event_portal.hpp).
  virtual event_portal* find_events() { return nullptr; }
};

// The real one.
std::unique_ptr<portal> make_portal(std::unique_ptr<waldur::client> client, base::uuid offering);

} // namespace siteagent::agent
