// SPDX-License-Identifier: MIT
// The OData filters of the price list: eq, ne, and, or, not, contains, startswith, endswith,
// parentheses.
#pragma once

#include "core/base/result.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

class price_filter {
public:
  // Value of a field of the row at hand; nullopt: no such field.
  using lookup = std::function<std::optional<std::string>(std::string_view field)>;

  // "" matches everything. `known` tells which fields exist. Errors say what was not understood.
  static base::result<price_filter> parse(
      std::string_view text, bool case_matters, const std::function<bool(std::string_view)>& known
  );

  bool matches(const lookup& row) const;

  struct node;

private:
  std::shared_ptr<const node> root_; // null = everything
  bool case_matters_ = true;
};

} // namespace siteagent::azure_emulator
