// SPDX-License-Identifier: MIT
#include "core/agent/usage/history.hpp"

#include "core/agent/usage/measure.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::agent {

namespace {

using kind = booking_outcome::kind;

bool is_before(base::month a, base::month b) {
  return a.year != b.year ? a.year < b.year : a.number < b.number;
}

std::vector<base::month> months_of(base::month first, base::month last, base::month now) {
  std::vector<base::month> all;
  for (base::month m = is_before(now, last) ? now : last; !is_before(m, first); m = m.previous()) {
    all.insert(all.begin(), m);
  }
  return all;
}

// Those of the states in which Waldur takes usage, and in error, which it will say.
base::result<std::vector<waldur::resource>>
resources_of(portal& waldur, const std::vector<std::string>& backend_ids) {
  auto all = waldur.list_resources({"OK", "Erred", "Updating", "Terminating"});
  if (!all) {
    return base::with_context(std::move(all).error(), "list resources");
  }
  std::erase_if(*all, [](const waldur::resource& r) { return base::trim(r.backend_id).empty(); });
  for (const std::string& id : backend_ids) {
    const bool known = std::any_of(all->begin(), all->end(), [&](const waldur::resource& r) {
      return base::equals_ignoring_case(base::trim(r.backend_id), id);
    });
    if (!known) {
      return base::error{
          .code = base::error_code::not_found,
          .message = "no resource of the offering has the backend id " + id};
    }
  }
  std::erase_if(*all, [&](const waldur::resource& r) {
    return !backend_ids.empty() &&
           std::none_of(backend_ids.begin(), backend_ids.end(), [&](const std::string& id) {
             return base::equals_ignoring_case(base::trim(r.backend_id), id);
           });
  });
  return all;
}

void count(history_summary& s, const history_line& line) {
  if (!line.is_measured) {
    ++s.no_data;
    return;
  }
  switch (line.outcome.what) {
  case kind::booked:
    ++s.booked;
    break;
  case kind::unchanged:
    ++s.unchanged;
    break;
  case kind::refused:
    ++s.refused;
    break;
  case kind::failed:
    ++s.failed;
    break;
  }
}

} // namespace

base::result<history_summary> load_history(
    offering_context& offering,
    portal& waldur,
    environment& env,
    history_request request,
    const std::function<void(const history_line&)>& tell
) {
  const std::string& plugin = offering.config().reporting_backend;
  if (plugin.empty()) {
    return base::error{
        .code = base::error_code::invalid,
        .message = "the offering reports no usage: reporting_backend is empty"};
  }
  base::result<std::shared_ptr<backend>> cloud = offering.backend_for(plugin);
  if (!cloud) {
    return std::move(cloud).error();
  }
  const base::result<std::shared_ptr<const offering_info>> info = offering.info(waldur);
  if (!info) {
    return info.error();
  }
  const auto resources = resources_of(waldur, request.backend_ids);
  if (!resources) {
    return resources.error();
  }
  request.rules.may_decrease = true;
  request.rules.users_one_by_one = true;
  booking books(offering, waldur, env, **info, request.rules);
  history_summary sum;
  sum.resources = resources->size();
  const base::month now = offering.settings().timezone.month_of(env.clock.wall());
  for (const base::month period : months_of(request.first, request.last, now)) {
    ++sum.months;
    if (resources->empty()) {
      continue;
    }
    const auto rows = measure_usage(offering, **cloud, env, **info, *resources, period);
    if (!rows) {
      ++sum.failed_months;
      offering.log().failure(
          observe::level::error,
          "a month could not be measured",
          rows.error(),
          {{"period", period_text(period)}}
      );
      continue;
    }
    for (const waldur::resource& resource : *resources) {
      history_line line{period, resource, false, {}};
      if (const auto row = rows->find(resource.uuid); row != rows->end()) {
        line.is_measured = true;
        line.outcome = books.book(resource, read_measured(offering, **info, row->second), period);
      }
      count(sum, line);
      tell(line);
    }
  }
  return sum;
}

std::optional<base::month> month_of_day(std::string_view text) {
  const auto t = base::parse_rfc3339(std::string(text) + "T00:00:00Z");
  return t && text.size() == 10 ? std::optional(base::time_zone().month_of(*t)) : std::nullopt;
}

} // namespace siteagent::agent
