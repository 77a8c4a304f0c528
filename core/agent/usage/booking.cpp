// SPDX-License-Identifier: MIT
#include "core/agent/usage/booking.hpp"

#include "core/agent/order_run.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

namespace {

using kind = booking_outcome::kind;

std::optional<base::decimal> amount_of(const waldur::component_usage& u) {
  const auto amount = base::decimal::parse(u.usage);
  return amount ? std::optional(amount->rounded(usage_decimals)) : std::nullopt;
}

bool says(const base::error& e, std::string_view words) {
  return e.http_status == 400 && e.message.find(words) != std::string::npos;
}

// Waldur's words for a past period that only staff may book.
bool is_closed_period(const base::error& e) {
  return says(e, "backfilling past billing periods");
}

// Of a resource in error; it is reported once it is well again.
bool is_wrong_state(const base::error& e) {
  return says(e, "not in valid state");
}

} // namespace

booking::booking(
    offering_context& offering,
    portal& waldur,
    environment& env,
    const offering_info& info,
    booking_rules rules
)
    : offering_(offering), waldur_(waldur), env_(env), info_(info), rules_(rules) {}

booking_outcome
booking::book(const waldur::resource& resource, measured_usage measured, base::month period) {
  entry e{
      resource,
      period,
      offering_.log().with("resource", resource.uuid.hex()).with("period", period_text(period))};
  if (measured.total.empty()) {
    return e.out;
  }
  if (auto read = read_stored(e); !read) {
    return failed(e, base::with_context(std::move(read).error(), "stored usage unreadable"));
  }
  if (rules_.zero_stale) {
    add_stale(e, measured.total);
  }
  if (!rules_.may_decrease && is_anomalous(e, measured.total)) {
    e.out.what = kind::failed;
    return e.out;
  }
  compare(e, measured.total);
  if (!e.out.changes.empty()) {
    e.out.what = kind::booked;
    if (auto booked = book_total(e, measured.total); !booked) {
      return failed(e, std::move(booked).error());
    }
  }
  if (auto booked = book_users(e, measured); !booked) {
    return failed(e, std::move(booked).error());
  }
  return e.out;
}

base::result<void> booking::read_stored(entry& e) {
  const auto rows = waldur_.list_usages(e.resource.uuid, period_text(e.period));
  if (!rows) {
    return rows.error();
  }
  e.stored.clear();
  for (const waldur::component_usage& row : *rows) {
    e.stored[row.type].push_back(row);
  }
  return {};
}

void booking::add_stale(const entry& e, amounts& total) const {
  for (const auto& [type, rows] : e.stored) {
    if (takes_usage(info_, type)) {
      total.try_emplace(type, 0);
    }
  }
}

// What is measured over time and goes down was measured wrongly, now or before.
bool booking::is_anomalous(const entry& e, const amounts& total) const {
  for (const auto& [type, amount] : total) {
    const auto stored = e.stored.find(type);
    if (stored == e.stored.end() || !accumulates(info_, type)) {
      continue;
    }
    const waldur::component_usage& first = stored->second.front();
    const auto before = amount_of(first);
    if (stored->second.size() > 1) {
      e.log.error(
          "usage has several records of one component in one month; nothing is booked, remove one",
          {{"component", type}}
      );
      return true;
    }
    if (before && amount < *before) {
      e.log.error(
          "measured usage is lower than what is booked already; nothing is booked, check the meter",
          {{"component", type},
           {"booked", first.usage},
           {"measured", amount.to_fixed(usage_decimals)}}
      );
      return true;
    }
  }
  return false;
}

// Records of components that were not measured now stay as they are.
void booking::compare(entry& e, const amounts& total) const {
  for (const auto& [type, amount] : total) {
    const auto stored = e.stored.find(type);
    const bool single = stored != e.stored.end() && stored->second.size() == 1;
    if (single && amount_of(stored->second.front()) == amount) {
      continue;
    }
    e.out.changes.push_back(
        {type, "", single ? stored->second.front().usage : "", amount.to_fixed(usage_decimals)}
    );
  }
}

base::result<void> booking::book_total(entry& e, const amounts& total) {
  if (rules_.dry_run) {
    return {};
  }
  std::vector<waldur::usage_item> items;
  for (const auto& [type, amount] : total) {
    items.push_back({type, amount.to_fixed(usage_decimals)});
  }
  const std::string date = offering_.settings().timezone.start_text(e.period);
  // The value is "so far this month", so repeating it after an unknown outcome is safe.
  base::result<void> answer =
      repeat_write(env_, [&] { return waldur_.set_usage(e.resource.uuid, date, items); });
  if (answer) {
    e.log.info("usage booked", {{"components", std::to_string(items.size())}});
  }
  return answer;
}

