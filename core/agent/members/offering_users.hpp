// SPDX-License-Identifier: MIT
// The accounts of an offering's users (Waldur contract 4.5): those who wait for a name, and those
// who leave. Done only where the provider manages usernames himself and may create offering users.
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/members/people.hpp"
#include "core/agent/members/usernames.hpp"
#include "core/agent/offering_context.hpp"
#include "core/agent/portal.hpp"

#include <map>
#include <memory>
#include <string>
#include <vector>

namespace siteagent::agent {

// Blocking. [any thread]
class offering_users {
public:
  // References must outlive it. `source` null: usernames are not managed, nothing is done here.
  offering_users(
      offering_context& offering,
      portal& waldur,
      people& people_of_offering,
      environment& env,
      std::unique_ptr<username_source> source
  );

  // Everybody who waits for us. An error: something could not be done now; the rest was.
  base::result<void> refresh();
  // The same for some.
  base::result<void> handle(const std::vector<waldur::offering_user>& users);
  // The names of those who have one, asked for anew.
  base::result<void> reconcile();

private:
  using user_list = std::vector<waldur::offering_user>;

  base::result<bool> is_ours();
  base::result<void> handle_ours(const user_list& users);
  base::result<void> give_name(const waldur::offering_user& user);
  base::result<void> take_answer(const waldur::offering_user& user, const username_answer& answer);
  base::result<void> tear_down(const user_list& leaving);
  base::result<void> remove_everywhere(const std::vector<std::string>& usernames);
  base::result<std::map<base::uuid, base::json>>
  pull(backend& cloud, const std::vector<waldur::resource>& resources);
  base::result<void> remove_from(
      backend& cloud, const waldur::resource& resource, const std::vector<std::string>& usernames
  );
  base::result<void>
  write(const char* what, const base::uuid& user, const std::function<base::result<void>()>& call);

  offering_context& offering_;
  portal& waldur_;
  people& people_;
  environment& env_;
  const std::unique_ptr<username_source> source_;
};

} // namespace siteagent::agent
