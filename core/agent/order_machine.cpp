// SPDX-License-Identifier: MIT
// The order machine's outside.
#include "core/agent/order_machine.hpp"

#include "core/agent/order_run.hpp"

#include <utility>

namespace siteagent::agent {

order_machine::order_machine(
    offering_context& offering, portal& waldur, std::shared_ptr<backend> cloud, environment& env
)
    : offering_(offering), waldur_(waldur), cloud_(std::move(cloud)), env_(env), book_(env.clock) {}

order_step order_machine::process(const waldur::order& listed, const order_inputs& inputs) {
  book_.see(listed);
  book_.begin(listed.uuid);
  order_run run(offering_, waldur_, *cloud_, env_, book_, inputs, listed);
  const order_step step = run.go();
  book_.end(listed.uuid);
  return step;
}

} // namespace siteagent::agent
