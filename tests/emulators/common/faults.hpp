// SPDX-License-Identifier: MIT
// Fault scripts: which request gets which misfortune. Reading and matching; the frame inflicts.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/net/server.hpp"
#include "emulator.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <regex>
#include <string>
#include <vector>

namespace siteagent::emulators {

enum class fault_kind : std::uint8_t { answer, cut, hang, truncate, delay, operation };

struct fault {
  fault_kind kind = fault_kind::delay;
  bool after = false;                 // the emulator handles the request first
  std::chrono::milliseconds delay{0}; // also beside an answer
  std::chrono::milliseconds slow{0};  // between the pieces of the answer's body
  std::chrono::seconds skew{0};       // of the clock that tokens and Date go by
  int status = 0;                     // of `answer`
  net::header_list headers;
  std::string body;
  operation_fault operation;
  std::string label; // for the journal, for example "after hang"
};

struct fault_rule {
  std::string method;              // "" = any; compared exactly
  std::optional<std::regex> path;  // searched in the raw path
  std::optional<std::regex> query; // searched in the raw query
  std::uint64_t nth = 1;           // the first match that fires
  std::uint64_t times = 1;         // how many matches fire from there on; 0 = all
  unsigned percent = 100;          // of those, how many do, the same ones in every run
  fault what;
  std::uint64_t matches = 0;
};

class fault_script {
public:
  // Unknown keys, bad expressions and impossible combinations are errors that name the rule.
  static base::result<fault_script> parse(const base::json& document, bool operations_allowed);

  // Counts the request in every rule that matches it; the first rule of the script that fires
  // wins.
  std::optional<fault> next(const net::server_request& request);

private:
  bool falls(unsigned percent);

  std::vector<fault_rule> rules_;
  std::uint64_t dice_ = 1;
};

} // namespace siteagent::emulators
