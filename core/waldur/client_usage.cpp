// SPDX-License-Identifier: MIT
// The shares of single users in the usage of a resource.
#include "core/waldur/client_impl.hpp"

#include <utility>

namespace siteagent::waldur {

namespace {

constexpr std::string_view user_usages_path = "marketplace-component-user-usages/";

// ".../marketplace-component-usages/<uuid>/"; the host is the server's own affair.
std::optional<base::uuid> uuid_in_url(std::string_view url) {
  while (!url.empty() && url.back() == '/') {
    url.remove_suffix(1);
  }
  const auto slash = url.rfind('/');
  return base::uuid::parse(slash == std::string_view::npos ? url : url.substr(slash + 1));
}

base::result<user_usage> decode_user_usage(const json& j) {
  user_usage out;
  out.component_usage = uuid_in_url(j["component_usage"].string_or(""));
  if (!out.component_usage) {
    return base::error{
        base::error_code::transient, "component_usage is no address of a usage record"};
  }
  out.username = j["username"].string_or("");
  out.usage = j["usage"].number_text().value_or("");
  return out;
}

json body_of(const user_usage_item& item, std::string_view users_url) {
  json out =
      json::object({{"username", item.username}, {"usage", item.usage}, {"date", item.date}});
  if (item.offering_user) {
    out.set("user", std::string(users_url) + item.offering_user->hex() + "/");
  }
  return out;
}

} // namespace

base::result<std::vector<user_usage>>
client::list_user_usages(const base::uuid& resource_id, std::string_view billing_period) {
  const std::string what =
      "list user usages of resource " + resource_id.hex() + " for " + std::string(billing_period);
  net::query_list query = {
      {"resource_uuid", resource_id.hex()},
      {"component_usage__billing_period", std::string(billing_period)}};
  append(query, fields({"uuid", "component_usage", "username", "usage"}));
  const auto rows = impl_->http.list(what, user_usages_path, query);
  if (!rows) {
    return rows.error();
  }
  return impl_->decode_rows<user_usage>(what, *rows, decode_user_usage);
}

base::result<void> client::set_user_usages(
    const base::uuid& component_usage, const std::vector<user_usage_item>& items
) {
  const std::string users = impl_->http.url_of("marketplace-offering-users/");
  json list = json::array();
  for (const user_usage_item& item : items) {
    list.push_back(body_of(item, users));
  }
  const json body = json::object({{"usages", list}});
  return impl_->post(
      "set user usages of record " + component_usage.hex(),
      item(usages_path, component_usage, "set_user_usages"),
      &body,
      201
  );
}

base::result<void>
client::set_user_usage(const base::uuid& component_usage, const user_usage_item& item_) {
  const json body = body_of(item_, impl_->http.url_of("marketplace-offering-users/"));
  return impl_->post(
      "set the usage of user " + item_.username + " in record " + component_usage.hex(),
      item(usages_path, component_usage, "set_user_usage"),
      &body,
      201
  );
}

} // namespace siteagent::waldur
