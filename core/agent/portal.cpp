// SPDX-License-Identifier: MIT
// The portal over waldur::client. In test builds every write is also a crash point.
#include "core/agent/portal.hpp"

#include "core/agent/events/event_portal.hpp"
#include "core/agent/members/people.hpp"
#include "core/agent/registration.hpp"
#include "core/agent/usage/usage_books.hpp"
#include "core/host/crash_point.hpp"

#include <utility>

namespace siteagent::agent {

namespace {

using base::result;
using base::uuid;

// Passes `answer` through; the write behind it may have been sent whatever it says.
result<void> written(std::string_view what, result<void> answer) {
  host::reach_crash_point(base::json::object({{"phase", "after"}, {"verb", "post"}, {"kind", what}})
  );
  return answer;
}

class client_portal final : public portal {
public:
  client_portal(std::unique_ptr<waldur::client> client, uuid offering)
      : client_(std::move(client)), offering_(offering), people_(make_people(*client_, offering)),
        usage_books_(make_usage_books(*client_, offering)),
        registry_(make_registry(*client_, offering)),
        events_(make_event_portal(*client_, offering)) {}

  result<std::vector<waldur::order>> list_orders() override {
    return client_->list_orders(offering_);
  }

  result<waldur::order> get_order(const uuid& order) override { return client_->get_order(order); }

  result<std::string> get_order_state(const uuid& order) override {
    return client_->get_order_state(order);
  }

  result<void> approve(const uuid& order) override {
    return written("approve_by_provider", client_->approve_by_provider(order));
  }

  result<void> reject(const uuid& order, std::string_view comment) override {
    return written("reject_by_provider", client_->reject_by_provider(order, comment));
  }

  result<void> set_done(const uuid& order) override {
    return written("set_state_done", client_->set_state_done(order));
  }

  result<void> set_erred(const uuid& order, std::string_view message) override {
    return written("set_state_erred", client_->set_state_erred(order, message));
  }

  result<waldur::offering> get_offering() override { return client_->get_offering(offering_); }

  result<waldur::plan> get_plan(const uuid& plan) override { return client_->get_plan(plan); }

  result<std::map<std::string, std::string>> list_ssh_keys(const uuid& customer) override {
    return client_->list_ssh_keys(customer);
  }

  result<waldur::resource> get_resource(const uuid& resource) override {
    return client_->get_resource(resource);
  }

  result<std::vector<waldur::resource>> list_resources(const std::vector<std::string>& states
  ) override {
    return client_->list_resources(offering_, states);
  }

  result<void> set_backend_id(const uuid& resource, std::string_view backend_id) override {
    return written("set_backend_id", client_->set_backend_id(resource, backend_id));
  }

  result<void> set_backend_metadata(const uuid& resource, const base::json& metadata) override {
    return written("set_backend_metadata", client_->set_backend_metadata(resource, metadata));
  }

  result<void> set_limits(const uuid& resource, const waldur::limits& l) override {
    return written("set_limits", client_->set_limits(resource, l));
  }

  result<void>
  set_endpoints(const uuid& resource, const std::vector<waldur::endpoint>& endpoints) override {
    return written("set_endpoints", client_->set_endpoints(resource, endpoints));
  }

  result<void> set_resource_erred(const uuid& resource, std::string_view message) override {
    return written("set_as_erred", client_->set_as_erred(resource, message));
  }

  result<void> set_resource_ok(const uuid& resource) override {
    return written("set_as_ok", client_->set_as_ok(resource));
  }

  result<void> refresh_last_sync(const uuid& resource) override {
    return client_->refresh_last_sync(resource);
  }

  result<std::vector<waldur::component_usage>>
  list_usages(const uuid& resource, std::string_view billing_period) override {
    return client_->list_usages(resource, billing_period);
  }

  result<void> set_usage(
      const uuid& resource, std::string_view date, const std::vector<waldur::usage_item>& usages
  ) override {
    return written("set_usage", client_->set_usage(resource, date, usages));
  }

  people* find_people() override { return people_.get(); }

  usage_books* find_usage_books() override { return usage_books_.get(); }

  registry* find_registry() override { return registry_.get(); }

  event_portal* find_events() override { return events_.get(); }

private:
  std::unique_ptr<waldur::client> client_;
  uuid offering_;
  std::unique_ptr<people> people_; // these use the client
  std::unique_ptr<usage_books> usage_books_;
  std::unique_ptr<registry> registry_;
  std::unique_ptr<event_portal> events_;
};

} // namespace

std::unique_ptr<portal> make_portal(std::unique_ptr<waldur::client> client, base::uuid offering) {
  return std::make_unique<client_portal>(std::move(client), offering);
}

} // namespace siteagent::agent
