// SPDX-License-Identifier: MIT
// One pass of usage reporting.
#include "core/agent/usage_report.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/order_run.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};
constexpr unsigned decimals = 2;

std::string period_text(base::month m) {
  std::string number = std::to_string(m.number);
  if (number.size() < 2) {
    number.insert(0, "0");
  }
  return std::to_string(m.year) + "-" + number + "-01";
}

const waldur::offering_component*
find_component(const offering_info& info, const std::string& type) {
  const auto& list = info.server.components;
  const auto found =
      std::find_if(list.begin(), list.end(), [&](const auto& c) { return c.type == type; });
  return found == list.end() ? nullptr : &*found;
}

// Measured over time, so that it can only grow within a month.
bool accumulates(const offering_info& info, const std::string& type) {
  return std::any_of(info.components.begin(), info.components.end(), [&](const auto& c) {
    const config::value* metering = c.raw.find("metering");
    return c.type == type && metering != nullptr && metering->text == "hours";
  });
}

} // namespace

usage_report::usage_report(offering_context& offering, portal& waldur, environment& env)
    : offering_(offering), waldur_(waldur), env_(env) {}

base::result<void> usage_report::run() {
  base::result<std::shared_ptr<backend>> cloud =
      offering_.backend_for(offering_.config().reporting_backend);
  if (!cloud) {
    return std::move(cloud).error();
  }
  const base::result<std::shared_ptr<const offering_info>> info = offering_.info(waldur_);
  if (!info) {
    return info.error();
  }
  base::result<std::vector<waldur::resource>> resources = waldur_.list_resources({"OK", "Erred"});
  if (!resources) {
    return base::with_context(std::move(resources).error(), "list resources");
  }
  std::erase_if(*resources, [](const waldur::resource& r) {
    return base::trim(r.backend_id).empty();
  });
  if (resources->empty()) {
    return {};
  }
  if (base::result<void> admitted = offering_.admit(**cloud); !admitted) {
    return admitted;
  }
  // Fixed before anything is measured; oldest first.
  std::vector<base::month> periods{offering_.settings().timezone.month_of(env_.clock.wall())};
  while (periods.size() < offering_.settings().reporting_periods) {
    periods.insert(periods.begin(), periods.front().previous());
  }
  for (const base::month period : periods) {
    base::result<void> answer = report_period(**cloud, **info, *resources, period);
    if (!answer && period == periods.back()) {
      return answer;
    }
    if (!answer && !env_.stop.stop_requested()) {
      offering_.log().failure(
          observe::level::warning,
          "a past period could not be measured",
          answer.error(),
          {{"period", period_text(period)}}
      );
    }
  }
  return {};
}

bool usage_report::is_current(base::month period) const {
  return offering_.settings().timezone.month_of(env_.clock.wall()) == period;
}

base::result<void> usage_report::report_period(
    backend& cloud,
    const offering_info& info,
    const std::vector<waldur::resource>& resources,
    base::month period
) {
  const bool current = is_current(period);
  base::result<std::vector<base::json>> answer = measure(cloud, info, resources, period);
  if (!answer) {
    if (react_to(answer.error()) == reaction::hold_offering) {
      offering_.hold(answer.error());
    }
    return std::move(answer).error();
  }
  const std::map<base::uuid, base::json> rows = rows_by_uuid(*std::move(answer));
  progress_board::activity activity =
      env_.progress.begin("usage of " + offering_.config().name, std::chrono::minutes(15));
  for (const waldur::resource& resource : resources) {
    if (env_.stop.stop_requested()) {
      return {};
    }
    activity.touch();
    if (current && !is_current(period)) {
      offering_.log().info("the month ended while usage was measured; it is measured afresh");
      return {};
    }
    const auto row = rows.find(resource.uuid);
    if (row == rows.end() || !row->second["measured"].boolean().value_or(false)) {
      offering_.log().debug(
          "no usage data", {{"resource", resource.uuid.hex()}, {"period", period_text(period)}}
      );
      continue;
    }
    book(info, resource, accepted(info, row->second["total"]), period);
  }
  return {};
}

