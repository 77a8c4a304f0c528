// SPDX-License-Identifier: MIT
// Which locations, sizes and images can be ordered now, in any combination.
#pragma once

#include "core/base/result.hpp"
#include "plugins/azure/services.hpp"
#include "plugins/azure/settings.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::azure {

// What to choose from. An absent list: the allowed_* setting, else everything the subscription has;
// with `only_these`, the default alone, so that a form without that choice costs nothing to judge.
struct candidates {
  std::optional<std::vector<std::string>> locations;
  std::optional<std::vector<std::string>> sizes;
  std::optional<std::vector<std::string>> images;
  bool only_these = false;
};

// What an option offers, and what it does not.
struct offer {
  std::vector<std::string> kept;
  std::vector<std::pair<std::string, std::string>> left_out; // choice, reason
  bool is_named = false; // somebody wrote these candidates down: each that drops out is told

  void drop(const std::string& choice, std::string reason) {
    if (is_named) {
      left_out.emplace_back(choice, std::move(reason));
    }
  }
};

struct offers {
  offer locations;
  offer sizes;
  offer images;
};

// The sizes are those usable in the default location with the default image (else the first of
// each); locations and images that cannot go with all of them are left out. Reads only; an error
// when something could not be read, for nothing can be said then.
base::result<offers> choose_offers(
    const services& cloud, const settings& s, const arm::scope& call, const candidates& asked
);

// The default image as text, "" without one.
std::string default_image_text(const settings& s);

} // namespace siteagent::azure
