// SPDX-License-Identifier: MIT
// Actions of a resource that make an order.
#include "resource_orders.hpp"

#include "limits.hpp"
#include "routes.hpp"

namespace siteagent::waldur_emulator {

namespace {

// The consumer's right, or the provider's own to end and bring back what he runs.
bool may_order(const context& c, const resource& r, bool provider_too) {
  const auto* p = c.data.projects.find(r.project);
  const auto* o = c.data.offerings.find(r.offering);
  return (p != nullptr && consumes(c.who, *p)) ||
         (provider_too && o != nullptr && manages(c.who, *o, "RESOURCE.TERMINATE"));
}

} // namespace

reply terminate(context& c, const resource& r) {
  if (!may_order(c, r, true)) {
    return forbidden();
  }
  if (r.state != "OK" && r.state != "Erred") {
    return wrong_state("OK, Erred");
  }
  order o;
  o.type = "Terminate";
  if (c.body["attributes"].is_object()) {
    o.attributes = c.body["attributes"];
  }
  o.termination_comment = optional_text(c, "termination_comment");
  return order_for_resource(c, r, std::move(o));
}

reply restore(context& c, const resource& r) {
  if (!may_order(c, r, true)) {
    return forbidden();
  }
  if (r.state != "Terminated") {
    return wrong_state("Terminated");
  }
  order o;
  o.type = "Restore";
  o.limits = r.limits;
  o.attributes = r.attributes;
  return order_for_resource(c, r, std::move(o));
}

reply update_limits(context& c, const resource& r) {
  if (!may_order(c, r, false)) {
    return forbidden();
  }
  if (r.state != "OK") {
    return wrong_state("OK");
  }
  if (!c.body["limits"].is_object()) {
    return bad_field("limits", "This field is required.");
  }
  auto limits = checked_limits(*c.data.offerings.find(r.offering), c.body["limits"], true);
  if (!limits) {
    return limits.error();
  }
  order o;
  o.type = "Update";
  o.limits = *std::move(limits);
  o.attributes = json::object({{"old_limits", r.limits}});
  return order_for_resource(c, r, std::move(o));
}

reply switch_plan(context& c, const resource& r) {
  if (!may_order(c, r, false)) {
    return forbidden();
  }
  if (r.state != "OK") {
    return wrong_state("OK");
  }
  auto link = required_text(c, "plan");
  if (!link) {
    return link.error();
  }
  const auto* p =
      c.data.plans.find(uuid_of_link(*link, {"marketplace-public-plans", "marketplace-plans"}));
  if (p == nullptr) {
    return bad_field("plan", "Invalid hyperlink - Object does not exist.");
  }
  if (p->offering != r.offering) {
    return bad_field("plan", "This plan is not available for selected offering.");
  }
  order o;
  o.type = "Update";
  o.plan = p->uuid;
  o.old_plan = r.plan;
  return order_for_resource(c, r, std::move(o));
}

} // namespace siteagent::waldur_emulator
