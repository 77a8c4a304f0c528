// SPDX-License-Identifier: MIT
// A plugin call about one resource.
#include "core/agent/resource_call.hpp"

#include "core/agent/checkpoint.hpp"
#include "core/agent/request_body.hpp"
#include "core/agent/verdict.hpp"
#include "core/base/text.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

// A call that outlives its deadline by this much withholds the heartbeat.
constexpr std::chrono::minutes call_grace{5};

} // namespace

resource_answer call_about(
    offering_context& offering,
    environment& env,
    backend& cloud,
    host::operation op,
    const waldur::resource& resource,
    base::json body
) {
  const std::string name(host::name_of(op));
  std::string reference = base::uuid::random().hex();
  observe::logger log = offering.log().with("resource", resource.uuid.hex()).with("action", name);
  progress_board::activity activity =
      env.progress.begin(name + " of " + resource.uuid.hex(), cloud.deadline_of(op) + call_grace);
  host::call_request request;
  request.target = std::string(base::trim(resource.backend_id));
  request.idempotency_key = resource.uuid.hex();
  request.body = std::move(body);
  request.body.set("resource", resource_to_json(resource));
  host::call_options options;
  options.stop = env.stop;
  options.trace_id = reference;
  options.checkpoint = make_checkpoint(env, offering, activity, nullptr, log, reference);
  base::result<std::vector<base::json>> rows = cloud.call(op, request, options);
  if (!rows && react_to(rows.error()) == reaction::hold_offering) {
    offering.hold(rows.error());
  }
  return {std::move(rows), std::move(log), std::move(reference)};
}

} // namespace siteagent::agent
