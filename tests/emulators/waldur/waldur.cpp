// SPDX-License-Identifier: MIT
// Authentication, the table of collections, inventory and banner.
#include "waldur.hpp"

#include "admin.hpp"
#include "core/base/text.hpp"
#include "events.hpp"
#include "order_states.hpp"
#include "render.hpp"
#include "routes.hpp"
#include "seed.hpp"

#include <array>
#include <set>

namespace siteagent::waldur_emulator {

namespace {

using handler = reply (*)(context&);

struct collection {
  std::string_view name;
  handler handle;
};

constexpr std::array<collection, 27> collections{
    {{"marketplace-orders", handle_orders},
     {"marketplace-provider-resources", handle_provider_resources},
     {"marketplace-resources", handle_resources},
     {"marketplace-provider-offerings", handle_provider_offerings},
     {"marketplace-public-offerings", handle_public_offerings},
     {"marketplace-plans", handle_plans},
     {"marketplace-public-plans", handle_plans},
     {"marketplace-service-providers", handle_service_providers},
     {"marketplace-component-usages", handle_component_usages},
     {"marketplace-component-user-usages", handle_component_user_usages},
     {"marketplace-site-agent-identities", handle_identities},
     {"marketplace-site-agent-services", handle_services},
     {"marketplace-site-agent-logs", handle_agent_logs},
     {"event-subscriptions", handle_event_subscriptions},
     {"marketplace-offering-users", handle_offering_users},
     {"marketplace-project-service-accounts", handle_service_accounts},
     {"marketplace-course-accounts", handle_course_accounts},
     {"component-user-usage-limits", handle_user_limits},
     {"marketplace-resource-api-keys", handle_api_keys},
     {"marketplace-slurm-periodic-usage-policies", handle_periodic_policies},
     {"backend-resource-requests", handle_import_requests},
     {"backend-resources", handle_importables},
     {"marketplace-site-agent-processors", handle_processors},
     {"customers", handle_customers},
     {"projects", handle_projects},
     {"users", handle_users},
     {"version", handle_version}}};

base::error unauthenticated(std::string_view detail) {
  return refuse(401, json::object({{"detail", detail}}));
}

// "Token <token>" or "Bearer <token>".
base::result<const user*> authenticate(const store& s, const net::server_request& r) {
  const std::string header = r.header("authorization");
  const auto space = header.find(' ');
  const std::string scheme = base::to_lower(header.substr(0, space));
  if (space == std::string::npos || (scheme != "token" && scheme != "bearer")) {
    return unauthenticated("Authentication credentials were not provided.");
  }
  const user* u = s.find_token(base::trim(std::string_view(header).substr(space + 1)));
  if (u == nullptr) {
    return unauthenticated("Invalid token.");
  }
  return u;
}

base::result<json> read_body(const net::server_request& r) {
  if (r.body.empty()) {
    return json();
  }
  const std::string type = base::to_lower(r.header("content-type"));
  if (!type.empty() && !type.starts_with("application/json")) {
    return refuse(
        415,
        json::object(
            {{"detail", "Unsupported media type \"" + r.header("content-type") + "\" in request."}}
        )
    );
  }
  auto parsed = json::parse(r.body);
  if (!parsed) {
    return refuse(400, json::object({{"detail", "JSON parse error - " + parsed.error().message}}));
  }
  return parsed;
}

reply dispatch(store& s, broker* queues, const net::server_request& r, const emulators::call& c) {
  if (r.segments.size() < 2 || r.segments[0] != "api") {
    return not_found();
  }
  const collection* found = nullptr;
  for (const auto& known : collections) {
    found = known.name == r.segments[1] ? &known : found;
  }
  if (found == nullptr || r.segments.size() > 4) {
    return not_found();
  }
  if (!r.path.ends_with('/')) {
    net::server_response moved;
    moved.status = 301;
    moved.headers.emplace_back("Location", r.path + "/" + (r.query.empty() ? "" : "?" + r.query));
    return moved;
  }
  auto who = authenticate(s, r);
  if (!who) {
    return who.error();
  }
  auto body = read_body(r);
  if (!body) {
    return body.error();
  }
  context ctx{r, c, s, **who, *std::move(body), {r.segments.begin() + 2, r.segments.end()}, queues};
  return found->handle(ctx);
}

json member_statuses(const store& s) {
  json shown = json::object();
  for (const auto& r : s.resources.rows()) {
    if (r.member_statuses.size() > 0) {
      shown.set(r.uuid, r.member_statuses);
    }
  }
  return shown;
}

template <class Row, class Show>
json all_of(const context& c, const table<Row>& rows, Show show) {
  json list = json::array();
  for (const Row& row : rows.rows()) {
    list.push_back(show(c, row));
  }
  return list;
}

} // namespace

std::vector<emulators::option> waldur::options() {
  return {
      {"--rabbitmq-management",
       "URL",
       "register queues in this broker and publish events there: http://USER:PASSWORD@HOST:PORT",
       [this](std::string_view value) -> base::result<void> {
         auto address = parse_broker_url(value);
         if (!address) {
           return address.error();
         }
         broker_address_ = *std::move(address);
         return {};
       }},
  };
}

base::result<void> waldur::reset(bool at_start) {
  if (at_start && broker_address_) {
    // Here rather than in main: the frame has blocked the signals that the library's threads
    // must not take.
    net::initialise_process();
    auto opened = broker::open(*broker_address_, broker_options_);
    if (!opened) {
      return base::with_context(opened.error(), "--rabbitmq-management");
    }
    broker_ = *std::move(opened);
  }
  forget_queues();
  store_ = default_store(clock_->wall());
  return {};
}

// What this run made in the broker goes with the objects it was made for.
void waldur::forget_queues() {
  if (broker_ == nullptr) {
    return;
  }
  broker_->forget_messages();
  std::set<std::string> vhosts;
  for (const auto& x : store_.consumers.rows()) {
    vhosts.insert(x.user);
    broker_->remove_user(x.rmq_username);
  }
  for (const auto& x : store_.subscriptions.rows()) {
    vhosts.insert(x.user);
    broker_->remove_user(x.uuid);
  }
  for (const auto& name : vhosts) {
    broker_->remove_vhost(name);
  }
}

void waldur::deliver() {
  for (auto& m : take_messages(store_)) {
    if (broker_ != nullptr) {
      broker_->publish(std::move(m));
    }
  }
}

std::optional<net::server_response>
waldur::administrate(std::string_view name, const json& body, const emulators::call& c) {
  static_cast<void>(c);
  return waldur_emulator::administrate({store_, broker_.get()}, name, body);
}

base::result<void> waldur::seed(const json& document) {
  store changed = store_;
  if (auto applied = apply_seed(changed, document, clock_->wall()); !applied) {
    return applied;
  }
  store_ = std::move(changed);
  return {};
}

void waldur::clock_advanced() {
  release_waiting(store_, clock_->wall());
  run_hourly_tasks(store_, clock_->wall());
  rest_idle_services(store_, clock_->wall());
  deliver();
}

json waldur::inventory(const emulators::call& call) {
  const net::server_request none;
  const user nobody;
  const context c{none, call, store_, nobody, {}, {}, nullptr};
  return json::object(
      {{"users", all_of(c, store_.users, show_user)},
       {"customers", all_of(c, store_.customers, show_customer)},
       {"service_providers", all_of(c, store_.providers, show_provider)},
       {"projects", all_of(c, store_.projects, show_project)},
       {"keys", all_of(c, store_.keys, show_key)},
       {"offerings", all_of(c, store_.offerings, show_offering)},
       {"plans", all_of(c, store_.plans, show_plan)},
       {"resources", all_of(c, store_.resources, show_resource)},
       {"orders", all_of(c, store_.orders, show_order)},
       {"component_usages", all_of(c, store_.usages, show_usage)},
       {"component_user_usages", all_of(c, store_.user_usages, show_user_usage)},
       {"identities", all_of(c, store_.identities, show_identity)},
       {"services", all_of(c, store_.services, show_service)},
       {"offering_users", all_of(c, store_.offering_users, show_offering_user)},
       {"accounts", all_of(c, store_.accounts, show_account)},
       {"user_limits", all_of(c, store_.user_limits, show_user_limit)},
       {"api_keys", all_of(c, store_.api_keys, show_api_key)},
       {"import_requests", all_of(c, store_.import_requests, show_import_request)},
       {"importables", all_of(c, store_.importables, show_importable)},
       {"periodic_policies", all_of(c, store_.policies, show_policy)},
       {"member_statuses", member_statuses(store_)},
       {"event_consumers", all_of(c, store_.consumers, show_consumer)},
       {"event_subscriptions", all_of(c, store_.subscriptions, show_subscription)},
       {"messages", broker_ ? broker_->state() : json()},
       {"logs", store_.logs}}
  );
}

std::vector<std::string> waldur::banner() const {
  std::vector<std::string> lines{"API root: /api/ (Authorization: Token ...)"};
  for (const auto& u : store_.users.rows()) {
    lines.push_back(u.username + " token " + u.token + (u.is_staff ? " (staff)" : ""));
  }
  for (const auto& o : store_.offerings.rows()) {
    std::string components;
    for (const auto& x : o.components) {
      components += " " + x.type + "=" + x.billing_type;
    }
    lines.push_back("offering " + o.uuid + " " + o.type + components);
  }
  const auto list = [&lines](std::string_view what, const auto& rows) {
    for (std::size_t i = 0; i < rows.size() && i < 3; ++i) {
      lines.push_back(std::string(what) + " " + rows[i].uuid);
    }
    if (rows.size() > 3) {
      lines.push_back(std::to_string(rows.size()) + " " + std::string(what) + "s in all");
    }
  };
  list("customer", store_.customers.rows());
  list("service provider", store_.providers.rows());
  list("project", store_.projects.rows());
  list("plan", store_.plans.rows());
  list("provider key", store_.keys.rows());
  lines.push_back(
      broker_address_ ? "messages by RabbitMQ at " + broker_address_->origin.text()
                      : "no messages: no --rabbitmq-management"
  );
  lines.push_back(
      "page size " + std::to_string(store_.page_size) +
      (store_.auto_approve ? ", orders start in executing" : "")
  );
  return lines;
}

net::server_response waldur::handle(const net::server_request& request, const emulators::call& c) {
  run_hourly_tasks(store_, c.now);
  rest_idle_services(store_, c.now);
  auto answer = dispatch(store_, broker_.get(), request, c);
  deliver();
  if (answer) {
    return *std::move(answer);
  }
  auto refused = to_response(answer.error());
  if (refused.status == 401) {
    refused.headers.emplace_back("WWW-Authenticate", "Token");
  }
  return refused;
}

} // namespace siteagent::waldur_emulator
