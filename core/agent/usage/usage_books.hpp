// SPDX-License-Identifier: MIT
// What the agent asks of Waldur about the usage of single users: waldur::client behind an
// interface, as portal.hpp does it for machines.
#pragma once

#include "core/waldur/client.hpp"

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::agent {

// Reads are retried below this line, writes are sent once. Errors as waldur::client documents them.
// Blocking. [any thread]
class usage_books {
public:
  usage_books() = default;
  usage_books(const usage_books&) = delete;
  usage_books& operator=(const usage_books&) = delete;
  virtual ~usage_books() = default;

  virtual base::result<std::vector<waldur::user_usage>>
  list_user_usages(const base::uuid& resource, std::string_view billing_period) = 0;
  // All users of a component's record at once, or one.
  virtual base::result<void> set_user_usages(
      const base::uuid& component_usage, const std::vector<waldur::user_usage_item>& items
  ) = 0;
  virtual base::result<void>
  set_user_usage(const base::uuid& component_usage, const waldur::user_usage_item& item) = 0;

  // The offering's users by their usernames; those without one are left out.
  virtual base::result<std::map<std::string, base::uuid>> list_offering_users() = 0;

  // May these credentials book what others may not? An answer without that word is no.
  virtual base::result<bool> is_staff() = 0;
};

// The real one. `client` must outlive it.
std::unique_ptr<usage_books> make_usage_books(waldur::client& client, base::uuid offering);

} // namespace siteagent::agent
