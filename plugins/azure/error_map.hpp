// SPDX-License-Identifier: MIT
// From what Azure answered to what the host must know: one table, code and status to class, words
// for the customer, advice for the operator. Also the reasons this plugin decides by.
#pragma once

#include "core/base/error.hpp"
#include "core/base/json.hpp"
#include "plugins/azure/arm/error_body.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure {

// Finer than the ABI's codes; travels in error::detail as "reason".
enum class reason : std::uint8_t {
  none,
  stopped,       // the host asked to stop: nothing more may be written
  ambiguous,     // 5xx, lost answer: look before repeating
  throttled,     // 429
  busy,          // another operation holds the object or one it needs
  precondition,  // 412
  in_use,        // something still refers to the object
  nic_reserved,  // the interface is held for 180 s after a failed machine
  locked,        // a management lock
  group_missing, // the resource group is not there (yet)
  reference,     // an object named in the body is not there (yet)
  absent,        // the object itself is not there, positively
  capacity,
  quota,
  image,
  policy,
  permission,
  credentials,
  configuration, // subscription or registration: the operator must act
  superseded,    // our write was overtaken by another one
  os_timeout,    // the machine runs, its first boot took too long
  half_made,     // Azure's own fault while making a machine
  invalid,
};

std::string_view name_of(reason r);
reason reason_of(const base::error& e);

// An error made by this plugin itself; the reason goes into detail.
base::error
make_error(reason why, base::error_code code, std::string message, std::string public_message = "");

// Adds or replaces one member of the detail object.
void add_detail(base::error& e, std::string_view key, base::json value);

// `what` says which step on which object, for example "create virtual machine web-1".
base::error map_error(const arm::error_body& body, std::string_view what);

// The figures in Azure's text about an exceeded quota, as texts: name, location, limit, used,
// wanted, limit_needed, those it tells; null when it tells neither limit nor use.
base::json quota_figures(std::string_view text);

// Inside an operation, lack of room at create is a refusal; at start it is only "not now".
base::error as_refusal(base::error e);

} // namespace siteagent::azure
