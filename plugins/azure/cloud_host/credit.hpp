// SPDX-License-Identifier: MIT
// What credit is left on the agreement the stored billing credential may read.
#pragma once

#include "plugins/azure/cloud_host/host_settings.hpp"
#include "plugins/azure/services.hpp"

namespace siteagent::azure::cloud_host {

// The answer of credit_balance: the first scope whose fields are stored counts. An agreement
// without credit is reported=false with the reason; an answer without a figure is an error.
// `billing`: signed in by the billing credential at the billing origin.
base::result<base::json>
read_credit(const services& billing, const arm::scope& call, const billing_settings& b);

} // namespace siteagent::azure::cloud_host
