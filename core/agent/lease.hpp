// SPDX-License-Identifier: MIT
// Who of several agents polls an offering. A lease is for efficiency: without it two agents on one
// offering are safe, they only do the same reads twice.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/config/config.hpp"

#include <functional>
#include <memory>

namespace siteagent::agent {

// This process's part in the lease of one offering; given back when it goes. [any thread]
class offering_lease {
public:
  offering_lease() = default;
  offering_lease(const offering_lease&) = delete;
  offering_lease& operator=(const offering_lease&) = delete;
  virtual ~offering_lease() = default;

  // New work may be begun. What was begun may end without it.
  virtual bool is_held() const = 0;
  // For `status`.
  virtual base::json describe() const = 0;
};

using lease_factory = std::function<std::shared_ptr<offering_lease>(const config::offering&)>;

} // namespace siteagent::agent
