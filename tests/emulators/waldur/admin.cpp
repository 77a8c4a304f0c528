// SPDX-License-Identifier: MIT
// Admin calls about messages and tokens: what goes wrong between a server, its broker and an agent.
#include "admin.hpp"

#include "events.hpp"
#include "queues.hpp"

#include <algorithm>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::int64_t most_copies = 100'000;

net::server_response problem(int status, std::string_view message) {
  return emulators::json_response(status, json::object({{"error", message}}));
}

struct target {
  std::string vhost;
  std::string queue;
};

// The queues of that name; else of that offering and, when given, of that type.
std::vector<target> targets_of(const store& s, const json& body) {
  const std::string name = body["queue"].string_or("");
  const std::string offering = hex_or_empty(body["offering"].string_or(""));
  const std::string type = body["object_type"].string_or("");
  std::vector<target> found;
  for (const auto& c : s.consumers.rows()) {
    const identity* i = s.identities.find(c.identity);
    const bool of_offering = i != nullptr && i->offering == offering;
    if (c.has_queue && (name.empty() ? of_offering : name == c.queue_name())) {
      found.push_back({c.user, c.queue_name()});
    }
  }
  for (const auto& q : s.subscription_queues.rows()) {
    const event_subscription* of = s.subscriptions.find(q.subscription);
    const bool of_offering = q.offering == offering && (type.empty() || type == q.object_type);
    if (of != nullptr && (name.empty() ? of_offering : name == q.queue_name())) {
      found.push_back({of->user, q.queue_name()});
    }
  }
  return found;
}

// The text to send to one queue. An object for an offering is wrapped as the server would; any
// other body is sent as it is.
std::string payload_of(store& s, const json& body) {
  json content = body["body"];
  if (const auto text = content.string()) {
    return std::string(*text);
  }
  const std::string type = body["object_type"].string_or("");
  if (content.is_object() && !type.empty() && body.find("queue") == nullptr) {
    event e;
    e.object_type = type;
    e.offering = hex_or_empty(body["offering"].string_or(""));
    e.subject = "admin";
    wrap(s, content, e);
  }
  return content.dump();
}

net::server_response publish(const admin_context& c, const json& body) {
  const auto targets = targets_of(c.data, body);
  if (targets.empty()) {
    return problem(404, "no queue of that name or offering is registered");
  }
  const auto copies = body.find("times") == nullptr ? 1 : body["times"].integer().value_or(-1);
  if (copies < 1 || copies > most_copies) {
    return problem(400, "\"times\" must be 1 to 100000");
  }
  const std::string bytes = body["body_base64"].string_or("");
  ticket_ptr last;
  for (std::int64_t n = 0; n < copies; ++n) {
    for (const auto& t : targets) {
      broker_message m;
      m.vhost = t.vhost;
      m.queue = t.queue;
      m.is_base64 = !bytes.empty();
      m.payload = m.is_base64 ? bytes : payload_of(c.data, body);
      m.headers = message_headers(m.queue, m.payload);
      for (const auto& [key, value] : body["headers"].members()) {
        m.headers.set(key, value);
      }
      last = c.queues->publish(std::move(m));
    }
  }
  const auto sent = targets.size() * static_cast<std::size_t>(copies);
  return when_done(std::move(last), [sent](const base::result<int>& outcome) {
    return outcome ? ok(json::object({{"published", sent}}))
                   : problem(503, outcome.error().message);
  });
}

net::server_response delete_queue(const admin_context& c, const json& body) {
  const auto targets = targets_of(c.data, body);
  if (targets.empty()) {
    return problem(404, "no queue of that name or offering is registered");
  }
  ticket_ptr last;
  for (const auto& t : targets) {
    last = c.queues->remove_queue(t.vhost, t.queue);
  }
  const auto removed = targets.size();
  return when_done(std::move(last), [removed](const base::result<int>& outcome) {
    return outcome ? ok(json::object({{"deleted", removed}}))
                   : problem(503, outcome.error().message);
  });
}

// The broker keeps the old password until the agent registers again, as with Waldur.
net::server_response rotate_token(const admin_context& c, const json& body) {
  const std::string fresh = body["new"].string_or("");
  const user* found = c.data.find_token(body["old"].string_or(""));
  if (found == nullptr || fresh.empty()) {
    return problem(400, "\"old\" must be a token in use and \"new\" another one");
  }
  c.data.users.find(found->uuid)->token = fresh;
  net::server_response done;
  done.status = 204;
  return done;
}

} // namespace

std::optional<net::server_response>
administrate(const admin_context& c, std::string_view name, const json& body) {
  if (name == "rotate_token") {
    return rotate_token(c, body);
  }
  if (name != "publish" && name != "delete_queue") {
    return std::nullopt;
  }
  if (c.queues == nullptr) {
    return problem(409, "there is no broker; start with --rabbitmq-management");
  }
  return name == "publish" ? publish(c, body) : delete_queue(c, body);
}

} // namespace siteagent::waldur_emulator
