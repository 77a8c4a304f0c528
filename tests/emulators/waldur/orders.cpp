// SPDX-License-Identifier: MIT
// /api/marketplace-orders/: listing, and the actions of provider and consumer.
#include "order_states.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>
#include <array>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::array<std::string_view, 9> states{
    "pending-consumer",
    "pending-provider",
    "pending-project",
    "pending-start-date",
    "executing",
    "done",
    "erred",
    "canceled",
    "rejected"};

bool contains(const std::vector<std::string>& list, std::string_view text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

const offering& offering_of(const context& c, const order& o) {
  return *c.data.offerings.find(o.offering);
}

bool sees(const context& c, const order& o) {
  const offering* x = c.data.offerings.find(o.offering);
  const project* p = c.data.projects.find(o.project);
  return (x != nullptr && manages(c.who, *x, "ORDER.LIST")) ||
         (p != nullptr && consumes(c.who, *p));
}

struct order_filter {
  std::vector<std::string> states;
  std::vector<std::string> types;
  std::optional<std::string> offering;
  std::optional<std::string> resource;
  std::optional<std::string> project;
  std::optional<std::string> customer;
  std::optional<base::wall_time> created_after;
  std::optional<base::wall_time> created_before;
  std::optional<base::wall_time> modified_after;
  std::optional<base::wall_time> modified_before;
  std::vector<std::string> slugs;

  bool passes(const context& c, const order& o) const {
    const auto* p = c.data.projects.find(o.project);
    return (states.empty() || contains(states, o.state)) &&
           (types.empty() || contains(types, o.type)) && (!offering || *offering == o.offering) &&
           (!resource || *resource == o.resource) && (!project || *project == o.project) &&
           (!customer || (p != nullptr && *customer == p->customer)) &&
           (!created_after || o.created >= *created_after) &&
           (!created_before || o.created <= *created_before) &&
           (!modified_after || o.modified >= *modified_after) &&
           (!modified_before || o.modified <= *modified_before) &&
           (slugs.empty() || contains(slugs, o.slug)) && sees(c, o);
  }
};

base::result<order_filter> read_filter(const context& c) {
  order_filter f;
  f.states = values_of(c, "state");
  for (const auto& state : f.states) {
    if (std::find(states.begin(), states.end(), state) == states.end()) {
      return bad_field(
          "state", "Select a valid choice. " + state + " is not one of the available choices."
      );
    }
  }
  f.types = values_of(c, "type");
  f.slugs = values_of(c, "slug");
  const std::array<std::pair<std::string_view, std::optional<std::string>*>, 4> uuids{
      {{"offering_uuid", &f.offering},
       {"resource_uuid", &f.resource},
       {"project_uuid", &f.project},
       {"customer_uuid", &f.customer}}};
  for (const auto& [key, target] : uuids) {
    auto value = uuid_filter(c, key);
    if (!value) {
      return value.error();
    }
    *target = *std::move(value);
  }
  const std::array<std::pair<std::string_view, std::optional<base::wall_time>*>, 4> times{
      {{"created", &f.created_after},
       {"created_before", &f.created_before},
       {"modified", &f.modified_after},
       {"modified_before", &f.modified_before}}};
  for (const auto& [key, target] : times) {
    auto value = time_filter(c, key);
    if (!value) {
      return value.error();
    }
    *target = *value;
  }
  return f;
}

reply list_orders(const context& c) {
  auto filter = read_filter(c);
  if (!filter) {
    return filter.error();
  }
  auto rows = select(c.data.orders, [&](const order& o) { return filter->passes(c, o); });
  const std::string by = c.request.parameter("o");
  if (by == "created" || by == "-created") {
    std::stable_sort(rows.begin(), rows.end(), [&](const order* a, const order* b) {
      return by == "created" ? a->created < b->created : b->created < a->created;
    });
  }
  return list_of(c, rows, show_order);
}

bool in_state(const order& o, std::initializer_list<std::string_view> allowed) {
  return std::find(allowed.begin(), allowed.end(), o.state) != allowed.end();
}

// Provider actions that report a result exist for offerings whose work is done outside of Waldur.
bool is_agent_offering(const offering& o) {
  return o.type == "Marketplace.Slurm";
}

reply approve_by_provider(context& c, order& o) {
  if (!manages(c.who, offering_of(c, o), "ORDER.APPROVE")) {
    return forbidden();
  }
  if (o.state != "pending-provider") {
    return wrong_state("pending-provider");
  }
  const project* p = c.data.projects.find(o.project);
  const customer* x = p != nullptr ? c.data.customers.find(p->customer) : nullptr;
  if (x != nullptr && (x->blocked || x->archived)) {
    return bad_request("Blocked or archived organization is not available.");
  }
  if (p != nullptr && !p->end_date.empty() &&
      p->end_date < base::to_rfc3339(c.call.now).substr(0, 10)) {
    return bad_request("Project is past its end date.");
  }
  for (const auto& [key, value] : c.body["attributes"].members()) {
    o.attributes.set(key, value);
  }
  approve(c.data, o, c.call.now);
  return ok(show_order(c, o));
}

reply reject_by_provider(context& c, order& o) {
  if (!manages(c.who, offering_of(c, o), "ORDER.REJECT")) {
    return forbidden();
  }
  if (o.state != "pending-provider") {
    return wrong_state("pending-provider");
  }
  o.provider_rejection_comment = optional_text(c, "provider_rejection_comment");
  withdraw(c.data, o, "rejected", c.call.now);
  return ok(show_order(c, o));
}

reply set_state_executing(context& c, order& o) {
  if (!in_state(o, {"pending-consumer", "pending-provider", "erred"})) {
    return wrong_state("pending-consumer, pending-provider, erred");
  }
  start_executing(c.data, o, c.call.now);
  return ok(show_order(c, o));
}

reply set_state_done(context& c, order& o) {
  if (o.state != "executing") {
    return wrong_state("executing");
  }
  report_done(c.data, o, c.call.now);
  return ok(show_order(c, o));
}

reply set_state_erred(context& c, order& o) {
  auto message = required_text(c, "error_message");
  if (!message) {
    return message.error();
  }
  auto traceback = required_text(c, "error_traceback");
  if (!traceback) {
    return traceback.error();
  }
  if (c.body.find("consumer_rejection_comment") != nullptr) {
    o.consumer_rejection_comment = optional_text(c, "consumer_rejection_comment");
  }
  report_erred(c.data, o, *message, *traceback, c.call.now);
  return ok(show_order(c, o));
}

reply retry(context& c, order& o) {
  const offering& x = offering_of(c, o);
  if (!manages(c.who, x, "ORDER.APPROVE")) {
    return forbidden();
  }
  if (x.type != "Marketplace.Slurm" && x.type != "Marketplace.Basic") {
    return bad_request("Orders of this offering type cannot be retried.");
  }
  if (o.state != "erred") {
    return wrong_state("erred");
  }
  o.error_message.clear();
  o.error_traceback.clear();
  start_executing(c.data, o, c.call.now);
  return ok(show_order(c, o));
}

reply cancel(context& c, order& o) {
  const project* p = c.data.projects.find(o.project);
  if (p == nullptr || !consumes(c.who, *p)) {
    return forbidden();
  }
  if (!in_state(
          o,
          {"pending-consumer",
           "pending-provider",
           "pending-project",
           "pending-start-date",
           "executing"}
      )) {
    return wrong_state(
        "pending-consumer, pending-provider, pending-project, pending-start-date, executing"
    );
  }
  withdraw(c.data, o, "canceled", c.call.now);
  return ok(show_order(c, o));
}

reply review_by_consumer(context& c, order& o, bool approved) {
  const project* p = c.data.projects.find(o.project);
  if (p == nullptr || !consumes(c.who, *p)) {
    return forbidden();
  }
  if (o.state != "pending-consumer") {
    return wrong_state("pending-consumer");
  }
  if (approved) {
    o.modified = c.call.now;
    begin_provider_review(c, o);
  } else {
    o.consumer_rejection_comment = optional_text(c, "consumer_rejection_comment");
    withdraw(c.data, o, "rejected", c.call.now);
  }
  return ok(show_order(c, o));
}

reply set_backend_id(context& c, order& o) {
  auto id = required_text(c, "backend_id");
  if (!id) {
    return id.error();
  }
  o.backend_id = *id;
  o.modified = c.call.now;
  return status_text("Order backend_id has been changed.");
}

reply set_provider_info(context& c, order& o) {
  o.provider_message = optional_text(c, "provider_message");
  o.provider_message_url = optional_text(c, "provider_message_url");
  return ok(show_order(c, o));
}

reply report_action(context& c, order& o, std::string_view action) {
  const offering& x = offering_of(c, o);
  if (!manages(c.who, x, "ORDER.APPROVE")) {
    return forbidden();
  }
  if (!is_agent_offering(x)) {
    return method_not_allowed(c);
  }
  if (action == "set_state_executing") {
    return set_state_executing(c, o);
  }
  return action == "set_state_done" ? set_state_done(c, o) : set_state_erred(c, o);
}

reply order_action(context& c, order& o) {
  const std::string action = c.action();
  if (action == "approve_by_provider") {
    return approve_by_provider(c, o);
  }
  if (action == "reject_by_provider") {
    return reject_by_provider(c, o);
  }
  if (action.starts_with("set_state_") &&
      (action == "set_state_executing" || action == "set_state_done" || action == "set_state_erred"
      )) {
    return report_action(c, o, action);
  }
  if (action == "retry") {
    return retry(c, o);
  }
  if (action == "cancel") {
    return cancel(c, o);
  }
  if (action == "approve_by_consumer" || action == "reject_by_consumer") {
    return review_by_consumer(c, o, action == "approve_by_consumer");
  }
  const bool provider_action = action == "set_backend_id" || action == "set_provider_info";
  if (!provider_action) {
    return not_found();
  }
  if (!manages(c.who, offering_of(c, o), "ORDER.APPROVE")) {
    return forbidden();
  }
  return action == "set_backend_id" ? set_backend_id(c, o) : set_provider_info(c, o);
}

} // namespace

reply handle_orders(context& c) {
  if (c.is_list()) {
    if (c.is("GET")) {
      return list_orders(c);
    }
    return c.is("POST") ? place_order(c) : reply(method_not_allowed(c));
  }
  order* o = c.data.orders.find(hex_or_empty(c.rest[0]));
  if (o == nullptr || !sees(c, *o)) {
    return not_found();
  }
  if (c.action().empty()) {
    if (!c.is("GET")) {
      return method_not_allowed(c);
    }
    return ok(trimmed(c, show_order(c, *o)));
  }
  return c.is("POST") ? order_action(c, *o) : reply(method_not_allowed(c));
}

} // namespace siteagent::waldur_emulator
