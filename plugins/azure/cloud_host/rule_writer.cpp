// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/rule_writer.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/cloud_host/objects.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/writer.hpp"

#include <algorithm>

namespace siteagent::azure::cloud_host {

namespace {

using arm::milliseconds;
using base::json;

constexpr unsigned most_conflicts = 5; // somebody else took the priority, or wrote the rule

class rule_writer {
public:
  rule_writer(
      const services& cloud,
      const arm::scope& call,
      const resource_id& group,
      const admitting_rule& wanted
  )
      : cloud_(cloud), call_(call), group_(group), wanted_(wanted),
        rule_(group.child("securityRules", wanted.name)), started_(cloud.clock().steady()) {}

  base::result<rule_outcome> run(bool dry_run) {
    for (;;) {
      auto plan = look();
      if (!plan) {
        return plan.error();
      }
      if (plan->change == rule_change::unchanged && !in_doubt_) {
        return plan;
      }
      if (plan->change == rule_change::unchanged) {
        plan->change = attempted_; // the answer was lost, the write was not
        return plan;
      }
      if (dry_run) {
        return plan;
      }
      attempted_ = in_doubt_ && attempted_ == rule_change::created ? attempted_ : plan->change;
      auto done = write(*plan);
      if (done) {
        plan->change = attempted_;
        return plan;
      }
      const auto pause = next(done.error());
      if (!pause) {
        return not_written(std::move(done).error());
      }
      if (auto slept = call_.wait(*pause); !slept) {
        return slept.error();
      }
    }
  }

private:
  std::string where() const { return "of security group " + group_.name(); }

  base::error refused(reason why, base::error_code code, const std::string& text) const {
    base::error e =
        make_error(why, code, "the security rule " + wanted_.name + " " + where() + " " + text);
    add_detail(e, "resource", object_json(kind_of(kind_id::security_rule), rule_));
    return e;
  }

  base::error not_written(base::error e) const {
    if (e.code == base::error_code::not_found) {
      e.code = base::error_code::permanent;
    }
    return not_made(kind_of(kind_id::security_rule), rule_, std::move(e));
  }

  base::result<rule_outcome> look() const {
    const kind& k = kind_of(kind_id::network_security_group);
    auto seen = arm::read_if_present(
        cloud_.arm(), call_, url_of(group_, k), describe("read", k, group_), arm::patience::brief
    );
    if (!seen) {
      return seen.error();
    }
    if (!*seen) {
      return make_error(
          reason::absent,
          base::error_code::not_found,
          "the security group " + group_.text() + " does not exist"
      );
    }
    const json& group = **seen;
    const json& rule = find_rule(group, wanted_.name);
    rule_outcome out;
    out.id = rule_.text();
    out.others = other_admitting_rules(group, wanted_.name);
    if (rule.is_null()) {
      const auto priority = free_priority(group);
      if (!priority) {
        return refused(
            reason::invalid,
            base::error_code::refused,
            "finds no free priority from 100 to 4096 among the inbound rules; remove one that is "
            "not needed (" +
                group_.text() + ")"
        );
      }
      out.change = rule_change::created;
      out.priority = *priority;
    } else {
      if (!has_same_target(rule, wanted_)) {
        return refused(
            reason::invalid,
            base::error_code::conflict,
            "belongs to somebody else: it admits to another target than " +
                (wanted_.target.empty() ? std::string("this host") : wanted_.target) +
                "; it was not changed (" + rule_.text() + ")"
        );
      }
      out.change = is_same(rule, wanted_) ? rule_change::unchanged : rule_change::updated;
      out.priority = rule.at({"properties", "priority"}).integer().value_or(100);
    }
    out.shadowed_by = shadowing_rules(group, wanted_, out.priority);
    return out;
  }

  base::result<void> write(const rule_outcome& plan) {
    const kind& k = kind_of(kind_id::security_rule);
    arm::write_request w;
    w.method = "PUT";
    w.path = url_of(rule_, k);
    w.body = body_of(wanted_, plan.priority);
    w.create_only = plan.change == rule_change::created;
    w.what = describe(w.create_only ? "create" : "update", k, rule_);
    const std::string what = w.what;
    auto written = checked_write(cloud_, call_, k, rule_, std::move(w));
    if (!written) {
      return std::move(written).error();
    }
    auto settled =
        arm::follow(cloud_.arm(), call_, *written, following(cloud_, k, rule_, "put", what));
    return settled ? base::result<void>() : base::result<void>(std::move(settled).error());
  }

  // nullopt: give up.
  std::optional<milliseconds> next(const base::error& e) {
    const milliseconds floor = cloud_.arm().options().floor;
    const auto patience = cloud_.hosts() ? cloud_.hosts()->removal : milliseconds(240'000);
    const reason why = reason_of(e);
    if (base::equals_ignoring_case(e.provider_code, "SecurityRuleConflict") ||
        why == reason::precondition) {
      return ++conflicts_ < most_conflicts ? std::optional(floor) : std::nullopt;
    }
    const bool passing = why == reason::busy || why == reason::superseded ||
                         why == reason::ambiguous || why == reason::half_made;
    in_doubt_ = in_doubt_ || why != reason::busy;
    if (!passing || cloud_.clock().steady() - started_ > patience) {
      return std::nullopt;
    }
    return std::max(e.retry_after.value_or(floor * 5), floor);
  }

  const services& cloud_;
  const arm::scope& call_;
  const resource_id& group_;
  const admitting_rule& wanted_;
  const resource_id rule_;
  const base::steady_time started_;
  unsigned conflicts_ = 0;
  bool in_doubt_ = false;
  rule_change attempted_ = rule_change::unchanged;
};

} // namespace

base::result<rule_outcome> bring_up_to_date(
    const services& cloud,
    const arm::scope& call,
    const resource_id& security_group,
    const admitting_rule& wanted,
    bool dry_run
) {
  return rule_writer(cloud, call, security_group, wanted).run(dry_run);
}

} // namespace siteagent::azure::cloud_host
