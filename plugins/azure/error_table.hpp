// SPDX-License-Identifier: MIT
// The one table behind error_map: Azure's code, status, place and text → class, words for the
// customer, advice for the operator.
#pragma once

#include "plugins/azure/error_map.hpp"

#include <span>
#include <string_view>

namespace siteagent::azure {

// Where Azure said it: in the answer to a call, or in the status of an operation it had accepted.
enum class said_in : std::uint8_t { either, answer, operation };

// What a row means, without the operator's part.
struct outcome {
  reason why;
  base::error_code result;
  std::string_view for_customer; // no ids, no figures; "" = the host's stock text
};

struct error_row {
  std::string_view code; // any case; "InUse*" and "*CountLimitReached" match an end; "*": any code
  int status;            // 0: any
  said_in where;
  std::string_view text; // part of the message, any case; "": any message
  outcome what;
  std::string_view advice; // for the operator; ""= none
};

// The rows in order; the first that fits wins. Rows for any code come last.
std::span<const error_row> error_rows();

// The row for one code of an answer; nullptr: none but those for any code. `status` 200: the status
// of an operation.
const error_row* find_error_row(int status, std::string_view code, std::string_view message);
// The row for an answer whose codes are all unknown; there always is one.
const error_row& error_row_of_status(int status, std::string_view message);

} // namespace siteagent::azure
