// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/create.hpp"

#include "core/base/text.hpp"
#include "core/fleet/cloud_host/create_rules.hpp"
#include "core/fleet/cloud_host/creation.hpp"
#include "core/fleet/cloud_host/unfinished.hpp"
#include "core/fleet/money.hpp"

#include <array>

namespace siteagent::fleet::cloud_host {

namespace {

base::json money(const base::decimal& amount) {
  return base::json::number(format_money(amount));
}

base::json text_or_null(const std::string& text) {
  return text.empty() ? base::json() : base::json(text);
}

} // namespace

base::json projected_json(const burn& b) {
  return base::json::object(
      {{"total_usd", money(b.total)},
       {"hosts", static_cast<std::int64_t>(b.hosts)},
       {"hosts_usd", money(b.running)}}
  );
}

base::json credit_json(const gate_decision& d, const credit_floor& f) {
  return base::json::object(
      {{"balance", money(d.balance)},
       {"currency", f.currency},
       {"after", money(d.after)},
       {"floor",
        base::json::object(
            {{"id", f.id},
             {"amount", money(f.amount)},
             {"currency", f.currency},
             {"words", f.words}}
        )}}
  );
}

base::json to_json(const create_report& r) {
  return base::json::object(
      {{"name", r.request.name},
       {"provider", r.provider},
       {"location", r.request.location},
       {"size", r.request.size},
       {"disk_gb", r.request.disk_gb},
       {"hourly_usd", money(r.cost.price.hour)},
       {"priced_where", r.cost.price.where},
       {"projected", projected_json(r.cost.hours)},
       {"credit", credit_json(r.cost.credit, r.cost.floor)},
       {"egress", to_json(r.egress)},
       {"address", r.made.address},
       {"vm_id", r.made.vm_id},
       {"resource_id", text_or_null(r.resource_id)},
       {"created_at", r.made.created_at},
       {"idle_minutes", r.request.idle_minutes},
       {"hostname", r.probed.hostname},
       {"release_platform", r.probed.release_platform},
       {"generation", r.generation},
       {"toolchain",
        base::json::object({{"rustc", r.boot.rustc}, {"node", r.boot.node}, {"npm", r.boot.npm}})},
       {"boot",
        base::json::object(
            {{"exit_code", r.boot.exit_code},
             {"status", r.boot.status},
             {"extended_status", text_or_null(r.boot.extended_status)}}
        )}}
  );
}

creation::creation(const context& c, create_request r) : at_(c), wanted_(std::move(r)) {
  wanted_.location = base::to_lower(base::trim(wanted_.location));
  report_.provider = c.id();
  report_.request = wanted_;
}

base::result<create_report> creation::run() {
  struct step {
    outcome (creation::*act)();
    bool is_locked;
  };

  static constexpr std::array<step, 9> steps{
      {{&creation::check_name, false},
       {&creation::price_and_gate, true},
       {&creation::measure_addresses, true},
       {&creation::admit_addresses, true},
       {&creation::mint_key, true},
       {&creation::make_resources, true},
       {&creation::enroll_host, true},
       {&creation::record_host, true},
       {&creation::check_first_boot, false}}};
  static constexpr int recording = 8;
  auto registry = read_for_create(at_);
  if (!registry) {
    return std::move(registry).error();
  }
  registry_ = std::move(registry->document);
  warn_of_leftovers(at_, registry_);
  warn_without_reaper(at_, registry_, wanted_.idle_minutes);
  std::optional<file_lock> lock;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const int number = static_cast<int>(i) + 1;
    at_.talk->step("step " + std::to_string(number) + " of 9, " + std::string(step_name(number)));
    outcome done;
    if (at_.stop.stop_requested()) {
      done = base::error{.code = base::error_code::cancelled, .message = "stopped"};
    } else if (steps.at(i).is_locked && !lock) {
      auto taken = take_lock(at_, "creating " + wanted_.name);
      if (taken) {
        lock.emplace(std::move(*taken));
      } else {
        done = std::move(taken).error();
      }
    } else if (!steps.at(i).is_locked) {
      lock.reset();
    }
    if (done) {
      done = (this->*steps.at(i).act)();
    }
    // A step that could not be stopped half way is still the one that was interrupted. What is
    // recorded stays.
    if (done && number < recording && at_.stop.stop_requested()) {
      done = base::error{.code = base::error_code::cancelled, .message = "stopped"};
    }
    if (!done) {
      return failed(number, std::move(done).error());
    }
  }
  return std::move(report_);
}

base::result<create_report> create(const context& c, create_request r) {
  creation one(c, std::move(r));
  return one.run();
}

} // namespace siteagent::fleet::cloud_host
