// SPDX-License-Identifier: MIT
// Books what was measured of one resource in one period: compares with what Waldur holds first and
// writes only what differs.
#pragma once

#include "core/agent/environment.hpp"
#include "core/agent/portal.hpp"
#include "core/agent/usage/amounts.hpp"
#include "core/agent/usage/usage_books.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::agent {

struct booking_rules {
  bool may_decrease = false;     // false: a component measured over time never goes down
  bool with_users = true;        // also the shares of single users
  bool users_one_by_one = false; // a request for each user instead of one for each component
  bool zero_stale = false;       // what Waldur holds and the measurement lacks becomes zero
  bool dry_run = false;          // only tell what would change
};

struct usage_change {
  std::string component;
  std::string user;   // "" = the total
  std::string before; // "" = no record, or several
  std::string after;  // two decimals
};

struct booking_outcome {
  enum class kind : std::uint8_t {
    booked,    // or would be, in a dry run
    unchanged, // or nothing to book
    refused,   // the account may not book that past period; harmless
    failed     // `why`; told in the log
  };

  kind what = kind::unchanged;
  std::vector<usage_change> changes = {};
  std::optional<base::error> why = {};
};

// One pass. Driven by one thread.
class booking {
public:
  // References must outlive it.
  booking(
      offering_context& offering,
      portal& waldur,
      environment& env,
      const offering_info& info,
      booking_rules rules
  );

  booking_outcome
  book(const waldur::resource& resource, measured_usage measured, base::month period);

private:
  using records = std::map<std::string, std::vector<waldur::component_usage>>; // by type
  using shares = std::map<std::string, std::map<std::string, base::decimal>>;  // type, username

  // What one book() works on.
  struct entry {
    const waldur::resource& resource;
    base::month period;
    observe::logger log;
    records stored = {};
    booking_outcome out = {};
  };

  base::result<void> read_stored(entry& e);
  void add_stale(const entry& e, amounts& total) const;
  bool is_anomalous(const entry& e, const amounts& total) const;
  void compare(entry& e, const amounts& total) const;
  base::result<void> book_total(entry& e, const amounts& total);
  base::result<void> book_users(entry& e, const measured_usage& measured);
  base::result<shares> read_shares(const entry& e, usage_books& books) const;
  base::result<void>
  write_users(entry& e, usage_books& books, const std::string& component, const amounts& users);
  std::optional<base::uuid> offering_user_of(usage_books& books, const std::string& username);
  booking_outcome failed(entry& e, base::error why) const;

  offering_context& offering_;
  portal& waldur_;
  environment& env_;
  const offering_info& info_;
  const booking_rules rules_;
  std::optional<std::map<std::string, base::uuid>> offering_users_; // by username, when read
};

} // namespace siteagent::agent
