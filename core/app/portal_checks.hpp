// SPDX-License-Identifier: MIT
// The Waldur side of diagnose: user, offering, components, order form.
#pragma once

#include "core/app/check_report.hpp"
#include "core/base/clock.hpp"
#include "core/waldur/types.hpp"

#include <optional>
#include <vector>

namespace siteagent::app {

// Asks Waldur everything about the offering. nullopt: the offering could not be read.
std::optional<waldur::offering>
check_portal(const config::offering& offering, check_report& report);

// The judgements, apart from the asking.

// May this user (users/me) work on the offering's orders? `seen`: null = it could not be read.
void check_role(
    const config::offering& offering,
    const base::json& user,
    const waldur::offering* seen,
    base::wall_time now,
    check_report& report
);
void check_offering(
    const config::offering& offering, const waldur::offering& seen, check_report& report
);

// The select choices of a form, as the plugin judges them: {"size":["..."]}.
base::json choices_of_form(const base::json& form);
// The form ({"order","options"}) against what the plugin's describe said.
void check_order_form(
    const base::json& form, const std::vector<base::json>& options, check_report& report
);

} // namespace siteagent::app
