// SPDX-License-Identifier: MIT
// Payloads of events, and who hears of them.
#include "events.hpp"

#include "members.hpp"
#include "tests/emulators/common/journal.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::size_t most_resynchronised = 50;
constexpr std::chrono::hours task_period{1};
constexpr std::chrono::minutes idle_after{10};

void add_project(const store& s, json& to, std::string_view uuid) {
  const project* p = s.projects.find(uuid);
  to.set("project_uuid", std::string(uuid));
  to.set("project_name", p != nullptr ? p->name : std::string());
}

// Offerings with a living resource in the project.
std::vector<std::string> offerings_in(const store& s, std::string_view project_uuid) {
  std::vector<std::string> found;
  for (const resource* r : s.living_resources(project_uuid)) {
    if (std::find(found.begin(), found.end(), r->offering) == found.end()) {
      found.push_back(r->offering);
    }
  }
  return found;
}

bool wants(const std::vector<std::string>& types, std::string_view type) {
  return types.empty() || std::find(types.begin(), types.end(), type) != types.end();
}

bool may_hear(const store& s, std::string_view user_uuid, const event& e) {
  const user* u = s.users.find(user_uuid);
  const offering* o = s.offerings.find(e.offering);
  return u != nullptr && o != nullptr && manages(*u, *o, "OFFERING.LIST");
}

bool owns_unified_queue(const store& s, std::string_view user_uuid) {
  const auto& rows = s.consumers.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const event_consumer& c) {
    return c.user == user_uuid && c.has_queue;
  });
}

broker_message message(std::string vhost, std::string queue, const json& payload) {
  broker_message m;
  m.vhost = std::move(vhost);
  m.queue = std::move(queue);
  m.payload = payload.dump();
  m.headers = message_headers(m.queue, m.payload);
  return m;
}

void tell_unified(store& s, const event& e, std::vector<broker_message>& out) {
  for (const auto& c : s.consumers.rows()) {
    const identity* i = s.identities.find(c.identity);
    const bool hears = c.has_queue && i != nullptr && i->offering == e.offering &&
                       wants(c.object_types, e.object_type) && may_hear(s, c.user, e);
    if (!hears) {
      continue;
    }
    json payload = e.payload;
    for (const auto& [key, value] : e.context.members()) {
      payload.set(key, value);
    }
    wrap(s, payload, e);
    out.push_back(message(c.user, c.queue_name(), payload));
  }
}

void tell_older(const store& s, const event& e, std::vector<broker_message>& out) {
  for (const auto& q : s.subscription_queues.rows()) {
    const event_subscription* of = s.subscriptions.find(q.subscription);
    const bool hears = of != nullptr && q.offering == e.offering &&
                       q.object_type == e.object_type && may_hear(s, of->user, e) &&
                       !owns_unified_queue(s, of->user);
    if (hears) {
      out.push_back(message(of->user, q.queue_name(), e.payload));
    }
  }
}

} // namespace

void note(store& s, const order& o) {
  event e{"order", o.offering, o.uuid};
  e.payload.set("order_uuid", o.uuid).set("order_state", o.state);
  const resource* r = s.resources.find(o.resource);
  e.context.set("order_type", o.type)
      .set("resource_uuid", o.resource)
      .set("resource_backend_id", r != nullptr ? r->backend_id : std::string())
      .set("resource_name", r != nullptr ? r->name : std::string());
  add_project(s, e.context, o.project);
  e.context.set("attributes", o.attributes)
      .set("limits", o.limits)
      .set("plan_uuid", o.plan.empty() ? json() : json(o.plan));
  s.events.push_back(std::move(e));
}

void note(store& s, const resource& r) {
  event e{"resource", r.offering, r.uuid};
  e.payload.set("resource_uuid", r.uuid)
      .set("resource_backend_id", r.backend_id)
      .set("paused", r.paused)
      .set("downscaled", r.downscaled)
      .set("restrict_member_access", r.restrict_member_access)
      .set("limits", r.limits);
  e.context.set("resource_name", r.name).set("resource_state", r.state);
  add_project(s, e.context, r.project);
  s.events.push_back(std::move(e));
}

void note(store& s, const offering_user& u, std::string_view action, const json& more) {
  event e{"offering_user", u.offering, u.uuid};
  const user* of = s.users.find(u.user);
  e.payload.set("offering_user_uuid", u.uuid)
      .set("user_uuid", u.user)
      .set("username", u.username)
      .set("state", u.state)
      .set("action", action)
      .set("attributes", of != nullptr ? exposed_attributes(s, *of, u.offering) : json::object());
  json ids = json::array();
  for (const auto& r : s.resources.rows()) {
    if (of != nullptr && r.offering == u.offering && r.state != "Terminated" &&
        !r.backend_id.empty() && !role_in(*of, r.project).empty()) {
      ids.push_back(r.backend_id);
    }
  }
  e.payload.set("resource_backend_ids", ids);
  for (const auto& [key, value] : more.members()) {
    e.payload.set(key, value);
  }
  s.events.push_back(std::move(e));
}

