// SPDX-License-Identifier: MIT
// A reporting offering with one machine whose figures the test sets.
#pragma once

#include "world.hpp"

#include "core/agent/usage/usage_books.hpp"
#include "core/agent/usage_report.hpp"

#include <gmock/gmock.h>

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::agent::test {

// The shares of users in memory; writes are journaled as "set_user_usages uuid name=amount ...".
class fake_books final : public usage_books {
public:
  base::result<std::vector<waldur::user_usage>>
  list_user_usages(const base::uuid& /*resource*/, std::string_view billing_period) override {
    ++reads;
    return failure ? base::result<std::vector<waldur::user_usage>>(*failure)
                   : stored[std::string(billing_period)];
  }

  base::result<void> set_user_usages(
      const base::uuid& record, const std::vector<waldur::user_usage_item>& items
  ) override {
    std::string line = "set_user_usages " + record.hex().substr(30);
    for (const waldur::user_usage_item& item : items) {
      line += " " + item.username + "=" + item.usage;
      line += item.offering_user ? "@" + item.offering_user->hex().substr(30) : "";
      dates.push_back(item.date);
    }
    writes.push_back(std::move(line));
    return {};
  }

  base::result<void>
  set_user_usage(const base::uuid& record, const waldur::user_usage_item& item) override {
    writes.push_back(
        "set_user_usage " + record.hex().substr(30) + " " + item.username + "=" + item.usage
    );
    return {};
  }

  base::result<std::map<std::string, base::uuid>> list_offering_users() override {
    ++user_lists;
    return offering_users;
  }

  base::result<bool> is_staff() override { return staff; }

  std::map<std::string, std::vector<waldur::user_usage>> stored; // by billing period
  std::map<std::string, base::uuid> offering_users;
  std::vector<std::string> writes;
  std::vector<std::string> dates;
  std::optional<base::error> failure;
  unsigned reads = 0;
  unsigned user_lists = 0;
  bool staff = true;
};

class usage_report_test : public ::testing::Test {
protected:
  usage_report_test() {
    at("2026-11-15T12:00:00Z");
    w.settings.reporting_periods = 1;
    w.renew_offering();
    machine(1);
    total(1, base::json::object({{"cpu", "2"}, {"ram", 4096}}));
    w.cloud->on(
        host::operation::report_usage,
        [this](const host::call_request& request, const auto&) {
          std::vector<base::json> rows;
          for (const auto& [uuid, figures] : totals.members()) {
            base::json r = base::json::object({{"uuid", uuid}});
            r.set(
                "measured",
                !figures.is_null() && request.body.at({"period", "month"}) == base::json(month)
            );
            r.set("total", figures);
            if (const base::json* shares = users.find(uuid)) {
              r.set("users", *shares);
            }
            rows.push_back(std::move(r));
          }
          return fake_cloud::emitted(rows);
        }
    );
  }

  void at(const char* time) {
    const auto gap = *base::parse_rfc3339(time) - w.clock.wall();
    w.clock.advance(std::chrono::duration_cast<std::chrono::milliseconds>(gap));
  }

  void machine(unsigned n) {
    w.waldur.add_resource(n, "OK").backend_id = "/vm/" + std::to_string(n);
  }

  void total(unsigned n, base::json figures) { totals.set(uuid_of(n).hex(), std::move(figures)); }

  base::result<void> report() {
    usage_report r(*w.offering, w.waldur, w.env);
    return r.run();
  }

  void component(const char* type, const char* billing) {
    waldur::offering_component c;
    c.type = type;
    c.billing_type = billing;
    w.waldur.offering.components.push_back(c);
    w.renew_offering();
  }

  // The component cpu, measured in hours.
  void meter_hours() {
    config::offering c = make_offering();
    config::value hours;
    hours.type = config::value::kind::scalar;
    hours.text = "hours";
    c.components[0].raw.map.emplace_back("metering", hours);
    w.renew_offering(c);
  }

  std::vector<std::string> booked() { return w.waldur.writes("set_usage"); }

  std::string line(const std::string& rest, unsigned n = 1) {
    return "set_usage " + uuid_of(n).hex() + " " + rest;
  }

  world w;
  base::json totals = base::json::object();
  base::json users = base::json::object();
  int month = 11;
};

} // namespace siteagent::agent::test
