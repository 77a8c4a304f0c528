// SPDX-License-Identifier: MIT
#include "core/waldur/client.hpp"

#include "core/base/text.hpp"
#include "core/waldur/decode.hpp"
#include "core/waldur/session.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace siteagent::waldur {

namespace {

using base::json;

constexpr std::string_view orders_path = "marketplace-orders/";
constexpr std::string_view offerings_path = "marketplace-provider-offerings/";
constexpr std::string_view resources_path = "marketplace-provider-resources/";
constexpr std::string_view providers_path = "marketplace-service-providers/";
constexpr std::string_view usages_path = "marketplace-component-usages/";
constexpr std::string_view identities_path = "marketplace-site-agent-identities/";
constexpr std::string_view services_path = "marketplace-site-agent-services/";

std::string item(std::string_view collection, const base::uuid& id, std::string_view action = {}) {
  return std::string(collection) + id.hex() + "/" +
         (action.empty() ? "" : std::string(action) + "/");
}

net::query_list fields(std::initializer_list<std::string_view> names) {
  net::query_list out;
  for (const std::string_view name : names) {
    out.emplace_back("field", name);
  }
  return out;
}

void append(net::query_list& query, const net::query_list& more) {
  query.insert(query.end(), more.begin(), more.end());
}

base::result<void> done(base::result<json> answer) {
  if (!answer) {
    return std::move(answer).error();
  }
  return {};
}

// Oldest first; those of unknown age last, in the server's order.
bool is_older(const order& a, const order& b) {
  if (a.created && b.created) {
    return *a.created < *b.created;
  }
  return a.created.has_value() && !b.created;
}

json error_texts(std::string_view message) {
  // Old servers read both fields unconditionally.
  return json::object({{"error_message", message}, {"error_traceback", ""}});
}

} // namespace

struct client::impl {
  impl(client_options options, std::shared_ptr<net::transport> transport)
      : http(std::move(options), std::move(transport)) {}

  warn_function warner(const std::string& what) {
    return [this, what](const std::string& text) { http.warn("waldur: " + what + ": " + text); };
  }

  // One undecodable row does not hide the others.
  template <class T, class Decode>
  std::vector<T>
  decode_rows(const std::string& what, const std::vector<json>& rows, Decode decode) {
    std::vector<T> out;
    for (const json& row : rows) {
      auto one = decode(row);
      if (one) {
        out.push_back(*std::move(one));
        continue;
      }
      const std::string id(base::truncated(row["uuid"].string_or("without uuid"), 40));
      http.warn("waldur: " + what + ": the row " + id + " was left out: " + one.error().message);
    }
    return out;
  }

  template <class T, class Decode>
  base::result<T> decode_one(const std::string& what, base::result<json> answer, Decode decode) {
    if (!answer) {
      return std::move(answer).error();
    }
    base::result<T> one = decode(*answer);
    if (!one) {
      return base::with_context(std::move(one).error(), "waldur: " + what);
    }
    return one;
  }

  base::result<void> post(
      const std::string& what, std::string_view path, const json* body = nullptr, int success = 200
  ) {
    return done(http.write(what, "POST", path, body, {success}));
  }

  base::result<base::uuid> find_or_create_identity(
      const base::uuid& offering, std::string_view version, std::string_view last_restarted
  );

  session http;
  std::mutex identities_mutex;
  std::map<base::uuid, base::uuid> identities; // offering -> identity, once registered
};

client::client(client_options options, std::shared_ptr<net::transport> transport)
    : impl_(std::make_unique<impl>(std::move(options), std::move(transport))) {}

client::~client() = default;

base::result<std::vector<order>> client::list_orders(const base::uuid& offering) {
  const std::string what = "list orders of offering " + offering.hex();
  const auto rows = impl_->http.list(
      what,
      orders_path,
      {{"offering_uuid", offering.hex()}, {"state", "pending-provider"}, {"state", "executing"}}
  );
  if (!rows) {
    return rows.error();
  }
  auto orders = impl_->decode_rows<order>(what, *rows, [&](const json& row) {
    return decode_order(row, impl_->warner(what));
  });
  std::stable_sort(orders.begin(), orders.end(), is_older);
  return orders;
}

