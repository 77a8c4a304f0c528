// SPDX-License-Identifier: MIT
// Users of offerings, their accounts, keys and limits, and what agents offer for import, as their
// GET shows them.
#include "members.hpp"
#include "render.hpp"
#include "render_parts.hpp"

namespace siteagent::waldur_emulator {

json show_offering_user(const context& c, const offering_user& x) {
  json o = json::object(
      {{"url", c.url("marketplace-offering-users", x.uuid)},
       {"uuid", x.uuid},
       {"username", x.username},
       {"state", x.state},
       {"is_restricted", x.is_restricted},
       {"service_provider_comment", x.comment},
       {"service_provider_comment_url", x.comment_url},
       {"user", c.url("users", x.user)},
       {"user_uuid", x.user},
       {"created", time_of(x.created)},
       {"modified", time_of(x.modified)}}
  );
  add_offering(c, o, x.offering);
  if (const user* u = c.data.users.find(x.user)) {
    const json shown = exposed_attributes(c.data, *u, x.offering);
    for (const auto& [name, value] : shown.members()) {
      o.set("user_" + name, value);
    }
  }
  return o;
}

json show_account(const context& c, const project_account& a) {
  const bool is_service = a.kind == "service_account";
  json o = json::object(
      {{"url",
        c.url(
            is_service ? "marketplace-project-service-accounts" : "marketplace-course-accounts",
            a.uuid
        )},
       {"uuid", a.uuid},
       {"username", a.username},
       {"email", a.email},
       {"state", a.state},
       {"created", time_of(a.created)}}
  );
  add_project(c, o, a.project);
  return o;
}

json show_user_limit(const context& c, const user_limit& x) {
  return json::object(
      {{"uuid", x.uuid},
       {"url", c.url("component-user-usage-limits", x.uuid)},
       {"resource", c.url("marketplace-resources", x.resource)},
       {"component_type", x.component_type},
       {"user", c.url("marketplace-offering-users", x.offering_user)},
       {"limit", x.limit}}
  );
}

json show_api_key(const context& c, const api_key& k) {
  const resource* r = c.data.resources.find(k.resource);
  return json::object(
      {{"uuid", k.uuid},
       {"url", c.url("marketplace-resource-api-keys", k.uuid)},
       {"resource", c.url("marketplace-resources", k.resource)},
       {"resource_uuid", k.resource},
       {"resource_backend_id", r ? json(r->backend_id) : json()},
       {"client_id", k.client_id},
       {"state", k.state},
       {"error_message", k.error_message},
       {"created", time_of(k.created)},
       {"modified", time_of(k.modified)}}
  );
}

json show_import_request(const context& c, const import_request& r) {
  json o = json::object(
      {{"uuid", r.uuid},
       {"url", c.url("backend-resource-requests", r.uuid)},
       {"state", r.state},
       {"error_message", r.error_message},
       {"error_traceback", r.error_traceback},
       {"created", time_of(r.created)}}
  );
  add_offering(c, o, r.offering);
  return o;
}

json show_importable(const context& c, const importable& x) {
  json o = json::object(
      {{"uuid", x.uuid},
       {"url", c.url("backend-resources", x.uuid)},
       {"name", x.name},
       {"backend_id", x.backend_id},
       {"backend_metadata", x.backend_metadata},
       {"created", time_of(x.created)}}
  );
  add_offering(c, o, x.offering);
  add_project(c, o, x.project);
  return o;
}

json show_policy(const context& c, const periodic_policy& p) {
  return json::object(
      {{"uuid", p.uuid},
       {"url", c.url("marketplace-slurm-periodic-usage-policies", p.uuid)},
       {"scope", c.url("marketplace-provider-offerings", p.offering)},
       {"scope_uuid", p.offering},
       {"command_results", p.results}}
  );
}

} // namespace siteagent::waldur_emulator
