// SPDX-License-Identifier: MIT
// The backend over host::instance.
#include "core/agent/backend.hpp"

#include "core/host/deadlines.hpp"

#include <array>
#include <utility>

namespace siteagent::agent {

namespace {

base::json limits_of(const config::offering& offering) {
  const config::value* limits = offering.backend_settings.find("limits");
  return limits == nullptr ? base::json() : config::to_json(*limits);
}

class instance_backend final : public backend {
public:
  instance_backend(std::shared_ptr<host::instance> instance, const config::offering& offering)
      : instance_(std::move(instance)), deadlines_(host::deadlines(limits_of(offering))) {}

  base::result<std::vector<base::json>> call(
      host::operation op, const host::call_request& request, const host::call_options& options
  ) override {
    return instance_->call(op, request, options);
  }

  std::chrono::milliseconds deadline_of(host::operation op) const override {
    return deadlines_.at(static_cast<std::size_t>(op));
  }

  std::string plugin_id() const override { return instance_->plugin_id(); }

  std::string plugin_version() const override { return host::info_of(instance_->plugin()).version; }

private:
  std::shared_ptr<host::instance> instance_; // shared by the roles of one offering
  const std::array<std::chrono::milliseconds, host::operation_count> deadlines_;
};

} // namespace

std::shared_ptr<backend>
make_backend(std::shared_ptr<host::instance> instance, const config::offering& offering) {
  return std::make_shared<instance_backend>(std::move(instance), offering);
}

} // namespace siteagent::agent
