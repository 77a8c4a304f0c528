// SPDX-License-Identifier: MIT
// register_queue of identities, and /api/event-subscriptions/ with their queues. Everything is made
// in the real broker before the answer leaves.
#include "queues.hpp"

#include "events.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <utility>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::chrono::milliseconds look_again{3};

// A server whose message broker is not configured.
base::error no_broker(context& c) {
  if (!std::exchange(c.data.told_of_no_broker, true)) {
    std::cerr << "waldur-emulator: an agent asked for a message queue and there is no broker; "
                 "start with --rabbitmq-management\n";
  }
  return refuse(424, json::object({{"detail", "Message queues are not configured."}}));
}

bool knows_type(const store& s, std::string_view type) {
  return std::find(s.observable_types.begin(), s.observable_types.end(), type) !=
         s.observable_types.end();
}

base::error unknown_type(std::string_view field, std::string_view type) {
  return bad_field(field, "\"" + std::string(type) + "\" is not a valid choice.");
}

// nullopt: the key is absent, which keeps what there is.
base::result<std::optional<std::vector<std::string>>> read_types(const context& c) {
  const json* given = c.body.find("object_types");
  if (given == nullptr) {
    return std::optional<std::vector<std::string>>();
  }
  if (!given->is_array()) {
    return bad_field("object_types", "Expected a list of items.");
  }
  std::vector<std::string> types;
  for (const json& type : given->items()) {
    types.push_back(type.string_or(""));
    if (!knows_type(c.data, types.back())) {
      return unknown_type("object_types", types.back());
    }
  }
  return std::optional(std::move(types));
}

json show_registration(const store& s, const event_consumer& x) {
  json types = json::array();
  for (const auto& type : x.object_types.empty() ? s.observable_types : x.object_types) {
    types.push_back(type);
  }
  return json::object(
      {{"rmq_username", x.rmq_username},
       {"queue_name", x.queue_name()},
       {"vhost", x.user},
       {"observable_object_types", types}}
  );
}

event_consumer& consumer_of(context& c, const identity& i) {
  for (auto& x : c.data.consumers.rows()) {
    if (x.identity == i.uuid) {
      return x;
    }
  }
  event_consumer x;
  x.uuid = random_uuid();
  x.identity = i.uuid;
  x.user = c.who.uuid;
  x.rmq_username = random_uuid();
  return c.data.consumers.add(std::move(x));
}

net::server_response broker_failed(const base::error& e) {
  return to_response(bad_request(e.message));
}

json show_queue(const store& s, const subscription_queue& q) {
  const event_subscription* of = s.subscriptions.find(q.subscription);
  return json::object(
      {{"uuid", q.uuid},
       {"event_subscription_uuid", q.subscription},
       {"offering_uuid", q.offering},
       {"object_type", q.object_type},
       {"queue_name", q.queue_name()},
       {"vhost", of != nullptr ? of->user : std::string()}}
  );
}

reply create_queue(context& c, const event_subscription& of) {
  auto offering_text = required_text(c, "offering_uuid");
  if (!offering_text) {
    return offering_text.error();
  }
  auto type = required_text(c, "object_type");
  if (!type) {
    return type.error();
  }
  const offering* o = c.data.offerings.find(hex_or_empty(*offering_text));
  if (o == nullptr || !manages(c.who, *o, "OFFERING.LIST")) {
    return bad_field("offering_uuid", "Offering is not found or not accessible.");
  }
  if (*type != of.object_type) {
    return bad_field("object_type", "The subscription does not observe objects of this type.");
  }
  if (c.queues == nullptr) {
    return no_broker(c);
  }
  subscription_queue q{"", of.uuid, o->uuid, *type};
  for (const auto& known : c.data.subscription_queues.rows()) {
    if (known.queue_name() == q.queue_name()) {
      q.uuid = known.uuid;
    }
  }
  const bool is_new = q.uuid.empty();
  if (is_new) {
    q.uuid = random_uuid();
  }
  auto job = c.queues->make_queue({of.user, of.uuid, q.queue_name()}, c.who.token);
  return when_done(std::move(job), [&s = c.data, q, is_new](const base::result<int>& outcome) {
    if (!outcome) {
      return broker_failed(outcome.error());
    }
    const auto shown = show_queue(s, s.subscription_queues.add(q));
    return is_new ? created(shown) : ok(shown);
  });
}

