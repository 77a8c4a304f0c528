// SPDX-License-Identifier: MIT
// Components of an offering as they are loaded into Waldur, and the probe's question.
#include "core/waldur/client_impl.hpp"

namespace siteagent::waldur {

namespace {

std::string name_of(const json& component) {
  return "component " + std::string(base::truncated(component["type"].string_or(""), 60));
}

} // namespace

base::result<std::vector<json>> client::list_components(const base::uuid& offering_id) {
  const std::string what = "get components of offering " + offering_id.hex();
  const auto answer =
      impl_->http.get(what, item(offerings_path, offering_id), fields({"components"}));
  if (!answer) {
    return answer.error();
  }
  const json* rows = answer->find("components");
  if (rows == nullptr || !rows->is_array()) {
    return base::error{
        base::error_code::transient, "waldur: " + what + ": the answer has no list of components"};
  }
  return rows->items();
}

base::result<void> client::create_component(const base::uuid& offering_id, const json& component) {
  return impl_->post(
      "create " + name_of(component) + " of offering " + offering_id.hex(),
      item(offerings_path, offering_id, "create_offering_component"),
      &component,
      201
  );
}

base::result<void> client::update_component(const base::uuid& offering_id, const json& component) {
  return impl_->post(
      "update " + name_of(component) + " of offering " + offering_id.hex(),
      item(offerings_path, offering_id, "update_offering_component"),
      &component
  );
}

base::result<void> client::check_access() {
  return done(impl_->http.get("get the token's user", "users/me/", fields({"uuid"})));
}

} // namespace siteagent::waldur
