// SPDX-License-Identifier: MIT
// What an order asks for, checked as far as that is possible without asking Azure.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/settings.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure {

struct machine_order {
  std::string name;     // as the customer wrote it
  std::string location; // "westeurope"
  std::string size;
  image_reference image;
  std::string user_name;
  std::string ssh_key;   // one line
  std::string user_data; // raw; empty: none
};

// Reads body.order, body.resource and body.ssh_keys. Checks in the order location, size, image, SSH
// key, then the rest. Errors are `invalid`; their message and public message are the same text.
base::result<machine_order> read_order(const base::json& body, const settings& s);

// Location, size and image of an order that names none of them: the defaults, for diagnostics.
base::result<machine_order> read_defaults(const base::json& body, const settings& s);

// Why an order of any type would not be carried out; empty: it would. For evaluate_order.
std::string objection_to(const base::json& body, const settings& s);

} // namespace siteagent::azure
