// SPDX-License-Identifier: MIT
// The script in the state file: which request fails, how and how often.
#pragma once

#include "core/base/json.hpp"

#include <sagent/cpp/plugin.hpp>

#include <optional>
#include <string>
#include <string_view>

namespace siteagent::null {

struct request_shape {
  std::string_view operation;
  std::string_view verb; // "" = the operation as a whole
  std::string_view kind;
  std::string_view name;
  std::string_view when; // before, after, end
};

// The first fault of state.script.faults that is due; counts in the state, so that a count goes on
// in the next process.
std::optional<base::json> take_fault(base::json& state, const request_shape& shape);

// "HTTP 403: SomeCode by the assignment 'x': words"
std::string words_of_fault(const base::json& fault);
// `sentence` without an end: "the disk b1-os was not made: PUT /null/disk/b1-os".
sagent::failure failure_of(
    const base::json& fault,
    const std::string& sentence,
    std::string_view kind,
    const std::string& id
);

// Polls that an operation of this verb takes on this kind; -1 = it never ends.
std::int64_t polls_of(const base::json& state, std::string_view verb, std::string_view kind);

} // namespace siteagent::null
