// SPDX-License-Identifier: MIT
// The fleet's addresses: measured, recorded, admitted. What create and reap have in common.
#pragma once

#include "core/fleet/cloud_host/context.hpp"
#include "core/fleet/egress.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::fleet::cloud_host {

// api.url (STADO_API_URL), checked; `refused` when it is declared nowhere.
base::result<std::string> api_url_of(const context& c);
// A declared one must be well formed; an absent one is no fault here.
base::result<void> check_declared_api_url(const context& c);

// Asks every host of cloud_hosts.admit_from. The errors of api_url_of and admit_from_of; what a
// host did not answer is in `failures`.
base::result<egress_measurement> measure_fleet(const context& c, const base::json& registry);

// One refusal naming each host and cause: `transient` when all causes are.
base::error unmeasured(const std::vector<egress_failure>& failures);

// The latest record of each admit_from host: measured now, else as recorded; others are dropped.
std::map<std::string, egress_record> merged_records(
    const base::json& registry,
    const std::vector<std::string>& admit_from,
    const std::map<std::string, egress_record>& measured
);

// Replaces cloud_hosts.egress and nothing else.
base::result<registry_snapshot>
record_egress(const context& c, const std::map<std::string, egress_record>& records);

// Every declared host of the provider with its location, and `ensure` besides. The objects that
// belong to all hosts carry no tag of one.
admission_request admission_for(
    const context& c,
    const base::json& registry,
    const std::map<std::string, egress_record>& records,
    const std::optional<std::string>& ensure = {}
);

// A write of the registry that lost every try is worth another one later.
base::error after_retries(base::error e);

} // namespace siteagent::fleet::cloud_host
