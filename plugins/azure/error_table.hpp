// SPDX-License-Identifier: MIT
// The table behind error_map: Azure's codes, what they mean, and the words for them.
#pragma once

#include "plugins/azure/error_map.hpp"

#include <string_view>

namespace siteagent::azure {

struct error_row {
  std::string_view code;
  reason why;
  base::error_code result;
  std::string_view for_customer; // "" = the host's stock text
  std::string_view advice;       // for the operator; "" = none
};

inline constexpr std::string_view over_quota =
    "The provider's cloud quota does not allow this machine now. Choose a smaller size or another "
    "location, or ask the "
    "provider.";
inline constexpr std::string_view raise_quota =
    "request a quota increase in the Azure portal or offer other sizes";

// Compared without case; nullptr: a code the table does not know.
const error_row* find_error_row(std::string_view code);

} // namespace siteagent::azure