base::result<order> client::get_order(const base::uuid& order_id) {
  const std::string what = "get order " + order_id.hex();
  return impl_->decode_one<order>(
      what,
      impl_->http.get(what, item(orders_path, order_id)),
      [&](const json& j) { return decode_order(j, impl_->warner(what)); }
  );
}

base::result<std::string> client::get_order_state(const base::uuid& order_id) {
  const std::string what = "get state of order " + order_id.hex();
  return impl_->decode_one<std::string>(
      what,
      impl_->http.get(what, item(orders_path, order_id), fields({"uuid", "state"})),
      [](const json& j) { return required_text(j, "state"); }
  );
}

base::result<void> client::approve_by_provider(const base::uuid& order_id) {
  const json body = json::object();
  return impl_->post(
      "approve order " + order_id.hex(), item(orders_path, order_id, "approve_by_provider"), &body
  );
}

base::result<void>
client::reject_by_provider(const base::uuid& order_id, std::string_view comment) {
  json body = json::object();
  if (!comment.empty()) {
    body.set("provider_rejection_comment", comment);
  }
  return impl_->post(
      "reject order " + order_id.hex(), item(orders_path, order_id, "reject_by_provider"), &body
  );
}

base::result<void> client::set_state_done(const base::uuid& order_id) {
  return impl_->post(
      "set order " + order_id.hex() + " done", item(orders_path, order_id, "set_state_done")
  );
}

base::result<void> client::set_state_erred(const base::uuid& order_id, std::string_view message) {
  const json body = error_texts(message);
  return impl_->post(
      "set order " + order_id.hex() + " erred",
      item(orders_path, order_id, "set_state_erred"),
      &body
  );
}

base::result<json> client::users_me() {
  const std::string what = "get the token's user";
  auto answer = impl_->http.get(what, "users/me/");
  if (answer && !answer->is_object()) {
    return base::error{
        base::error_code::transient, "waldur: " + what + ": the answer is no JSON object"};
  }
  return answer;
}

base::result<offering> client::get_offering(const base::uuid& offering_id) {
  const std::string what = "get offering " + offering_id.hex();
  return impl_->decode_one<offering>(
      what,
      impl_->http.get(
          what,
          item(offerings_path, offering_id),
          fields({"components", "customer_uuid", "partitions", "plugin_options"})
      ),
      [&](const json& j) { return decode_offering(j, impl_->warner(what)); }
  );
}

base::result<plan> client::get_plan(const base::uuid& plan_id) {
  const std::string what = "get plan " + plan_id.hex();
  return impl_->decode_one<plan>(
      what, impl_->http.get(what, item("marketplace-plans/", plan_id)), decode_plan
  );
}

base::result<std::map<std::string, std::string>> client::list_ssh_keys(const base::uuid& customer) {
  const std::string what = "list SSH keys of customer " + customer.hex();
  net::query_list query = {{"customer_uuid", customer.hex()}};
  append(query, fields({"uuid"}));
  const auto providers = impl_->http.list(what, providers_path, query);
  if (!providers) {
    return providers.error();
  }
  std::map<std::string, std::string> keys;
  if (providers->empty()) {
    return keys; // the customer is no service provider
  }
  const auto provider = required_uuid(providers->front(), "uuid");
  if (!provider) {
    return base::with_context(provider.error(), "waldur: " + what + ": the service provider");
  }
  const auto rows = impl_->http.list(what, item(providers_path, *provider, "keys"), {});
  if (!rows) {
    return rows.error();
  }
  const auto decode = [](const json& row) -> base::result<std::pair<std::string, std::string>> {
    auto id = required_uuid(row, "uuid");
    if (!id) {
      return id.error();
    }
    auto text = required_text(row, "public_key");
    if (!text) {
      return text.error();
    }
    return std::pair(id->hex(), *std::move(text));
  };
  for (auto& key : impl_->decode_rows<std::pair<std::string, std::string>>(what, *rows, decode)) {
    keys.insert(std::move(key));
  }
  return keys;
}