base::result<void> booking::book_users(entry& e, const measured_usage& measured) {
  usage_books* books = waldur_.find_usage_books();
  const bool any = !measured.users.empty() || (rules_.zero_stale && !e.stored.empty());
  if (!rules_.with_users || books == nullptr || !any) {
    return {};
  }
  // The records the totals made have their uuids from Waldur.
  if (e.out.what == kind::booked && !rules_.dry_run) {
    if (auto read = read_stored(e); !read) {
      return read;
    }
  }
  const base::result<shares> stored = read_shares(e, *books);
  if (!stored) {
    return stored.error();
  }
  shares wanted; // by component, as Waldur takes them
  for (const auto& [username, figures] : measured.users) {
    for (const auto& [type, amount] : figures) {
      wanted[type].emplace(username, amount);
    }
  }
  if (rules_.zero_stale) {
    for (const auto& [type, users] : *stored) {
      for (const auto& [username, amount] : users) {
        wanted[type].try_emplace(username, 0);
      }
    }
  }
  for (auto& [type, users] : wanted) {
    const auto before = stored->find(type);
    amounts changed;
    for (const auto& [username, amount] : users) {
      const bool known = before != stored->end() && before->second.count(username) != 0;
      if (known && before->second.at(username) == amount) {
        continue;
      }
      changed.emplace(username, amount);
      e.out.changes.push_back(
          {type,
           username,
           known ? before->second.at(username).to_fixed(usage_decimals) : "",
           amount.to_fixed(usage_decimals)}
      );
    }
    if (changed.empty()) {
      continue;
    }
    e.out.what = kind::booked;
    if (auto written = write_users(e, *books, type, changed); !written) {
      return written;
    }
  }
  return {};
}

base::result<booking::shares> booking::read_shares(const entry& e, usage_books& books) const {
  const auto rows = books.list_user_usages(e.resource.uuid, period_text(e.period));
  if (!rows) {
    return base::with_context(rows.error(), "stored usage of users unreadable");
  }
  std::map<base::uuid, std::string> types;
  for (const auto& [type, same_type] : e.stored) {
    for (const waldur::component_usage& u : same_type) {
      types.emplace(u.uuid, type);
    }
  }
  shares out;
  for (const waldur::user_usage& u : *rows) {
    const auto type = u.component_usage ? types.find(*u.component_usage) : types.end();
    const auto amount = base::decimal::parse(u.usage);
    if (type != types.end() && !u.username.empty() && amount) {
      out[type->second].insert_or_assign(u.username, amount->rounded(usage_decimals));
    }
  }
  return out;
}

base::result<void> booking::write_users(
    entry& e, usage_books& books, const std::string& component, const amounts& users
) {
  if (rules_.dry_run) {
    return {};
  }
  const auto record = e.stored.find(component);
  if (record == e.stored.end() || record->second.empty()) {
    e.log.warning(
        "usage of users has no record of their component to go to; it is not reported",
        {{"component", component}}
    );
    return {};
  }
  const base::uuid& target = record->second.front().uuid;
  std::vector<waldur::user_usage_item> items;
  for (const auto& [username, amount] : users) {
    items.push_back(
        {username,
         amount.to_fixed(usage_decimals),
         offering_.settings().timezone.start_text(e.period),
         offering_user_of(books, username)}
    );
  }
  if (!rules_.users_one_by_one) {
    return repeat_write(env_, [&] { return books.set_user_usages(target, items); });
  }
  for (const waldur::user_usage_item& item : items) {
    auto answer = repeat_write(env_, [&] { return books.set_user_usage(target, item); });
    if (!answer) {
      return answer;
    }
  }
  return {};
}

// Read once per pass. A name that belongs to nobody there is reported as a name alone.
std::optional<base::uuid>
booking::offering_user_of(usage_books& books, const std::string& username) {
  if (!offering_users_) {
    auto users = books.list_offering_users();
    if (!users) {
      offering_.log().failure(
          observe::level::warning,
          "offering users unreadable; usage of users goes by their names alone",
          users.error()
      );
    }
    offering_users_ = users ? *std::move(users) : std::map<std::string, base::uuid>();
  }
  const auto found = offering_users_->find(username);
  return found == offering_users_->end() ? std::nullopt : std::optional(found->second);
}

booking_outcome booking::failed(entry& e, base::error why) const {
  e.out.what = is_closed_period(why) ? kind::refused : kind::failed;
  if (e.out.what == kind::refused) {
    e.log.info("Waldur takes no usage for that past period from this account");
  } else if (is_wrong_state(why)) {
    e.log.failure(observe::level::info, "usage not booked while the resource is as it is", why);
  } else if (!env_.stop.stop_requested()) {
    e.log.failure(observe::level::warning, "usage not booked", why);
  }
  e.out.why = std::move(why);
  return e.out;
}

} // namespace siteagent::agent
