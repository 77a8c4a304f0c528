// SPDX-License-Identifier: MIT
// What the agent asks of a cloud: host::instance behind an interface with one call, so that tests
// can script the answers.
#pragma once

#include "core/config/config.hpp"
#include "core/host/instance.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace siteagent::agent {

// [any thread]
class backend {
public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  // As host::instance::call.
  virtual base::result<std::vector<base::json>> call(
      host::operation op, const host::call_request& request, const host::call_options& options
  ) = 0;

  // How long that operation may take, with the offering's own figures.
  virtual std::chrono::milliseconds deadline_of(host::operation op) const = 0;
  virtual std::string plugin_id() const = 0;

  virtual std::string plugin_version() const { return {}; } // "" = unknown
};

// Opens the plugin for an offering. A refusal names the plugin and the reason.
using backend_factory = std::function<base::result<std::shared_ptr<backend>>(
    const config::offering& offering, const std::string& plugin_id
)>;

// The real one. `offering` gives the deadlines (backend_settings.limits).
std::shared_ptr<backend>
make_backend(std::shared_ptr<host::instance> instance, const config::offering& offering);

} // namespace siteagent::agent
