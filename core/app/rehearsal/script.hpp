// SPDX-License-Identifier: MIT
// The operator's file made ready for the stage.
#pragma once

#include "core/app/rehearsal/play.hpp"
#include "core/config/value.hpp"

#include <string>
#include <vector>

namespace siteagent::app {

// The part "x-rehearsal" of a settings schema; not_found when there is none.
base::result<rehearsal_rule> read_rule(const std::string& schema, const std::string& plugin);

// The whole file with that Waldur in place of the real one: polled, without proxies and reporting
// to third parties. For every mapping below "offerings".
config::value on_stage(config::value file, const std::string& waldur_url);

// The same with this one offering left, and with the rule's settings over its own.
config::value with_only(
    config::value file,
    const base::uuid& offering,
    const std::vector<rehearsal_rule>& rules,
    const std::string& emulator_url,
    const std::string& folder // for "{folder}"
);

// `text` in `j`, wherever a string is exactly it or holds it, replaced.
base::json replaced(const base::json& j, const std::string& text, const base::json& by);

// What the emulated Waldur needs to know of an offering.
base::json waldur_seed(const std::vector<config::offering>& offerings);

// An order's limits: what each component that is billed by limit has as default_limit, else as
// min_value, else 1.
base::json order_limits(const config::offering& offering);

} // namespace siteagent::app
