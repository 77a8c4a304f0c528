// SPDX-License-Identifier: MIT
// May another host be rented? The operator's floor, the balance, one hour of everything.
#pragma once

#include "core/base/decimal.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/fleet/profile.hpp"
#include "core/fleet/provider.hpp"
#include "core/fleet/registry_document.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

// <provider>.credit_floor of the profile.
struct credit_floor {
  std::string id;
  base::decimal amount;
  std::string currency;
  std::string words;
};

// `refused` naming the key to set, or `invalid` naming the first bad field.
base::result<credit_floor> credit_floor_of(const profile& p, std::string_view provider);

struct priced_size {
  std::string size; // canonical
  base::decimal hour;
  std::string where;
};

// The highest hour of any location; ties: `location`, else alphabetical. `refused` when nothing is
// quoted, when `location` itself is not, or for another currency than USD.
base::result<priced_size> highest_hour(
    const price_answer& a, std::string_view location, const std::vector<std::string>& asked
);

struct burn {
  base::decimal total;
  base::decimal running; // hours of the declared and the being created
  std::size_t hosts = 0;
};

// `refused` naming a declared host without a readable hour. `except`: a name that is not counted.
base::result<burn> projected_burn(
    const base::json& registry,
    std::string_view provider,
    const base::decimal& hour,
    std::string_view except = {}
);

std::string burn_line(const burn& b, std::string_view name, const priced_size& p);

struct gate_decision {
  bool allowed = false;
  base::decimal balance; // the lower of current and estimated
  base::decimal after;
  std::string line; // the seed's sentence for either answer
};

// Strictly above the floor, in exact decimals. `refused` when the balance is not told or in another
// currency; errors of the provider as they are.
base::result<gate_decision> judge_credit(
    const credit_answer& credit,
    const credit_floor& floor,
    const burn& b,
    const priced_size& p,
    std::string_view name,
    std::string_view location,
    const provider_description& d
);

} // namespace siteagent::fleet
