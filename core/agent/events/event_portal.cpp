// SPDX-License-Identifier: MIT
// The events' side of Waldur over waldur::client.
#include "core/agent/events/event_portal.hpp"

namespace siteagent::agent {

namespace {

using base::result;
using base::uuid;

class client_event_portal final : public event_portal {
public:
  client_event_portal(waldur::client& client, uuid offering)
      : client_(client),
        offering_(offering), build_{
                                 SITEAGENT_VERSION, base::to_rfc3339(base::real_clock().wall())} {}

  result<waldur::event_queue> register_queue(const std::vector<std::string>& types) override {
    return client_.register_queue(offering_, build_, types);
  }

  result<waldur::event_queue> register_legacy_queue(const std::string& type) override {
    return client_.register_legacy_queue(offering_, build_, type);
  }

  result<std::vector<waldur::order>> list_orders_of(const uuid& resource) override {
    return client_.list_orders_of(offering_, resource);
  }

  result<void> ping() override { return client_.ping_offering(offering_); }

  result<std::string> get_import_request(const uuid& request) override {
    return client_.get_import_request(request);
  }

  result<void> start_import(const uuid& request) override { return client_.start_import(request); }

  result<void> finish_import(const uuid& request) override {
    return client_.finish_import(request);
  }

  result<void> fail_import(const uuid& request, std::string_view message) override {
    return client_.fail_import(request, message);
  }

  result<std::optional<uuid>> find_project(std::string_view slug) override {
    return client_.find_project(slug);
  }

  result<bool> is_importable_known(const uuid& project, std::string_view backend_id) override {
    return client_.is_importable_known(offering_, project, backend_id);
  }

  result<void> submit_importable(
      const uuid& project, std::string_view backend_id, const base::json& metadata
  ) override {
    return client_.submit_importable(offering_, project, backend_id, metadata);
  }

  result<void> report_policy_result(
      const uuid& policy, const uuid& resource, bool success, std::string_view message
  ) override {
    return client_.report_policy_result(policy, resource, success, message);
  }

private:
  waldur::client& client_;
  const uuid offering_;
  const waldur::agent_build build_; // of an identity that is made here
};

} // namespace

std::unique_ptr<event_portal> make_event_portal(waldur::client& client, base::uuid offering) {
  return std::make_unique<client_event_portal>(client, offering);
}

} // namespace siteagent::agent
