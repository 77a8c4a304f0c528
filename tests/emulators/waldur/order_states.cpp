// SPDX-License-Identifier: MIT
// Orders and their resources, kept together.
#include "order_states.hpp"

#include "events.hpp"
#include "members.hpp"

namespace siteagent::waldur_emulator {

namespace {

std::string today(base::wall_time now) {
  return base::to_rfc3339(now).substr(0, 10);
}

void set_state(store& s, order& o, std::string_view state, base::wall_time now) {
  o.state = state;
  o.modified = now;
  if (state == "done" || state == "erred" || state == "canceled" || state == "rejected") {
    o.completed = now;
  }
  note(s, o);
}

void set_state(store& s, resource& r, std::string_view state, base::wall_time now) {
  r.modified = now;
  if (r.state != state) {
    r.state = state;
    note(s, r);
  }
}

// The only executing order of that type, or nullptr.
order* single_executing(store& s, const std::string& resource_uuid, std::string_view type) {
  order* found = nullptr;
  for (const auto& uuid : s.orders_by_resource[resource_uuid]) {
    order* o = s.orders.find(uuid);
    if (o == nullptr || o->state != "executing" || o->type != type) {
      continue;
    }
    if (found != nullptr) {
      return nullptr;
    }
    found = o;
  }
  return found;
}

void merge_new_options(resource& r, const json& attributes) {
  for (const auto& [key, value] : attributes["new_options"].members()) {
    r.options.set(key, value);
  }
}

} // namespace

void start_executing(store& s, order& o, base::wall_time now) {
  set_state(s, o, "executing", now);
  o.completed.reset();
  resource* r = s.resources.find(o.resource);
  if (r == nullptr) {
    return;
  }
  const std::string_view state = o.type == "Terminate" ? "Terminating"
                                 : o.type == "Update"  ? "Updating"
                                                       : "Creating";
  set_state(s, *r, state, now);
}

void approve(store& s, order& o, base::wall_time now) {
  const project* p = s.projects.find(o.project);
  if (p != nullptr && !p->start_date.empty() && p->start_date > today(now)) {
    set_state(s, o, "pending-project", now);
  } else if (!o.start_date.empty() && o.start_date > today(now)) {
    set_state(s, o, "pending-start-date", now);
  } else {
    start_executing(s, o, now);
  }
}

void release_waiting(store& s, base::wall_time now) {
  for (auto& o : s.orders.rows()) {
    if (o.state == "pending-project" || o.state == "pending-start-date") {
      approve(s, o, now);
    }
  }
}

void report_done(store& s, const order& o, base::wall_time now) {
  resource* r = s.resources.find(o.resource);
  if (r == nullptr) {
    return;
  }
  set_state(s, *r, o.type == "Terminate" ? "Terminated" : "OK", now);
  if (o.type == "Create" || o.type == "Restore" || o.type == "Update") {
    r->error_message.clear();
    r->error_traceback.clear();
  }
  if (o.type == "Create" || o.type == "Restore") {
    make_offering_users(s, *r, now);
  }
  order* match = single_executing(s, o.resource, o.type);
  if (o.type == "Update") {
    const order& source = match != nullptr ? *match : o;
    if (source.limits.size() > 0) {
      r->limits = source.limits;
    }
    if (!source.plan.empty()) {
      r->plan = source.plan;
    }
    merge_new_options(*r, source.attributes);
  }
  if (match != nullptr) {
    set_state(s, *match, "done", now);
  }
}

void report_erred(
    store& s,
    order& o,
    const std::string& message,
    const std::string& traceback,
    base::wall_time now
) {
  o.error_message = message;
  o.error_traceback = traceback;
  o.modified = now;
  if (resource* r = s.resources.find(o.resource)) {
    set_state(s, *r, o.type == "Terminate" ? "OK" : "Erred", now);
    if (o.type != "Terminate") {
      r->error_message = message;
      r->error_traceback = traceback;
    }
  }
  if (order* match = single_executing(s, o.resource, o.type)) {
    set_state(s, *match, "erred", now);
  }
}

void withdraw(store& s, order& o, std::string_view state, base::wall_time now) {
  set_state(s, o, state, now);
  if (resource* r = s.resources.find(o.resource)) {
    const bool never_existed = o.type == "Create";
    // A Restore was asked for a terminated resource, which then stays what it was.
    const bool stays = o.type == "Restore" && r->state == "Terminated";
    if (!stays) {
      set_state(s, *r, never_existed ? "Terminated" : "OK", now);
    }
  }
}

} // namespace siteagent::waldur_emulator
