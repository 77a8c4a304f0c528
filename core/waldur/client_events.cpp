// SPDX-License-Identifier: MIT
// Event queues, and what handlers of events ask: orders of one resource, imports, policies.
#include "core/waldur/client_impl.hpp"

#include <algorithm>
#include <utility>

namespace siteagent::waldur {

namespace {

constexpr std::string_view subscriptions_path = "event-subscriptions/";
constexpr std::string_view import_requests_path = "backend-resource-requests/";
constexpr std::string_view imports_path = "backend-resources/";
constexpr std::string_view projects_path = "projects/";
constexpr std::string_view policies_path = "marketplace-slurm-periodic-usage-policies/";

base::error without_member(const std::string& what, std::string_view member) {
  return {
      base::error_code::transient,
      "waldur: " + what + ": the answer has no " + std::string(member)};
}

} // namespace

base::result<event_queue> client::register_queue(
    const base::uuid& offering_id,
    const agent_build& build,
    const std::vector<std::string>& object_types
) {
  const std::string what = "register the event queue of offering " + offering_id.hex();
  json types = json::array();
  for (const std::string& type : object_types) {
    types.push_back(type);
  }
  const base::result<json> answer = impl_->post_to_identity(
      what,
      offering_id,
      build,
      false,
      "register_queue",
      json::object({{"object_types", std::move(types)}})
  );
  if (!answer) {
    return answer.error();
  }
  event_queue queue;
  queue.login = (*answer)["rmq_username"].string_or("");
  queue.queue = (*answer)["queue_name"].string_or("");
  queue.virtual_host = (*answer)["vhost"].string_or("");
  for (const json& type : (*answer)["observable_object_types"].items()) {
    queue.object_types.push_back(type.string_or(""));
  }
  for (const auto& [member, text] :
       {std::pair("rmq_username", &queue.login),
        std::pair("queue_name", &queue.queue),
        std::pair("vhost", &queue.virtual_host)}) {
    if (text->empty()) {
      return without_member(what, member);
    }
  }
  return queue;
}

base::result<event_queue> client::register_legacy_queue(
    const base::uuid& offering_id, const agent_build& build, std::string_view object_type
) {
  const std::string what = "register the event queue for " + std::string(object_type) +
                           " of offering " + offering_id.hex();
  const base::result<json> subscription = impl_->post_to_identity(
      what,
      offering_id,
      build,
      false,
      "register_event_subscription",
      json::object(
          {{"observable_object_type", object_type},
           {"description", "Site agent, offering " + offering_id.hex()}}
      )
  );
  if (!subscription) {
    return subscription.error();
  }
  const base::result<base::uuid> id = required_uuid(*subscription, "uuid");
  const base::result<base::uuid> user = required_uuid(*subscription, "user_uuid");
  if (!id || !user) {
    return without_member(what, id ? "user_uuid" : "uuid");
  }
  const json body =
      json::object({{"offering_uuid", offering_id.hex()}, {"object_type", object_type}});
  const base::result<json> answer = impl_->http.write(
      what, "POST", item(subscriptions_path, *id, "create_queue"), &body, {200, 201}
  );
  if (!answer) {
    return answer.error();
  }
  event_queue queue;
  queue.login = id->hex();
  queue.virtual_host = (*answer)["vhost"].string_or(user->hex());
  queue.queue = (*answer)["queue_name"].string_or(
      "subscription_" + id->hex() + "_offering_" + offering_id.hex() + "_" +
      std::string(object_type)
  );
  queue.object_types.emplace_back(object_type);
  return queue;
}

base::result<std::vector<order>>
client::list_orders_of(const base::uuid& offering_id, const base::uuid& resource_id) {
  const std::string what = "list orders of resource " + resource_id.hex();
  const auto rows = impl_->http.list(
      what,
      orders_path,
      {{"offering_uuid", offering_id.hex()},
       {"resource_uuid", resource_id.hex()},
       {"state", "pending-provider"},
       {"state", "executing"}}
  );
  if (!rows) {
    return rows.error();
  }
  auto orders = impl_->decode_rows<order>(what, *rows, [&](const json& row) {
    return decode_order(row, impl_->warner(what));
  });
  // A server that does not know the filter sends every order of the offering.
  std::erase_if(orders, [&](const order& o) { return o.resource != resource_id; });
  std::stable_sort(orders.begin(), orders.end(), is_older);
  return orders;
}

base::result<void> client::ping_offering(const base::uuid& offering_id) {
  return done(impl_->http.get(
      "show the agent as connected for offering " + offering_id.hex(),
      orders_path,
      {{"offering_uuid", offering_id.hex()}, {"page_size", "1"}, {"field", "uuid"}}
  ));
}

base::result<std::string> client::get_import_request(const base::uuid& request) {
  const std::string what = "get import request " + request.hex();
  return impl_->decode_one<std::string>(
      what,
      impl_->http.get(what, item(import_requests_path, request)),
      [](const json& j) { return required_text(j, "state"); }
  );
}

base::result<void> client::start_import(const base::uuid& request) {
  return impl_->post(
      "start import request " + request.hex(),
      item(import_requests_path, request, "start_processing")
  );
}

base::result<void> client::finish_import(const base::uuid& request) {
  return impl_->post(
      "finish import request " + request.hex(), item(import_requests_path, request, "set_done")
  );
}

base::result<void> client::fail_import(const base::uuid& request, std::string_view message) {
  const json body = error_texts(message);
  return impl_->post(
      "set import request " + request.hex() + " erred",
      item(import_requests_path, request, "set_erred"),
      &body
  );
}

base::result<std::optional<base::uuid>> client::find_project(std::string_view slug) {
  const std::string what = "find project " + std::string(slug);
  net::query_list query{{"slug", std::string(slug)}};
  append(query, fields({"uuid", "slug"}));
  const auto rows = impl_->http.list(what, projects_path, query);
  if (!rows) {
    return rows.error();
  }
  for (const json& row : *rows) {
    // A server that does not know the filter sends every project.
    if (row["slug"].string_or(slug) == slug) {
      const base::result<base::uuid> id = required_uuid(row, "uuid");
      if (!id) {
        return base::with_context(id.error(), "waldur: " + what);
      }
      return std::optional(*id);
    }
  }
  return std::optional<base::uuid>();
}

base::result<bool> client::is_importable_known(
    const base::uuid& offering_id, const base::uuid& project, std::string_view backend_id
) {
  const auto rows = impl_->http.list(
      "look for importable resource " + std::string(backend_id),
      imports_path,
      {{"backend_id", std::string(backend_id)},
       {"project_uuid", project.hex()},
       {"offering_uuid", offering_id.hex()}}
  );
  if (!rows) {
    return rows.error();
  }
  return !rows->empty();
}

base::result<void> client::submit_importable(
    const base::uuid& offering_id,
    const base::uuid& project,
    std::string_view backend_id,
    const json& metadata
) {
  const json body = json::object(
      {{"name", backend_id},
       {"project", project.hex()},
       {"offering", offering_id.hex()},
       {"backend_id", backend_id},
       {"backend_metadata", metadata}}
  );
  return impl_->post("offer " + std::string(backend_id) + " for import", imports_path, &body, 201);
}

base::result<void> client::report_policy_result(
    const base::uuid& policy, const base::uuid& resource, bool success, std::string_view message
) {
  const json body = json::object(
      {{"resource_uuid", resource.hex()}, {"success", success}, {"error_message", message}}
  );
  return impl_->post(
      "report policy " + policy.hex() + " for resource " + resource.hex(),
      item(policies_path, policy, "report-command-result"),
      &body
  );
}

} // namespace siteagent::waldur
