// SPDX-License-Identifier: MIT
// The default objects and the seed files that replace them (README.md beside this file).
#pragma once

#include "core/base/result.hpp"
#include "model.hpp"

namespace siteagent::waldur_emulator {

store default_store(base::wall_time now);

// Applies a seed to `s`. On an error `s` is half changed: the caller works on a copy.
base::result<void> apply_seed(store& s, const json& document, base::wall_time now);

} // namespace siteagent::waldur_emulator
