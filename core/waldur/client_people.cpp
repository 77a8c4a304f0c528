// SPDX-License-Identifier: MIT
// Offering users, teams, accounts, limits of users.
#include "core/waldur/client_impl.hpp"

#include <utility>

namespace siteagent::waldur {

namespace {

constexpr std::string_view offering_users_path = "marketplace-offering-users/";
constexpr std::string_view user_limits_path = "component-user-usage-limits/";
constexpr std::string_view attribute_prefix = "user_";

std::optional<base::uuid> uuid_in(const json& text) {
  return base::uuid::parse(text.string_or(""));
}

// The last part of an address: ".../marketplace-offering-users/<hex>/".
base::result<base::uuid> uuid_at_end(const json& j, std::string_view field) {
  std::string url = j[field].string_or("");
  while (url.ends_with('/')) {
    url.pop_back();
  }
  const auto found = base::uuid::parse(url.substr(url.rfind('/') + 1));
  if (!found) {
    return base::error{base::error_code::transient, std::string(field) + " does not end in a uuid"};
  }
  return *found;
}

base::result<offering_user> decode_offering_user(const json& j) {
  const auto uuid = required_uuid(j, "uuid");
  if (!uuid) {
    return uuid.error();
  }
  offering_user out;
  out.uuid = *uuid;
  out.user = uuid_in(j["user_uuid"]);
  out.username = std::string(base::trim(j["username"].string_or("")));
  out.state = j["state"].string_or("");
  for (const auto& [name, value] : j.members()) {
    if (name.starts_with(attribute_prefix) && name != "user_uuid" && !value.is_null()) {
      out.attributes.set(name.substr(attribute_prefix.size()), value);
    }
  }
  return out;
}

base::result<team_member> decode_team_member(const json& j) {
  const auto uuid = required_uuid(j, "uuid");
  if (!uuid) {
    return uuid.error();
  }
  team_member out;
  out.user = *uuid;
  out.login = j["username"].string_or("");
  out.full_name = j["full_name"].string_or("");
  out.email = j["email"].string_or("");
  out.role = j["role"].string_or("");
  out.username = std::string(base::trim(j["offering_user_username"].string_or("")));
  out.state = j["offering_user_state"].string_or("");
  return out;
}

base::result<project_account> decode_account(const json& j) {
  auto username = required_text(j, "username");
  if (!username) {
    return std::move(username).error();
  }
  return project_account{
      std::string(base::trim(*username)), j["state"].string_or(""), uuid_in(j["project_uuid"])};
}

base::result<user_limit> decode_user_limit(const json& j) {
  const auto resource = uuid_at_end(j, "resource");
  if (!resource) {
    return resource.error();
  }
  const auto user = uuid_at_end(j, "user");
  if (!user) {
    return user.error();
  }
  auto component = required_text(j, "component_type");
  if (!component) {
    return std::move(component).error();
  }
  const auto limit = j["limit"].number_text();
  if (!limit) {
    return base::error{base::error_code::transient, "limit is no number"};
  }
  return user_limit{*resource, *user, *std::move(component), std::string(*limit)};
}

std::string name_of(const base::uuid& user) {
  return "offering user " + user.hex();
}

} // namespace

base::result<std::vector<std::string>> client::list_user_attributes(const base::uuid& offering) {
  const std::string what = "get the exposed user attributes of offering " + offering.hex();
  const auto answer =
      impl_->http.get(what, item(offerings_path, offering, "user-attribute-config"));
  if (!answer) {
    return answer.error();
  }
  std::vector<std::string> names;
  for (const json& name : (*answer)["exposed_fields"].items()) {
    if (const auto text = name.string()) {
      names.emplace_back(*text);
    }
  }
  return names;
}

base::result<std::vector<offering_user>> client::list_offering_users(
    const base::uuid& offering,
    const std::vector<std::string>& states,
    const std::vector<std::string>& attributes
) {
  const std::string what = "list users of offering " + offering.hex();
  net::query_list query = {{"offering_uuid", offering.hex()}, {"is_restricted", "false"}};
  for (const std::string& state : states) {
    query.emplace_back("state", state);
  }
  append(query, fields({"uuid", "user_uuid", "username", "state"}));
  for (const std::string& name : attributes) {
    query.emplace_back("field", std::string(attribute_prefix) + name);
  }
  const auto rows = impl_->http.list(what, offering_users_path, query);
  if (!rows) {
    return rows.error();
  }
  return impl_->decode_rows<offering_user>(what, *rows, decode_offering_user);
}

base::result<std::vector<offering_user>>
client::find_offering_users(const base::uuid& offering, const base::uuid& user) {
  const std::string what = "find user " + user.hex() + " of offering " + offering.hex();
  const auto rows = impl_->http.list(
      what,
      offering_users_path,
      {{"offering_uuid", offering.hex()}, {"is_restricted", "false"}, {"user_uuid", user.hex()}}
  );
  if (!rows) {
    return rows.error();
  }
  return impl_->decode_rows<offering_user>(what, *rows, decode_offering_user);
}

base::result<offering_user> client::get_offering_user(const base::uuid& user) {
  const std::string what = "get " + name_of(user);
  return impl_->decode_one<offering_user>(
      what, impl_->http.get(what, item(offering_users_path, user)), decode_offering_user
  );
}

base::result<void>
client::change_offering_user(const base::uuid& user, std::string_view action, const json* body) {
  return impl_->post(
      std::string(action) + " of " + name_of(user), item(offering_users_path, user, action), body
  );
}

base::result<void>
client::set_offering_username(const base::uuid& user, std::string_view username) {
  const json body = json::object({{"username", username}});
  return done(impl_->http.write(
      "set username of " + name_of(user), "PATCH", item(offering_users_path, user), &body, {200}
  ));
}

base::result<std::vector<team_member>>
client::list_team(const base::uuid& resource_id, bool consenting) {
  const std::string what = "list team of resource " + resource_id.hex();
  net::query_list query;
  if (consenting) {
    query.emplace_back("has_consent", "true");
  }
  const auto rows = impl_->http.list(what, item(resources_path, resource_id, "team"), query);
  if (!rows) {
    return rows.error();
  }
  return impl_->decode_rows<team_member>(what, *rows, decode_team_member);
}

base::result<std::vector<project_account>>
client::list_accounts(const base::uuid& offering, account_kind kind) {
  const bool services = kind == account_kind::service;
  const std::string what = std::string("list ") + (services ? "service" : "course") +
                           " accounts of offering " + offering.hex();
  const auto rows = impl_->http.list(
      what,
      item(
          offerings_path,
          offering,
          services ? "list_project_service_accounts" : "list_course_accounts"
      ),
      {}
  );
  if (!rows) {
    return rows.error();
  }
  return impl_->decode_rows<project_account>(what, *rows, decode_account);
}

base::result<std::vector<user_limit>> client::list_user_limits(const base::uuid& offering) {
  const std::string what = "list limits of users of offering " + offering.hex();
  const auto rows = impl_->http.list(what, user_limits_path, {{"offering_uuid", offering.hex()}});
  if (!rows) {
    return rows.error();
  }
  return impl_->decode_rows<user_limit>(what, *rows, decode_user_limit);
}

base::result<void> client::set_membership_statuses(
    const base::uuid& resource_id, const std::vector<member_status>& statuses
) {
  json list = json::array();
  for (const member_status& s : statuses) {
    json one = json::object(
        {{"username", s.login},
         {"scope_type", "resource"},
         {"role_name", s.role},
         {"state", s.state}}
    );
    if (!s.message.empty()) {
      one.set("message", s.message);
    }
    list.push_back(std::move(one));
  }
  const json body = json::object({{"statuses", list}});
  return impl_->post(
      "set membership statuses of resource " + resource_id.hex(),
      item(resources_path, resource_id, "set_membership_sync_statuses"),
      &body
  );
}

} // namespace siteagent::waldur