void note(store& s, const project_account& a, std::string_view action) {
  for (const auto& offering : offerings_in(s, a.project)) {
    event e{a.kind, offering, a.uuid};
    e.payload.set("account_uuid", a.uuid)
        .set("account_username", a.username)
        .set("scope_type", "project");
    add_project(s, e.payload, a.project);
    e.payload.set("action", action);
    s.events.push_back(std::move(e));
  }
}

void note(store& s, const import_request& r) {
  event e{"importable_resources", r.offering, r.uuid};
  e.payload.set("backend_resource_request_uuid", r.uuid);
  s.events.push_back(std::move(e));
}

void note(store& s, const api_key& k, std::string_view action) {
  const resource* r = s.resources.find(k.resource);
  if (r == nullptr) {
    return;
  }
  event e{"resource_api_key_rotation", r->offering, k.uuid};
  e.payload.set("action", action)
      .set("resource_uuid", r->uuid)
      .set("resource_backend_id", r->backend_id)
      .set("api_key_uuid", k.uuid)
      .set("client_id", k.client_id)
      .set("limits", json::object())
      .set("allowed_models", json::array());
  s.events.push_back(std::move(e));
}

void note_role(store& s, const user& u, const project& p, std::string_view role, bool granted) {
  for (const auto& offering : offerings_in(s, p.uuid)) {
    event e{"user_role", offering, u.uuid};
    e.payload.set("user_uuid", u.uuid).set("user_username", u.username);
    add_project(s, e.payload, p.uuid);
    e.payload.set("role_name", role).set("granted", granted);
    e.context.set("user_email", u.email).set("user_full_name", u.full_name);
    s.events.push_back(std::move(e));
  }
}

void note_members(store& s, const project& p, const resource* of) {
  for (const auto& offering : offerings_in(s, p.uuid)) {
    if (of != nullptr && of->offering != offering) {
      continue;
    }
    event e{"user_role", offering, p.uuid};
    add_project(s, e.payload, p.uuid);
    if (of != nullptr) {
      e.payload.set("resource_uuid", of->uuid);
    }
    s.events.push_back(std::move(e));
  }
}

void note_resources_sync(store& s, const offering& o, const user& by) {
  event e{"offering_resources_sync", o.uuid, o.uuid};
  e.payload.set("offering_uuid", o.uuid).set("requested_by_user_uuid", by.uuid);
  s.events.push_back(std::move(e));
}

void note_periodic_settings(
    store& s, const periodic_policy& p, const resource& r, const json& settings, base::wall_time now
) {
  event e{"resource_periodic_limits", p.offering, r.uuid};
  e.payload.set("resource_uuid", r.uuid)
      .set("backend_id", r.backend_id)
      .set("offering_uuid", p.offering)
      .set("policy_uuid", p.uuid)
      .set("action", "apply_periodic_settings")
      .set("settings", settings)
      .set("timestamp", base::to_rfc3339(now, true));
  s.events.push_back(std::move(e));
}

json message_headers(std::string_view queue, std::string_view payload) {
  const std::string content = std::string(queue) + "\n" + std::string(payload);
  return json::object(
      {{"durable", "true"},
       {"auto-delete", "false"},
       {"x-message-id", emulators::sha256_hex(content).substr(0, 32)}}
  );
}

void wrap(store& s, json& payload, const event& e) {
  const auto add = [&payload](std::string_view key, json value) {
    if (payload.find(key) == nullptr) {
      payload.set(key, std::move(value));
    }
  };
  add("object_type", e.object_type);
  add("offering_uuid", e.offering);
  add("schema_version", 1);
  add("sequence_number", ++s.sequence_numbers[e.subject]);
}

std::vector<broker_message> take_messages(store& s) {
  std::vector<broker_message> out;
  for (const auto& e : std::exchange(s.events, {})) {
    tell_unified(s, e, out);
    tell_older(s, e, out);
  }
  return out;
}

void run_hourly_tasks(store& s, base::wall_time now) {
  if (now - s.last_hourly < task_period) {
    return;
  }
  s.last_hourly = now;
  for (const auto& o : s.orders.rows()) {
    if (o.state == "pending-provider" && now - o.created > task_period) {
      note(s, o);
    }
  }
  std::size_t told = 0;
  for (const auto& r : s.resources.rows()) {
    const bool is_old = (r.state == "OK" || r.state == "Erred") &&
                        r.last_sync.value_or(r.created) + task_period < now;
    if (is_old && told++ < most_resynchronised) {
      note(s, r);
    }
  }
}

void rest_idle_services(store& s, base::wall_time now) {
  // Once a minute is what the server does, and there may be thousands of services.
  if (now - s.last_idle_check < std::chrono::minutes(1)) {
    return;
  }
  s.last_idle_check = now;
  std::map<std::string, base::wall_time, std::less<>> last_run;
  for (const auto& p : s.processors.rows()) {
    auto& latest = last_run[p.service];
    latest = std::max(latest, p.last_run);
  }
  for (auto& x : s.services.rows()) {
    const auto ran = last_run.find(x.uuid);
    const auto active = ran == last_run.end() ? x.modified : ran->second;
    if (x.state == "Active" && active + idle_after < now) {
      x.state = "Idle";
    }
  }
}

} // namespace siteagent::waldur_emulator
