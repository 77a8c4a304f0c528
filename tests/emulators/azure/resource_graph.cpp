// SPDX-License-Identifier: MIT
#include "resource_graph.hpp"

#include "permissions.hpp"
#include "render.hpp"
#include "resource_graph_query.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

bool is_resource_graph(const net::server_request& http) {
  const auto& s = http.segments;
  return s.size() == 3 && equals_ignoring_case(s[0], "providers") &&
         equals_ignoring_case(s[1], "Microsoft.ResourceGraph") &&
         equals_ignoring_case(s[2], "resources");
}

namespace {

constexpr std::size_t largest_page = 1000;
constexpr std::string_view token_prefix = "graph:";

reply bad_query(const std::string& why) {
  return error_reply(
      400,
      {"BadRequest",
       "Please provide below info when asking for support: the query is not valid.",
       "",
       json::array({json::object({{"code", "InvalidQuery"}, {"message", "Query is invalid: " + why}}
       )})}
  );
}

json row_of(context& c, resource& r) {
  json row = render(c.world, r);
  const auto tenant = c.world.offer.find_subscription(r.path.subscription);
  row.set("type", base::to_lower(type_name(r.path.kind)));
  row.set("kind", "");
  row.set("subscriptionId", r.path.subscription);
  row.set("resourceGroup", base::to_lower(r.path.group));
  row.set("tenantId", tenant == nullptr ? "" : tenant->tenant);
  row.set("location", r.location);
  if (r.path.kind == kind::virtual_machine) {
    const json view = instance_view(c.world, r, c.now());
    for (const auto& status : view["statuses"].items()) {
      if (status["code"].string_or("").starts_with("PowerState/")) {
        const json power = json::object(
            {{"code", status["code"]},
             {"displayStatus", status["displayStatus"]},
             {"level", status["level"]}}
        );
        row.member_ref("properties")
            .set(
                "extended", json::object({{"instanceView", json::object({{"powerState", power}})}})
            );
      }
    }
  }
  return row;
}

std::vector<std::string> subscriptions_of(const context& c) {
  std::vector<std::string> ids;
  for (const auto& id : c.body["subscriptions"].items()) {
    ids.push_back(id.string_or(""));
  }
  if (ids.empty()) {
    for (const auto& s : c.world.offer.subscriptions) {
      ids.push_back(s.id);
    }
  }
  return ids;
}

std::vector<json> rows_of(context& c, const std::string& table) {
  std::vector<json> rows;
  for (const auto& id : subscriptions_of(c)) {
    if (table == "resourcecontainers") {
      for (const auto& [key, g] : c.world.groups) {
        if (equals_ignoring_case(g.subscription, id) &&
            may(c.world,
                c.principal,
                "Microsoft.Resources/subscriptions/resourceGroups/read",
                g.id(),
                c.now())) {
          json row = render_group(g);
          row.set("type", "microsoft.resources/subscriptions/resourcegroups");
          row.set("subscriptionId", g.subscription).set("resourceGroup", base::to_lower(g.name));
          rows.push_back(std::move(row));
        }
      }
      continue;
    }
    const std::string prefix = key_of("/subscriptions/" + id + "/");
    for (auto it = c.world.resources.lower_bound(prefix);
         it != c.world.resources.end() && it->first.starts_with(prefix);
         ++it) {
      auto& r = it->second;
      if (r.path.child.empty() &&
          may(c.world, c.principal, type_name(r.path.kind) + "/read", it->first, c.now())) {
        rows.push_back(row_of(c, r));
      }
    }
  }
  return rows;
}

std::size_t skip_of(const json& options) {
  const auto token = decode_base64(options["$skipToken"].string_or(""));
  if (token && token->starts_with(token_prefix)) {
    return static_cast<std::size_t>(
        json::number(token->substr(token_prefix.size())).integer().value_or(0)
    );
  }
  return static_cast<std::size_t>(std::max<std::int64_t>(0, options["$skip"].integer().value_or(0))
  );
}

// {"columns": [...], "rows": [[...]]}
json as_table(const json& objects) {
  json columns = json::array();
  json rows = json::array();
  for (const auto& [name, value] : objects[0].members()) {
    columns.push_back(json::object(
        {{"name", name},
         {"type",
          value.is_object()   ? "object"
          : value.is_number() ? "integer"
                              : "string"}}
    ));
  }
  for (const auto& object : objects.items()) {
    json row = json::array();
    for (const auto& [name, value] : object.members()) {
      row.push_back(value);
    }
    rows.push_back(row);
  }
  return json::object({{"columns", columns}, {"rows", rows}});
}

} // namespace

reply query_graph(context& c) {
  const auto query = graph_query::parse(c.body["query"].string_or(""));
  if (!query) {
    return bad_query(query.error().message);
  }
  if (query->table != "resources" && query->table != "resourcecontainers") {
    return bad_query("the table '" + query->table + "' is not served here");
  }
  auto rows = rows_of(c, query->table);
  for (const auto& step : query->steps) {
    step(rows);
  }
  const auto& options = c.body["options"];
  const auto top = options["$top"].integer().value_or(static_cast<std::int64_t>(largest_page));
  if (top < 1 || top > static_cast<std::int64_t>(largest_page)) {
    return error_reply(400, {"BadRequest", "The value of $top must be between 1 and 1000."});
  }
  const std::size_t skip = std::min(skip_of(options), rows.size());
  const std::size_t end = std::min(rows.size(), skip + static_cast<std::size_t>(top));
  json data = json::array();
  for (std::size_t i = skip; i < end; ++i) {
    data.push_back(std::move(rows[i]));
  }
  const auto count = data.size();
  const bool table = options["resultFormat"].string_or("objectArray") == "table";
  json body = json::object(
      {{"totalRecords", rows.size()},
       {"count", count},
       {"data", table ? as_table(data) : data},
       {"facets", json::array()},
       {"resultTruncated", "false"}}
  );
  if (end < rows.size()) {
    body.set("$skipToken", base::base64(std::string(token_prefix) + std::to_string(end)));
  }
  return json_reply(200, body);
}

} // namespace siteagent::azure_emulator
