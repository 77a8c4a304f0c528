// SPDX-License-Identifier: MIT
// One pass of usage reporting.
#include "core/agent/usage_report.hpp"

#include "core/agent/usage/measure.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

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
  return report_periods(**cloud, **info, *resources, {});
}

void usage_report::run_final(const waldur::resource& resource) {
  const std::string& plugin = offering_.config().reporting_backend;
  if (plugin.empty() || offering_.breaker().is_open() || base::trim(resource.backend_id).empty()) {
    return;
  }
  base::result<void> answer = measure_finally(plugin, resource);
  if (!answer && !env_.stop.stop_requested()) {
    offering_.log().failure(
        observe::level::warning,
        "the final usage of a machine could not be measured; what was booked before stands",
        answer.error(),
        {{"resource", resource.uuid.hex()}}
    );
  }
}

base::result<void>
usage_report::measure_finally(const std::string& plugin, const waldur::resource& resource) {
  const base::result<std::shared_ptr<backend>> cloud = offering_.backend_for(plugin);
  if (!cloud) {
    return cloud.error();
  }
  const base::result<std::shared_ptr<const offering_info>> info = offering_.info(waldur_);
  if (!info) {
    return info.error();
  }
  const std::chrono::milliseconds deadline = std::min(
      {std::chrono::milliseconds(final_measurement),
       (*cloud)->deadline_of(host::operation::report_usage),
       (*cloud)->deadline_of(host::operation::delete_resource)}
  );
  return report_periods(**cloud, **info, {resource}, deadline);
}

// Fixed before anything is measured; oldest first.
std::vector<base::month> usage_report::periods() const {
  std::vector<base::month> all{offering_.settings().timezone.month_of(env_.clock.wall())};
  while (all.size() < offering_.settings().reporting_periods) {
    all.insert(all.begin(), all.front().previous());
  }
  return all;
}

base::result<void> usage_report::report_periods(
    backend& cloud,
    const offering_info& info,
    const std::vector<waldur::resource>& resources,
    std::chrono::milliseconds deadline
) {
  booking books(offering_, waldur_, env_, info, {});
  const std::vector<base::month> all = periods();
  for (const base::month period : all) {
    base::result<void> answer = report_period(cloud, books, info, resources, period, deadline);
    if (!answer && period == all.back()) {
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
    booking& books,
    const offering_info& info,
    const std::vector<waldur::resource>& resources,
    base::month period,
    std::chrono::milliseconds deadline
) {
  const bool current = is_current(period);
  const auto rows = measure_usage(offering_, cloud, env_, info, resources, period, deadline);
  if (!rows) {
    return rows.error();
  }
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
    if (const auto row = rows->find(resource.uuid); row != rows->end()) {
      books.book(resource, read_measured(offering_, info, row->second), period);
    }
  }
  return {};
}

} // namespace siteagent::agent
