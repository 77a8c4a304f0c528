// SPDX-License-Identifier: MIT
// The part of a seed about people: their accounts, limits and keys, and about imports and policies.
#include "core/base/decimal.hpp"
#include "members.hpp"
#include "seed_parts.hpp"

#include <array>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::array<std::string_view, 3> account_states{"OK", "Closed", "Erred"};
constexpr std::array<std::string_view, 4> key_states{"Creating", "OK", "Updating", "Erred"};
constexpr std::array<std::string_view, 4> request_states{"Sent", "Processing", "Done", "Erred"};

void seed_offering_user(store& s, seed_item& item, std::size_t n, base::wall_time now) {
  offering_user x;
  x.uuid = item.uuid("uuid", default_uuid(4'000'001 + n));
  x.offering = item.reference("offering", s.offerings, first_uuid(s.offerings));
  // Without a name: the users that are neither staff nor managers, one after the other.
  x.user = item.reference("user", s.users, nth_member(s, n));
  x.username = item.text("username", "");
  x.state = item.one_of("state", x.username.empty() ? "Requested" : "OK", offering_user_states);
  x.is_restricted = item.flag("is_restricted", false);
  x.comment = item.text("comment", "");
  x.comment_url = item.text("comment_url", "");
  x.created = now;
  x.modified = now;
  s.offering_users.add(std::move(x));
}

void seed_account(
    store& s, seed_item& item, std::size_t n, const std::string& kind, base::wall_time now
) {
  project_account x;
  const bool is_service = kind == "service_account";
  x.uuid = item.uuid("uuid", default_uuid((is_service ? 5'000'001 : 5'500'001) + n));
  x.kind = kind;
  x.username = item.text("username", (is_service ? "svc-" : "course-") + std::to_string(n + 1));
  x.email = item.text("email", "");
  x.state = item.one_of("state", "OK", account_states);
  x.project = item.reference("project", s.projects, first_uuid(s.projects));
  x.created = now;
  s.accounts.add(std::move(x));
}

void seed_user_limit(store& s, seed_item& item, std::size_t n) {
  user_limit x;
  x.uuid = item.uuid("uuid", default_uuid(9'000'001 + n));
  x.resource = item.reference("resource", s.resources, first_uuid(s.resources));
  x.component_type = item.text("component_type", "cpu");
  x.offering_user = item.reference("user", s.offering_users, first_uuid(s.offering_users));
  x.limit = item.text("limit", "1");
  s.user_limits.add(std::move(x));
}

void seed_api_key(store& s, seed_item& item, std::size_t n, base::wall_time now) {
  api_key x;
  x.uuid = item.uuid("uuid", default_uuid(6'000'001 + n));
  x.resource = item.reference("resource", s.resources, first_uuid(s.resources));
  x.client_id = item.text("client_id", "client-" + std::to_string(n + 1));
  x.state = item.one_of("state", "OK", key_states);
  x.key = item.text("api_key", "");
  x.created = now;
  x.modified = item.time("modified", now);
  s.api_keys.add(std::move(x));
}

void seed_import_request(store& s, seed_item& item, std::size_t n, base::wall_time now) {
  import_request x;
  x.uuid = item.uuid("uuid", default_uuid(7'000'001 + n));
  x.offering = item.reference("offering", s.offerings, first_uuid(s.offerings));
  x.state = item.one_of("state", "Sent", request_states);
  x.created = now;
  s.import_requests.add(std::move(x));
}

void seed_usage(store& s, seed_item& item, std::size_t n, base::wall_time now) {
  component_usage x;
  x.uuid = item.uuid("uuid", default_uuid(3'500'001 + n));
  x.resource = item.reference("resource", s.resources, first_uuid(s.resources));
  x.type = item.text("type", "cpu");
  const auto amount = base::decimal::parse(item.text("usage", "0"));
  if (!amount) {
    item.complain("usage must be a decimal number in quotes");
  }
  x.usage = amount.value_or(base::decimal()).to_fixed(2);
  x.billing_period = item.text("billing_period", base::to_rfc3339(now).substr(0, 7) + "-01");
  x.date = x.billing_period + "T00:00:00Z";
  x.created = now;
  x.modified = now;
  s.usages.add(std::move(x));
}

