// SPDX-License-Identifier: MIT
// Objects as their GET shows them: hex uuids, hyperlinks, ISO times, decimals as strings.
#include "render.hpp"

#include "render_parts.hpp"

#include <algorithm>

namespace siteagent::waldur_emulator {

namespace {

json time_or_null(const std::optional<base::wall_time>& t) {
  return t ? time_of(*t) : json();
}

json text_or_null(const std::string& text) {
  return text.empty() ? json() : json(text);
}

void add(json& to, std::initializer_list<json::member> members) {
  for (const auto& [key, value] : members) {
    to.members().emplace_back(key, value); // no duplicates here: cheaper than set()
  }
}

void add_customer(const context& c, json& to, const std::string& prefix, std::string_view uuid) {
  const customer* x = c.data.customers.find(uuid);
  if (x == nullptr) {
    return;
  }
  add(to,
      {{prefix, c.url("customers", x->uuid)},
       {prefix + "_uuid", x->uuid},
       {prefix + "_name", x->name},
       {prefix + "_slug", x->slug}});
}

void add_plan(const context& c, json& to, const std::string& uuid) {
  const plan* p = c.data.plans.find(uuid);
  add(to,
      {{"plan", p ? json(c.url("marketplace-public-plans", uuid)) : json()},
       {"plan_uuid", p ? json(uuid) : json()},
       {"plan_name", p ? json(p->name) : json()}});
}

json show_components(const context& c, const offering& o) {
  json list = json::array();
  for (const auto& x : o.components) {
    list.push_back(show_component(c, x));
  }
  return list;
}

json short_order(const context& c, const order& o) {
  return json::object(
      {{"uuid", o.uuid},
       {"url", c.url("marketplace-orders", o.uuid)},
       {"type", o.type},
       {"state", o.state},
       {"created", time_of(o.created)},
       {"attributes", o.attributes},
       {"limits", o.limits}}
  );
}

json creation_order(const context& c, const resource& r) {
  const auto known = c.data.orders_by_resource.find(r.uuid);
  if (known != c.data.orders_by_resource.end()) {
    for (const auto& uuid : known->second) {
      const order* o = c.data.orders.find(uuid);
      if (o != nullptr && o->type == "Create") {
        return short_order(c, *o);
      }
    }
  }
  return {};
}

bool has_api_keys(const context& c, const resource& r) {
  const auto& rows = c.data.api_keys.rows();
  return std::any_of(rows.begin(), rows.end(), [&](const api_key& k) {
    return k.resource == r.uuid;
  });
}

} // namespace

json time_of(base::wall_time t) {
  return base::to_rfc3339(t, true);
}

void add_project(const context& c, json& to, std::string_view uuid) {
  const project* p = c.data.projects.find(uuid);
  if (p == nullptr) {
    return;
  }
  add(to,
      {{"project", c.url("projects", p->uuid)},
       {"project_uuid", p->uuid},
       {"project_name", p->name},
       {"project_slug", p->slug},
       {"project_description", p->description},
       {"project_end_date", text_or_null(p->end_date)}});
  add_customer(c, to, "customer", p->customer);
}

void add_offering(const context& c, json& to, std::string_view uuid) {
  const offering* o = c.data.offerings.find(uuid);
  if (o == nullptr) {
    return;
  }
  add(to,
      {{"offering", c.url("marketplace-public-offerings", o->uuid)},
       {"offering_uuid", o->uuid},
       {"offering_name", o->name},
       {"offering_slug", o->slug},
       {"offering_type", o->type},
       {"offering_backend_id", o->backend_id},
       {"offering_plugin_options", o->plugin_options}});
  if (const customer* x = c.data.customers.find(o->customer)) {
    add(to, {{"provider_uuid", x->uuid}, {"provider_name", x->name}, {"provider_slug", x->slug}});
  }
}

json show_user(const context& c, const user& u) {
  json permissions = json::array();
  for (const auto& g : u.grants) {
    permissions.push_back(json::object(
        {{"role_name", g.role},
         {"scope_type", g.scope},
         {"scope_uuid", g.scope_uuid},
         {"scope_name",
          [&]() -> json {
            if (const auto* o = c.data.offerings.find(g.scope_uuid)) {
              return o->name;
            }
            if (const auto* x = c.data.customers.find(g.scope_uuid)) {
              return x->name;
            }
            const auto* p = c.data.projects.find(g.scope_uuid);
            return p ? json(p->name) : json();
          }()},
         {"expiration_time", nullptr}}
    ));
  }
  json shown = json::object(
      {{"url", c.url("users", u.uuid)},
       {"uuid", u.uuid},
       {"username", u.username},
       {"full_name", u.full_name},
       {"email", u.email},
       {"is_staff", u.is_staff},
       {"is_active", true},
       {"permissions", permissions}}
  );
  if (!u.shows_permissions) {
    shown.erase("permissions");
  }
  for (const auto& [key, value] : u.profile.members()) {
    shown.set(key, value);
  }
  return shown;
}

json show_customer(const context& c, const customer& x) {
  return json::object(
      {{"url", c.url("customers", x.uuid)},
       {"uuid", x.uuid},
       {"name", x.name},
       {"slug", x.slug},
       {"blocked", x.blocked},
       {"archived", x.archived}}
  );
}

json show_project(const context& c, const project& p) {
  json o = json::object(
      {{"url", c.url("projects", p.uuid)},
       {"uuid", p.uuid},
       {"name", p.name},
       {"slug", p.slug},
       {"description", p.description},
       {"start_date", text_or_null(p.start_date)},
       {"end_date", text_or_null(p.end_date)}}
  );
  add_customer(c, o, "customer", p.customer);
  return o;
}

json show_provider(const context& c, const service_provider& p) {
  json o =
      json::object({{"url", c.url("marketplace-service-providers", p.uuid)}, {"uuid", p.uuid}});
  add_customer(c, o, "customer", p.customer);
  return o;
}

json show_key(const context& c, const ssh_key& k) {
  return json::object(
      {{"url", c.url("keys", k.uuid)},
       {"uuid", k.uuid},
       {"name", k.name},
       {"public_key", k.public_key}}
  );
}

json show_component(const context& c, const component& x) {
  static_cast<void>(c);
  json o = json::object({{"uuid", x.uuid}, {"type", x.type}, {"billing_type", x.billing_type}});
  for (const auto& [key, value] : x.fields.members()) {
    o.set(key, value);
  }
  return o;
}

json show_plan(const context& c, const plan& p) {
  json o = json::object(
      {{"url", c.url("marketplace-public-plans", p.uuid)},
       {"uuid", p.uuid},
       {"name", p.name},
       {"description", ""},
       {"unit", "month"},
       {"archived", false},
       {"is_active", true},
       {"quotas", p.quotas},
       {"prices", p.prices}}
  );
  add_offering(c, o, p.offering);
  return o;
}

json show_offering(const context& c, const offering& x) {
  json plans = json::array();
  for (const auto& p : c.data.plans.rows()) {
    if (p.offering == x.uuid) {
      plans.push_back(show_plan(c, p));
    }
  }
  json o = json::object(
      {{"url", c.url("marketplace-provider-offerings", x.uuid)},
       {"uuid", x.uuid},
       {"name", x.name},
       {"slug", x.slug},
       {"description", x.description},
       {"type", x.type},
       {"state", x.state},
       {"backend_id", x.backend_id},
       {"plugin_options", x.plugin_options},
       {"options", x.options},
       {"partitions", x.partitions},
       {"shared", true},
       {"billable", true},
       {"components", show_components(c, x)},
       {"plans", plans}}
  );
  add_customer(c, o, "customer", x.customer);
  return o;
}

json show_resource(const context& c, const resource& r) {
  const offering* x = c.data.offerings.find(r.offering);
  const auto open = c.data.open_orders(r.uuid);
  json o = json::object(
      {{"url", c.url("marketplace-resources", r.uuid)},
       {"uuid", r.uuid},
       {"name", r.name},
       {"slug", r.slug},
       {"description", ""},
       {"state", r.state},
       {"backend_id", r.backend_id},
       {"effective_id", r.effective_id},
       {"backend_metadata", r.backend_metadata},
       {"attributes", r.attributes},
       {"limits", r.limits},
       {"options", r.options},
       {"paused", r.paused},
       {"downscaled", r.downscaled},
       {"restrict_member_access", r.restrict_member_access},
       {"end_date", text_or_null(r.end_date)},
       {"resource_type", nullptr},
       {"resource_uuid", nullptr}}
  );
  add_offering(c, o, r.offering);
  add(o, {{"offering_components", x ? show_components(c, *x) : json::array()}});
  add_plan(c, o, r.plan);
  add_project(c, o, r.project);
  add(o,
      {{"endpoints", r.endpoints},
       {"current_usages", r.current_usages},
       {"created", time_of(r.created)},
       {"modified", time_of(r.modified)},
       {"last_sync", time_or_null(r.last_sync)},
       {"error_message", r.error_message},
       {"error_traceback", r.error_traceback},
       {"order_in_progress", open.empty() ? json() : short_order(c, *open.front())},
       {"creation_order", creation_order(c, r)},
       {"username", ""},
       {"has_api_keys", has_api_keys(c, r)}});
  return o;
}

json show_order(const context& c, const order& x) {
  const resource* r = c.data.resources.find(x.resource);
  const user* by = c.data.users.find(x.created_by);
  json o = json::object(
      {{"url", c.url("marketplace-orders", x.uuid)},
       {"uuid", x.uuid},
       {"slug", x.slug},
       {"type", x.type},
       {"state", x.state},
       {"resource_name", r ? json(r->name) : json("")},
       {"marketplace_resource_uuid", x.resource},
       {"resource_uuid", nullptr},
       {"resource_type", nullptr},
       {"attributes", x.attributes},
       {"limits", x.limits},
       {"backend_id", x.backend_id}}
  );
  add_offering(c, o, x.offering);
  add_plan(c, o, x.plan);
  const bool switches = !x.old_plan.empty();
  add(o,
      {{"old_plan_uuid", text_or_null(x.old_plan)},
       {"new_plan_uuid", switches ? text_or_null(x.plan) : json()}});
  add_project(c, o, x.project);
  add(o,
      {{"created", time_of(x.created)},
       {"modified", time_of(x.modified)},
       {"completed_at", time_or_null(x.completed)},
       {"created_by_username", by ? json(by->username) : json()},
       {"created_by_full_name", by ? json(by->full_name) : json()},
       {"created_by_email", by ? json(by->email) : json()},
       {"start_date", text_or_null(x.start_date)},
       {"request_comment", x.request_comment},
       {"termination_comment", x.termination_comment},
       {"consumer_message", ""},
       {"provider_message", x.provider_message},
       {"provider_message_url", x.provider_message_url},
       {"provider_rejection_comment", x.provider_rejection_comment},
       {"consumer_rejection_comment", x.consumer_rejection_comment},
       {"error_message", x.error_message},
       {"error_traceback", x.error_traceback},
       {"order_subtype", nullptr}});
  return o;
}

json show_usage(const context& c, const component_usage& u) {
  json o = json::object(
      {{"uuid", u.uuid},
       {"url", c.url("marketplace-component-usages", u.uuid)},
       {"type", u.type},
       {"usage", u.usage},
       {"date", u.date},
       {"billing_period", u.billing_period},
       {"description", u.description},
       {"recurring", u.recurring},
       {"created", time_of(u.created)},
       {"modified", time_of(u.modified)}}
  );
  const resource* r = c.data.resources.find(u.resource);
  if (r == nullptr) {
    return o;
  }
  add(o, {{"resource_uuid", r->uuid}, {"resource_name", r->name}});
  const offering* x = c.data.offerings.find(r->offering);
  if (const component* k = x ? x->find_component(u.type) : nullptr) {
    add(o,
        {{"name", k->fields["name"]},
         {"measured_unit", k->fields["measured_unit"]},
         {"billing_type", k->billing_type}});
  }
  add_offering(c, o, r->offering);
  add_project(c, o, r->project);
  return o;
}

json show_user_usage(const context& c, const user_usage& u) {
  const component_usage* parent = c.data.usages.find(u.component_usage);
  return json::object(
      {{"uuid", u.uuid},
       {"username", u.username},
       {"user", text_or_null(u.user)},
       {"usage", u.usage},
       {"component_usage", c.url("marketplace-component-usages", u.component_usage)},
       {"component_type", parent ? json(parent->type) : json()},
       {"resource_uuid", parent ? json(parent->resource) : json()}}
  );
}

json show_processor(const context& c, const processor& p) {
  return json::object(
      {{"uuid", p.uuid},
       {"url", c.url("marketplace-site-agent-processors", p.uuid)},
       {"service", c.url("marketplace-site-agent-services", p.service)},
       {"name", p.name},
       {"backend_type", p.backend_type},
       {"backend_version", p.backend_version},
       {"created", time_of(p.created)},
       {"last_run", time_of(p.last_run)}}
  );
}

json show_service(const context& c, const service& s) {
  json processors = json::array();
  for (const auto& p : c.data.processors.rows()) {
    if (p.service == s.uuid) {
      processors.push_back(show_processor(c, p));
    }
  }
  const identity* i = c.data.identities.find(s.identity);
  return json::object(
      {{"uuid", s.uuid},
       {"url", c.url("marketplace-site-agent-services", s.uuid)},
       {"identity", c.url("marketplace-site-agent-identities", s.identity)},
       {"identity_name", i ? json(i->name) : json()},
       {"name", s.name},
       {"mode", s.mode},
       {"state", s.state},
       {"statistics", s.statistics},
       {"created", time_of(s.created)},
       {"modified", time_of(s.modified)},
       {"processors", processors}}
  );
}

json show_subscription(const context& c, const event_subscription& x) {
  const user* u = c.data.users.find(x.user);
  return json::object(
      {{"uuid", x.uuid},
       {"url", c.url("event-subscriptions", x.uuid)},
       {"user_uuid", x.user},
       {"user_username", u ? json(u->username) : json()},
       {"user_full_name", u ? json(u->full_name) : json()},
       {"description", x.description},
       {"observable_objects", json::array({json::object({{"object_type", x.object_type}})})},
       {"created", time_of(x.created)}}
  );
}

json show_consumer(const context& c, const event_consumer& x) {
  static_cast<void>(c);
  json types = json::array();
  for (const auto& type : x.object_types) {
    types.push_back(type);
  }
  return json::object(
      {{"uuid", x.uuid},
       {"identity_uuid", x.identity},
       {"user_uuid", x.user},
       {"rmq_username", x.rmq_username},
       {"queue_name", x.queue_name()},
       {"queue_created", x.has_queue},
       {"object_types", types}}
  );
}

json show_identity(const context& c, const identity& i) {
  json services = json::array();
  for (const auto& s : c.data.services.rows()) {
    if (s.identity == i.uuid) {
      services.push_back(show_service(c, s));
    }
  }
  json o = json::object(
      {{"uuid", i.uuid},
       {"url", c.url("marketplace-site-agent-identities", i.uuid)},
       {"offering", i.offering},
       {"name", i.name},
       {"created_by", i.created_by},
       {"created", time_of(i.created)},
       {"modified", time_of(i.modified)},
       {"services", services}}
  );
  for (const auto& [key, value] : i.fields.members()) {
    o.set(key, value);
  }
  return o;
}

} // namespace siteagent::waldur_emulator
