// SPDX-License-Identifier: MIT
// What an order asks for, checked as far as that is possible without asking Azure.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "plugins/azure/settings.hpp"

#include <cstdint>
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
// `not_ready` when the order names a registered key and the host did not say which keys there are.
base::result<machine_order> read_order(const base::json& body, const settings& s);

// Location, size and image of an order that names none of them: the defaults, for diagnostics.
base::result<machine_order> read_defaults(const base::json& body, const settings& s);

enum class decision : std::uint8_t { accept, reject, wait };

struct evaluation {
  decision verdict = decision::accept;
  std::string reason; // for the customer; empty when accepted
};

// Would an order of any type be carried out, as far as can be told without asking Azure?
evaluation evaluate(const base::json& body, const settings& s);

} // namespace siteagent::azure