base::result<resource> client::get_resource(const base::uuid& resource_id) {
  const std::string what = "get resource " + resource_id.hex();
  return impl_->decode_one<resource>(
      what, impl_->http.get(what, item(resources_path, resource_id)), decode_resource
  );
}

base::result<std::vector<resource>>
client::list_resources(const base::uuid& offering, const std::vector<std::string>& states) {
  const std::string what = "list resources of offering " + offering.hex();
  net::query_list query = {{"offering_uuid", offering.hex()}};
  for (const std::string& state : states) {
    query.emplace_back("state", state);
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
           "attributes",
           "offering_plugin_options",
           "offering_backend_id",
           "end_date",
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
  append(query, fields({"uuid", "type", "usage"}));
  const auto rows = impl_->http.list(what, usages_path, query);
  if (!rows) {
    return rows.error();
  }
  return impl_->decode_rows<component_usage>(what, *rows, decode_usage);
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

base::result<base::uuid> client::impl::find_or_create_identity(
    const base::uuid& offering_id, std::string_view version, std::string_view last_restarted
) {
  const std::string what = "register the agent for offering " + offering_id.hex();
  std::string name = "agent-" + offering_id.hex();
  std::optional<base::uuid> known;
  // The Python agent used the UUID as it was configured, possibly dashed.
  for (const std::string& candidate : {name, "agent-" + offering_id.dashed()}) {
    const auto rows = http.list(what, identities_path, {{"name", candidate}});
    if (!rows) {
      return rows.error();
    }
    if (!rows->empty()) {
      const auto id = required_uuid(rows->front(), "uuid");
      if (!id) {
        return base::with_context(id.error(), "waldur: " + what);
      }
      known = *id;
      name = candidate;
      break;
    }
  }
  const json body = json::object(
      {{"offering", offering_id.hex()},
       {"name", name},
       {"version", version},
       {"last_restarted", last_restarted},
       {"dependencies", json::array()},
       {"config_file_path", ""},
       {"config_file_content", ""}}
  );
  const auto answer = known ? http.write(what, "PUT", item(identities_path, *known), &body, {200})
                            : http.write(what, "POST", identities_path, &body, {201});
  if (!answer) {
    return answer.error();
  }
  if (known) {
    return *known;
  }
  const auto id = required_uuid(*answer, "uuid");
  return id ? id : base::with_context(id.error(), "waldur: " + what);
}

base::result<void> client::register_agent(
    const base::uuid& offering_id,
    std::string_view mode,
    std::string_view processor,
    std::string_view backend_type,
    std::string_view version,
    std::string_view last_restarted
) {
  const std::string what = "register " + std::string(mode) + " for offering " + offering_id.hex();
  const std::lock_guard lock(impl_->identities_mutex);
  auto known = impl_->identities.find(offering_id);
  if (known == impl_->identities.end()) {
    const auto id = impl_->find_or_create_identity(offering_id, version, last_restarted);
    if (!id) {
      return id.error();
    }
    known = impl_->identities.emplace(offering_id, *id).first;
  }
  const json service = json::object({{"name", mode}, {"mode", mode}});
  const auto answer = impl_->http.write(
      what, "POST", item(identities_path, known->second, "register_service"), &service, {200, 201}
  );
  if (!answer) {
    impl_->identities.erase(known); // somebody may have deleted it
    return answer.error();
  }
  const auto service_id = required_uuid(*answer, "uuid");
  if (!service_id) {
    return base::with_context(service_id.error(), "waldur: " + what);
  }
  constexpr std::size_t longest_type = 100;
  const json body = json::object(
      {{"name", processor},
       {"backend_type", base::truncated(backend_type, longest_type)},
       {"backend_version", version}}
  );
  return done(impl_->http.write(
      what, "POST", item(services_path, *service_id, "register_processor"), &body, {200, 201}
  ));
}

} // namespace siteagent::waldur