void seed_policy(store& s, seed_item& item, std::size_t n) {
  periodic_policy x;
  x.uuid = item.uuid("uuid", default_uuid(8'000'001 + n));
  x.offering = item.reference("offering", s.offerings, first_uuid(s.offerings));
  s.policies.add(std::move(x));
}

base::result<void> seed_accounts(
    store& s, const json& d, std::string_view key, const std::string& kind, base::wall_time now
) {
  const json* list = d.find(key);
  if (list == nullptr) {
    return {};
  }
  s.accounts.remove_if([&](const project_account& a) { return a.kind == kind; });
  return for_each_item(*list, key, [&](seed_item& item, std::size_t n) {
    seed_account(s, item, n, kind, now);
  });
}

} // namespace

base::result<void> read_people(store& s, const json& d, base::wall_time now) {
  using item_t = seed_item;
  using size = std::size_t;
  std::vector<base::result<void>> steps;
  steps.push_back(read_list(d, "offering_users", s.offering_users, [&](item_t& i, size n) {
    seed_offering_user(s, i, n, now);
  }));
  steps.push_back(read_list(d, "component_usages", s.usages, [&](item_t& i, size n) {
    seed_usage(s, i, n, now);
  }));
  steps.push_back(seed_accounts(s, d, "service_accounts", "service_account", now));
  steps.push_back(seed_accounts(s, d, "course_accounts", "course_account", now));
  steps.push_back(read_list(d, "user_limits", s.user_limits, [&](item_t& i, size n) {
    seed_user_limit(s, i, n);
  }));
  steps.push_back(read_list(d, "api_keys", s.api_keys, [&](item_t& i, size n) {
    seed_api_key(s, i, n, now);
  }));
  steps.push_back(read_list(d, "import_requests", s.import_requests, [&](item_t& i, size n) {
    seed_import_request(s, i, n, now);
  }));
  steps.push_back(read_list(d, "periodic_policies", s.policies, [&](item_t& i, size n) {
    seed_policy(s, i, n);
  }));
  for (const auto& step : steps) {
    if (!step) {
      return step;
    }
  }
  return {};
}

void repair_people(store& s) {
  const auto gone = [](const auto& t, const std::string& uuid) { return t.find(uuid) == nullptr; };
  s.offering_users.remove_if([&](const offering_user& x) {
    return gone(s.offerings, x.offering) || gone(s.users, x.user);
  });
  s.accounts.remove_if([&](const project_account& x) { return gone(s.projects, x.project); });
  s.user_limits.remove_if([&](const user_limit& x) {
    return gone(s.resources, x.resource) || gone(s.offering_users, x.offering_user);
  });
  s.api_keys.remove_if([&](const api_key& x) { return gone(s.resources, x.resource); });
  s.import_requests.remove_if([&](const import_request& x) { return gone(s.offerings, x.offering); }
  );
  s.importables.remove_if([&](const importable& x) {
    return gone(s.offerings, x.offering) || gone(s.projects, x.project);
  });
  s.policies.remove_if([&](const periodic_policy& x) { return gone(s.offerings, x.offering); });
}

std::string nth_member(const store& s, std::size_t n) {
  for (const auto& u : s.users.rows()) {
    bool is_provider = u.is_staff;
    for (const auto& g : u.grants) {
      is_provider = is_provider || g.scope == "offering";
    }
    if (!is_provider && n-- == 0) {
      return u.uuid;
    }
  }
  return first_uuid(s.users);
}

} // namespace siteagent::waldur_emulator
