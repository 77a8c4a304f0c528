// SPDX-License-Identifier: MIT
// Waldur's objects in the words of the plugin ABI.
#include "core/agent/request_body.hpp"

#include "core/base/decimal.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace siteagent::agent {

namespace {

using base::json;

void set_text(json& object, std::string_view key, const std::string& text) {
  if (!text.empty()) {
    object.set(key, text);
  }
}

config::value scalar(std::string text) {
  config::value v;
  v.type = config::value::kind::scalar;
  v.text = std::move(text);
  return v;
}

config::component server_component(const waldur::offering_component& server) {
  config::component c;
  c.type = server.type;
  c.measured_unit = server.measured_unit;
  c.accounting_type = server.billing_type;
  c.label = server.name;
  c.raw.type = config::value::kind::map;
  c.raw.map.emplace_back("measured_unit", scalar(server.measured_unit));
  c.raw.map.emplace_back("accounting_type", scalar(server.billing_type));
  c.raw.map.emplace_back("label", scalar(server.name));
  if (server.unit_factor) {
    const std::optional<base::decimal> factor = base::decimal::parse(*server.unit_factor);
    if (factor && !factor->is_zero()) {
      c.unit_factor = *factor;
      c.raw.map.emplace_back("unit_factor", scalar(*server.unit_factor));
    }
  }
  if (server.limit_amount) {
    c.raw.map.emplace_back("limit", scalar(*server.limit_amount));
  }
  return c;
}

base::decimal amount_of(const waldur::limits& l, const std::string& type) {
  const auto found = l.find(type);
  if (found == l.end()) {
    return 0;
  }
  return base::decimal::parse(found->second).value_or(0);
}

} // namespace

json limits_to_json(const waldur::limits& l) {
  json object = json::object();
  for (const auto& [type, amount] : l) {
    const json number = json::number(amount);
    object.set(type, number.is_null() ? json(amount) : number);
  }
  return object;
}

json offering_to_json(const config::offering& offering) {
  return json::object({{"uuid", offering.uuid.hex()}, {"name", offering.name}});
}

json order_to_json(const waldur::order& order) {
  json object = json::object({{"uuid", order.uuid.hex()}, {"type", order.type}});
  if (order.created) {
    object.set("created", base::to_rfc3339(*order.created));
  }
  object.set("attributes", order.attributes.is_object() ? order.attributes : json::object());
  object.set("limits", limits_to_json(order.limits));
  return object;
}

json resource_to_json(const waldur::resource& resource) {
  json object = json::object({{"uuid", resource.uuid.hex()}, {"name", resource.name}});
  set_text(object, "slug", resource.slug);
  object.set("backend_id", std::string(base::trim(resource.backend_id)));
  object.set("attributes", resource.attributes.is_object() ? resource.attributes : json::object());
  object.set(
      "metadata", resource.backend_metadata.is_object() ? resource.backend_metadata : json::object()
  );
  object.set("limits", limits_to_json(resource.limits));
  set_text(object, "project_uuid", resource.project_uuid);
  set_text(object, "project_slug", resource.project_slug);
  set_text(object, "customer_slug", resource.customer_slug);
  object.set("paused", resource.paused);
  object.set("downscaled", resource.downscaled);
  return object;
}

json components_to_json(const std::vector<config::component>& components) {
  json object = json::object();
  for (const config::component& c : components) {
    json raw = config::to_json(c.raw);
    object.set(c.type, raw.is_object() ? std::move(raw) : json::object());
  }
  return object;
}

json keys_to_json(const std::map<std::string, std::string>& keys) {
  json object = json::object();
  for (const auto& [uuid, text] : keys) {
    object.set(uuid, text);
  }
  return object;
}

json offering_tags(const base::uuid& offering) {
  return json::object({{tag_managed_by, tag_managed_by_value}, {tag_offering, offering.hex()}});
}

json resource_tags(
    const base::uuid& offering, const base::uuid& resource, const std::string& project_slug
) {
  json tags = offering_tags(offering);
  tags.set(tag_resource, resource.hex());
  set_text(tags, tag_project, project_slug);
  return tags;
}

base::json resource_refs(const std::vector<waldur::resource>& resources) {
  base::json refs = base::json::array();
  for (const waldur::resource& r : resources) {
    refs.push_back(base::json::object(
        {{"uuid", r.uuid.hex()}, {"backend_id", std::string(base::trim(r.backend_id))}}
    ));
  }
  return refs;
}

std::map<base::uuid, base::json> rows_by_uuid(std::vector<base::json> rows) {
  std::map<base::uuid, base::json> found;
  for (base::json& row : rows) {
    if (const auto uuid = base::uuid::parse(row["uuid"].string_or(""))) {
      found.insert_or_assign(*uuid, std::move(row));
    }
  }
  return found;
}

std::vector<config::component> merge_components(
    std::vector<config::component> local, const std::vector<waldur::offering_component>& server
) {
  for (const waldur::offering_component& s : server) {
    const bool known = std::any_of(local.begin(), local.end(), [&](const config::component& c) {
      return c.type == s.type;
    });
    if (!known && !s.type.empty()) {
      local.push_back(server_component(s));
    }
  }
  return local;
}

bool same_limits(const waldur::limits& a, const waldur::limits& b) {
  const auto agrees_with = [](const waldur::limits& left, const waldur::limits& right) {
    return std::all_of(left.begin(), left.end(), [&](const auto& entry) {
      return amount_of(left, entry.first) == amount_of(right, entry.first);
    });
  };
  return agrees_with(a, b) && agrees_with(b, a);
}

} // namespace siteagent::agent
