// SPDX-License-Identifier: MIT
// `stado cloud check`: can hosts be rented here at all? Every question is asked, whatever the
// others answer; nothing is written.
#pragma once

#include "core/fleet/cloud_host/context.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet::cloud_host {

struct check_report {
  std::string provider;
  std::vector<check_line> checks;

  bool is_ready() const; // every needed check is good
};

base::json to_json(const check_report& r);

// Errors: only a provider that is none (load_provider).
base::result<check_report> check(const workplace& w, std::string_view provider);

} // namespace siteagent::fleet::cloud_host