base::result<std::vector<base::json>> usage_report::measure(
    backend& cloud,
    const offering_info& info,
    const std::vector<waldur::resource>& resources,
    base::month period
) {
  progress_board::activity activity = env_.progress.begin(
      "usage of " + offering_.config().name,
      cloud.deadline_of(host::operation::report_usage) + call_grace
  );
  host::call_request request;
  request.body.set("resources", resource_refs(resources));
  request.body.set("components", info.components_body);
  request.body.set("period", base::json::object({{"year", period.year}, {"month", period.number}}));
  request.body.set("timezone", offering_.settings().timezone.name());
  request.body.set("tags", offering_tags(offering_.config().uuid));
  request.body.set("uuid_tag", tag_resource);
  host::call_options options;
  options.stop = env_.stop;
  options.checkpoint =
      make_checkpoint(env_, activity, nullptr, offering_.log(), std::string("usage"));
  return cloud.call(host::operation::report_usage, request, options);
}

// What Waldur takes: components of the offering, billed by usage or limit, two decimals.
usage_report::amounts usage_report::accepted(const offering_info& info, const base::json& total) {
  amounts taken;
  for (const auto& [type, value] : total.members()) {
    const waldur::offering_component* component = find_component(info, type);
    if (component == nullptr) {
      if (offering_.first_time("component " + type)) {
        offering_.log().warning(
            "the offering in Waldur has no such component; its usage is not reported",
            {{"component", type}}
        );
      }
      continue;
    }
    if (component->billing_type != "usage" && component->billing_type != "limit") {
      continue;
    }
    const std::optional<base::decimal> amount =
        base::decimal::parse(value.number_text().value_or(""));
    if (!amount || amount->is_negative()) {
      if (offering_.first_time("amount " + type)) {
        offering_.log().warning(
            "the plugin reported an amount that is no usage; it is left out", {{"component", type}}
        );
      }
      continue;
    }
    taken.emplace(type, amount->rounded(decimals));
  }
  return taken;
}

void usage_report::book(
    const offering_info& info,
    const waldur::resource& resource,
    amounts measured,
    base::month period
) {
  if (measured.empty()) {
    return;
  }
  const observe::logger log =
      offering_.log().with("resource", resource.uuid.hex()).with("period", period_text(period));
  const base::result<std::vector<waldur::component_usage>> stored =
      waldur_.list_usages(resource.uuid, period_text(period));
  if (!stored) {
    log.failure(
        observe::level::warning, "usage not booked: stored usage unreadable", stored.error()
    );
    return;
  }
  std::set<std::string> types;
  bool unchanged = stored->size() == measured.size();
  for (const waldur::component_usage& row : *stored) {
    const std::optional<base::decimal> amount = base::decimal::parse(row.usage);
    const auto now = measured.find(row.type);
    unchanged &= types.insert(row.type).second && now != measured.end() && amount &&
                 amount->rounded(decimals) == now->second;
    if (now != measured.end() && amount && now->second < amount->rounded(decimals) &&
        accumulates(info, row.type)) {
      log.error(
          "measured usage is lower than what is booked already; nothing is booked, check the meter",
          {{"component", row.type},
           {"booked", row.usage},
           {"measured", now->second.to_fixed(decimals)}}
      );
      return;
    }
  }
  if (unchanged) {
    return;
  }
  std::vector<waldur::usage_item> items;
  for (const auto& [type, amount] : measured) {
    items.push_back({type, amount.to_fixed(decimals)});
  }
  const std::string date = offering_.settings().timezone.start_text(period);
  // The value is "so far this month", so repeating it after an unknown outcome is safe.
  const base::result<void> answer =
      repeat_write(env_, [&] { return waldur_.set_usage(resource.uuid, date, items); });
  if (!answer) {
    say_refused(resource, answer.error(), period);
    return;
  }
  log.info("usage booked", {{"components", std::to_string(items.size())}});
}

void usage_report::say_refused(
    const waldur::resource& resource, const base::error& e, base::month period
) {
  const observe::logger log =
      offering_.log().with("resource", resource.uuid.hex()).with("period", period_text(period));
  if (e.http_status == 400 &&
      e.message.find("backfilling past billing periods") != std::string::npos) {
    log.info("Waldur takes no usage for that past period from this account");
  } else if (!env_.stop.stop_requested()) {
    log.failure(observe::level::warning, "usage not booked", e);
  }
}

} // namespace siteagent::agent
