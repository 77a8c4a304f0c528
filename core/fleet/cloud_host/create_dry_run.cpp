// SPDX-License-Identifier: MIT
// create --dry-run: every question create would ask, also behind one that fails; nothing is
// written.
#include "core/base/text.hpp"
#include "core/fleet/cloud_host/admission.hpp"
#include "core/fleet/cloud_host/create_rules.hpp"
#include "core/fleet/money.hpp"

#include <algorithm>

namespace siteagent::fleet::cloud_host {

namespace {

class rehearsal {
public:
  rehearsal(const context& c, dry_run_report& r, const base::json& registry)
      : at_(c), report_(r), registry_(registry) {}

  void ask() {
    ask_price();
    ask_credit();
    ask_addresses();
    ask_admission();
    ask_host();
  }

private:
  void good(std::string name, std::string detail) {
    report_.checks.push_back({.name = std::move(name), .ok = true, .detail = std::move(detail)});
  }

  void bad(std::string name, const base::error& e) {
    report_.checks.push_back({.name = std::move(name), .ok = false, .detail = e.message});
  }

  void ask_price() {
    const auto price = price_of(at_, report_.request);
    if (!price) {
      bad("price", price.error());
      return;
    }
    report_.price = *price;
    const auto hours = projected_burn(registry_, at_.id(), price->hour);
    if (!hours) {
      bad("price", hours.error());
      return;
    }
    report_.hours = *hours;
    const std::string line = burn_line(*hours, report_.request.name, *price);
    at_.talk->say(line);
    good("price", format_money(price->hour) + " USD an hour, " + price->where);
  }

  void ask_credit() {
    const auto floor = credit_floor_of(*at_.settings, at_.id());
    if (!floor) {
      bad("credit", floor.error());
      return;
    }
    report_.floor = *floor;
    at_.talk->waiting("the credit balance");
    const auto credit = at_.cloud->credit_balance();
    if (!credit) {
      bad("credit", credit.error());
      return;
    }
    if (!report_.price || !report_.hours) {
      bad("credit", {.message = "not judged without a price"});
      return;
    }
    const auto judged = judge_credit(
        *credit,
        *floor,
        *report_.hours,
        *report_.price,
        report_.request.name,
        report_.request.location,
        at_.cloud->description()
    );
    if (!judged) {
      bad("credit", judged.error());
      return;
    }
    report_.credit = *judged;
    if (judged->allowed) {
      at_.talk->say(judged->line);
      good(
          "credit",
          format_money(judged->after) + " USD would remain, above the floor " +
              format_money(floor->amount) + " " + floor->currency
      );
    } else {
      bad("credit", {.message = judged->line});
    }
  }

  void ask_addresses() {
    auto measured = measure_fleet(at_, registry_);
    if (!measured) {
      bad("fleet addresses", measured.error());
      return;
    }
    report_.egress = std::move(measured->records);
    if (measured->failures.empty()) {
      good("fleet addresses", base::join(addresses_of(report_.egress), ", "));
    } else {
      bad("fleet addresses", unmeasured(measured->failures));
    }
  }

  void ask_admission() {
    if (report_.egress.empty()) {
      bad("admission", {.message = "not asked without an address to admit"});
      return;
    }
    at_.talk->waiting("the network rules");
    const auto admitted = at_.cloud->admit_addresses(
        admission_for(at_, registry_, report_.egress, report_.request.location),
        true,
        [](const base::json&) { return base::result<void>(); },
        at_.stop
    );
    if (!admitted) {
      bad("admission", admitted.error());
      return;
    }
    for (const std::string& warning : admitted->warnings) {
      at_.talk->warn(warning);
    }
    const auto place = place_in(*admitted, report_.request.location);
    if (!place) {
      bad("admission", place.error());
      return;
    }
    group_id_ = place->group_id;
    good(
        "admission",
        place->rule == "none" ? "the subnet has no security group of its own"
                              : "rule " + std::string(admission_group) + ": " + place->rule
    );
  }

  void ask_host() {
    at_.talk->waiting("subnet, image, size, quota, names and rights");
    const auto checks = at_.cloud->try_create_host(
        host_request(at_, report_.request, report_.egress, group_id_, at_.now())
    );
    if (!checks) {
      bad("resources", checks.error());
      return;
    }
    report_.checks.insert(report_.checks.end(), checks->begin(), checks->end());
  }

  const context& at_;
  dry_run_report& report_;
  const base::json& registry_;
  std::string group_id_;
};

} // namespace

bool dry_run_report::would_create() const {
  return std::all_of(checks.begin(), checks.end(), [](const check_line& l) {
    return l.ok || !l.needed;
  });
}

base::json to_json(const dry_run_report& r, std::string_view provider) {
  base::json out = base::json::object(
      {{"name", r.request.name},
       {"provider", provider},
       {"location", r.request.location},
       {"size", r.request.size},
       {"disk_gb", r.request.disk_gb},
       {"idle_minutes", r.request.idle_minutes},
       {"hourly_usd", nullptr},
       {"priced_where", nullptr},
       {"projected", r.hours ? projected_json(*r.hours) : base::json()},
       {"credit", r.credit ? credit_json(*r.credit, *r.floor) : base::json()},
       {"egress", to_json(r.egress)},
       {"checks", to_json(r.checks)},
       {"would_create", r.would_create()}}
  );
  if (r.price) {
    out.set("hourly_usd", base::json::number(format_money(r.price->hour)));
    out.set("priced_where", r.price->where);
  }
  return out;
}

base::result<dry_run_report> rehearse_create(const context& c, create_request r) {
  r.location = base::to_lower(base::trim(r.location));
  const auto registry = read_for_create(c);
  if (!registry) {
    return registry.error();
  }
  c.talk->step("checking what create would do");
  auto size = check_request(c, registry->document, r);
  if (!size) {
    return with_detail(std::move(size).error(), "step", 1);
  }
  dry_run_report out;
  out.request = std::move(r);
  out.request.size = *size;
  rehearsal(c, out, registry->document).ask();
  if (c.stop.stop_requested()) {
    return base::error{.code = base::error_code::cancelled, .message = "interrupted"};
  }
  return out;
}

} // namespace siteagent::fleet::cloud_host
