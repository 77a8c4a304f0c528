// SPDX-License-Identifier: MIT
// Resources and their usage.
#include "core/waldur/client_impl.hpp"

#include <utility>

namespace siteagent::waldur {

base::result<resource> client::get_resource(const base::uuid& resource_id) {
  const std::string what = "get resource " + resource_id.hex();
  return impl_->decode_one<resource>(
      what, impl_->http.get(what, item(resources_path, resource_id)), decode_resource
  );
}

base::result<std::vector<resource>> client::list_resources(
    const base::uuid& offering,
    const std::vector<std::string>& states,
    const std::optional<base::uuid>& project
) {
  const std::string what = "list resources of offering " + offering.hex();
  net::query_list query = {{"offering_uuid", offering.hex()}};
  for (const std::string& state : states) {
    query.emplace_back("state", state);
  }
  if (project) {
    query.emplace_back("project_uuid", project->hex());
  }
  append(
      query,
      fields(
          {"uuid",
           "backend_id",
           "name",
           "slug",
           "state",
           "project_uuid",
           "project_slug",
           "project_name",
           "customer_uuid",
           "customer_slug",
           "customer_name",
           "backend_metadata",
           "limits",
           "plan_uuid",
           "paused",
           "downscaled",
           "restrict_member_access",
           "last_sync",
           "attributes",
           "offering_plugin_options",
           "offering_backend_id",
           "end_date",
           "end_date_updated_at",
           "project_description",
           "project_end_date"}
      )
  );
  const auto rows = impl_->http.list(what, resources_path, query);
  if (!rows) {
    return rows.error();
  }
  return impl_->decode_rows<resource>(what, *rows, decode_resource);
}

base::result<void>
client::set_backend_id(const base::uuid& resource_id, std::string_view backend_id) {
  const json body = json::object({{"backend_id", backend_id}});
  return impl_->post(
      "set backend id of resource " + resource_id.hex(),
      item(resources_path, resource_id, "set_backend_id"),
      &body
  );
}

base::result<void>
client::set_backend_metadata(const base::uuid& resource_id, const json& metadata) {
  const json body = json::object({{"backend_metadata", metadata}});
  return impl_->post(
      "set metadata of resource " + resource_id.hex(),
      item(resources_path, resource_id, "set_backend_metadata"),
      &body
  );
}

base::result<void> client::set_limits(const base::uuid& resource_id, const limits& l) {
  const std::string what = "set limits of resource " + resource_id.hex();
  json amounts = json::object();
  for (const auto& [type, amount] : l) {
    const json number = json::number(amount);
    if (number.is_null()) {
      return base::error{
          base::error_code::invalid,
          "waldur: " + what + ": the limit of " + type + " is no number"};
    }
    amounts.set(type, number);
  }
  const json body = json::object({{"limits", amounts}});
  return impl_->post(what, item(resources_path, resource_id, "set_limits"), &body);
}

base::result<void>
client::set_endpoints(const base::uuid& resource_id, const std::vector<endpoint>& e) {
  json list = json::array();
  for (const endpoint& one : e) {
    list.push_back(json::object({{"name", one.name}, {"url", one.url}}));
  }
  const json body = json::object({{"endpoints", list}});
  return impl_->post(
      "set endpoints of resource " + resource_id.hex(),
      item(resources_path, resource_id, "set_endpoints"),
      &body
  );
}

base::result<void> client::set_as_erred(const base::uuid& resource_id, std::string_view message) {
  const json body = error_texts(message);
  return impl_->post(
      "set resource " + resource_id.hex() + " erred",
      item(resources_path, resource_id, "set_as_erred"),
      &body
  );
}

base::result<void> client::set_as_ok(const base::uuid& resource_id) {
  return impl_->post(
      "set resource " + resource_id.hex() + " OK", item(resources_path, resource_id, "set_as_ok")
  );
}

base::result<void> client::refresh_last_sync(const base::uuid& resource_id) {
  return impl_->post(
      "refresh last sync of resource " + resource_id.hex(),
      item(resources_path, resource_id, "refresh_last_sync")
  );
}

base::result<std::vector<component_usage>>
client::list_usages(const base::uuid& resource_id, std::string_view billing_period) {
  const std::string what =
      "list usages of resource " + resource_id.hex() + " for " + std::string(billing_period);
  net::query_list query = {
      {"resource_uuid", resource_id.hex()}, {"billing_period", std::string(billing_period)}};
  append(query, fields({"uuid", "type", "usage", "billing_period"}));
  const auto rows = impl_->http.list(what, usages_path, query);
  if (!rows) {
    return rows.error();
  }
  auto usages = impl_->decode_rows<component_usage>(what, *rows, decode_usage);
  // A server that ignores the filter must not have other months counted into this one.
  std::erase_if(usages, [&](const component_usage& u) {
    return !u.billing_period.empty() && u.billing_period != billing_period;
  });
  return usages;
}

base::result<void> client::set_usage(
    const base::uuid& resource_id, std::string_view date, const std::vector<usage_item>& usages
) {
  json list = json::array();
  for (const usage_item& u : usages) {
    list.push_back(json::object({{"type", u.type}, {"amount", u.amount}}));
  }
  const json body =
      json::object({{"resource", resource_id.hex()}, {"date", date}, {"usages", list}});
  return impl_->post(
      "set usage of resource " + resource_id.hex() + " for " + std::string(date),
      std::string(usages_path) + "set_usage/",
      &body,
      201
  );
}

} // namespace siteagent::waldur
