// SPDX-License-Identifier: MIT
// What the parts of the fleet ask instead of the process: environment variables and folders.
#pragma once

#include "core/base/result.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::fleet {

// A variable's value; a set but empty one counts as unset. [any thread]
using environment = std::function<std::optional<std::string>(std::string_view name)>;

environment process_environment();

struct folders {
  std::string home;  // $HOME, absolute
  std::string state; // <home>/.stado; not made here

  // `invalid` naming HOME when it is unset or not absolute.
  static base::result<folders> from(const environment& env);
  // "~" and "~/x" with home; nothing else is expanded.
  std::string expand(std::string_view path) const;
};

} // namespace siteagent::fleet
