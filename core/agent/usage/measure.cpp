// SPDX-License-Identifier: MIT
#include "core/agent/usage/measure.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/usage/amounts.hpp"
#include "core/agent/verdict.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::minutes call_grace{5};

host::call_request request_for(
    const offering_context& offering,
    const offering_info& info,
    const std::vector<waldur::resource>& resources,
    base::month period
) {
  host::call_request request;
  request.body.set("resources", resource_refs(resources));
  request.body.set("components", info.components_body);
  request.body.set("period", base::json::object({{"year", period.year}, {"month", period.number}}));
  request.body.set("timezone", offering.settings().timezone.name());
  request.body.set("tags", offering_tags(offering.config().uuid));
  request.body.set("uuid_tag", tag_resource);
  return request;
}

} // namespace

base::result<std::map<base::uuid, base::json>> measure_usage(
    offering_context& offering,
    backend& cloud,
    environment& env,
    const offering_info& info,
    const std::vector<waldur::resource>& resources,
    base::month period,
    std::chrono::milliseconds deadline
) {
  const auto allowed =
      deadline.count() > 0 ? deadline : cloud.deadline_of(host::operation::report_usage);
  progress_board::activity activity =
      env.progress.begin("usage of " + offering.config().name, allowed + call_grace);
  host::call_options options;
  options.deadline = allowed;
  options.stop = env.stop;
  options.checkpoint =
      make_checkpoint(env, offering, activity, nullptr, offering.log(), std::string("usage"));
  auto answer = cloud.call(
      host::operation::report_usage, request_for(offering, info, resources, period), options
  );
  if (!answer) {
    if (react_to(answer.error()) == reaction::hold_offering) {
      offering.hold(answer.error());
    }
    return std::move(answer).error();
  }
  std::map<base::uuid, base::json> rows = rows_by_uuid(*std::move(answer));
  std::erase_if(rows, [](const auto& row) {
    return !row.second["measured"].boolean().value_or(false);
  });
  for (const waldur::resource& r : resources) {
    if (rows.count(r.uuid) == 0) {
      offering.log().debug(
          "no usage data", {{"resource", r.uuid.hex()}, {"period", period_text(period)}}
      );
    }
  }
  return rows;
}

} // namespace siteagent::agent
