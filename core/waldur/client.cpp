// SPDX-License-Identifier: MIT
// Orders, the offering, plans and keys.
#include "core/waldur/client_impl.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::waldur {

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
          fields(
              {"components",
               "customer_uuid",
               "name",
               "options",
               "partitions",
               "plugin_options",
               "state",
               "type"}
          )
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

} // namespace siteagent::waldur