net::server_response remove_subscription(context& c, const event_subscription& x) {
  const std::string uuid = x.uuid;
  if (c.queues != nullptr) {
    for (const auto& q : c.data.subscription_queues.rows()) {
      if (q.subscription == uuid) {
        c.queues->remove_queue(x.user, q.queue_name());
      }
    }
    c.queues->remove_user(uuid);
  }
  c.data.subscription_queues.remove_if([&](const auto& q) { return q.subscription == uuid; });
  c.data.subscriptions.remove_if([&](const auto& s) { return s.uuid == uuid; });
  net::server_response gone;
  gone.status = 204;
  return gone;
}

} // namespace

net::server_response
when_done(ticket_ptr job, std::function<net::server_response(const base::result<int>&)> answer) {
  net::server_response waiting;
  waiting.delay = look_again;
  waiting.resume = [job = std::move(job), answer = std::move(answer)] {
    const auto outcome = job->look();
    return outcome ? answer(*outcome) : when_done(job, answer);
  };
  return waiting;
}

reply register_queue(context& c, const identity& i) {
  if (!c.data.unified_queues) {
    return not_found();
  }
  auto types = read_types(c);
  if (!types) {
    return types.error();
  }
  if (c.queues == nullptr) {
    return no_broker(c);
  }
  event_consumer& x = consumer_of(c, i);
  if (x.user != c.who.uuid) {
    return refuse(
        409, json::object({{"detail", "Agent identity is already registered by a different user."}})
    );
  }
  if (*types) {
    x.object_types = **std::move(types);
  }
  auto job = c.queues->make_queue({x.user, x.rmq_username, x.queue_name()}, c.who.token);
  return when_done(std::move(job), [&s = c.data, uuid = x.uuid](const base::result<int>& outcome) {
    event_consumer* made = s.consumers.find(uuid);
    if (made == nullptr) {
      return to_response(not_found());
    }
    if (!outcome) {
      return broker_failed(outcome.error());
    }
    // A queue that was gone from the broker is made again: created, too.
    const bool is_new = !std::exchange(made->has_queue, true) || *outcome == 201;
    const auto shown = show_registration(s, *made);
    return is_new ? created(shown) : ok(shown);
  });
}

reply register_event_subscription(context& c) {
  auto type = required_text(c, "observable_object_type");
  if (!type) {
    return type.error();
  }
  if (!knows_type(c.data, *type)) {
    return unknown_type("observable_object_type", *type);
  }
  if (c.queues == nullptr) {
    return no_broker(c);
  }
  for (const auto& known : c.data.subscriptions.rows()) {
    if (known.user == c.who.uuid && known.object_type == *type) {
      return ok(show_subscription(c, known));
    }
  }
  event_subscription x;
  x.uuid = random_uuid();
  x.user = c.who.uuid;
  x.object_type = *type;
  x.description = optional_text(c, "description");
  x.created = c.call.now;
  return created(show_subscription(c, c.data.subscriptions.add(std::move(x))));
}

void release_queue_of(context& c, const identity& i) {
  for (const auto& x : c.data.consumers.rows()) {
    if (x.identity == i.uuid && c.queues != nullptr) {
      c.queues->remove_queue(x.user, x.queue_name());
      c.queues->remove_user(x.rmq_username);
    }
  }
  c.data.consumers.remove_if([&](const event_consumer& x) { return x.identity == i.uuid; });
}

reply handle_event_subscriptions(context& c) {
  const auto is_mine = [&c](const event_subscription& x) {
    return c.who.is_staff || x.user == c.who.uuid;
  };
  if (c.is_list()) {
    return c.is("GET") ? list_of(c, select(c.data.subscriptions, is_mine), show_subscription)
                       : reply(method_not_allowed(c));
  }
  const event_subscription* x = c.data.subscriptions.find(hex_or_empty(c.rest[0]));
  if (x == nullptr || !is_mine(*x)) {
    return not_found();
  }
  if (c.action() == "create_queue") {
    return c.is("POST") ? create_queue(c, *x) : reply(method_not_allowed(c));
  }
  if (!c.action().empty()) {
    return not_found();
  }
  if (c.is("DELETE")) {
    return remove_subscription(c, *x);
  }
  return c.is("GET") ? reply(ok(trimmed(c, show_subscription(c, *x))))
                     : reply(method_not_allowed(c));
}

} // namespace siteagent::waldur_emulator
