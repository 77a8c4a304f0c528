// SPDX-License-Identifier: MIT
// The fault matrix: every request of an operation meets every trouble that can happen there. Steps
// are not written down but recorded from a clean run, so a new request of the product is covered
// the day it appears.
#pragma once

#include "core/base/json.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::integration::matrix {

using base::json;

enum class operation : std::uint8_t { create, remove, pause, unpause, restore };
enum class group_mode : std::uint8_t { dedicated, shared };
// `record`: a write to Waldur. `login`: the token endpoint.
enum class call : std::uint8_t { write, monitor, read, list, login, record };

std::string_view name_of(operation o);
std::string_view name_of(group_mode m);
std::string_view name_of(call c);

// One request of an operation, as a clean run made it.
struct step {
  operation op = operation::create;
  group_mode mode = group_mode::dedicated;
  call what = call::write;
  std::string object; // "virtual-machine", "tags", "set_state_done"
  std::string method;
  std::string path;              // regular expression for a fault script
  unsigned nth = 1;              // among the requests that fit method and path
  unsigned number = 1;           // among the steps of the same name
  unsigned ordinal = 1;          // among all requests to that service since the operation began
  bool starts_operation = false; // a monitor follows

  bool in_cloud() const { return what != call::record; }

  std::string name() const;
};

// How a cell may end.
enum class ending : std::uint8_t {
  finishes, // the trouble passes: the operation is carried out in the end
  refused,  // erred or rejected with the reason, and nothing stays behind
  either,   // one of these two, each with everything that goes with it
  waits,    // nothing happens while the trouble lasts; then the operation is carried out
  overdue,  // given up at its deadline; what could not be removed is named to the operator
};

struct fault {
  std::string name;
  std::string family; // what the pairs are built of: a code stands for its kind
  json what;          // "do" of the fault script
  bool after = false; // the request took effect
  bool lasting = false;
  ending end = ending::finishes;
  std::string code = {}; // Azure's word for it, to be found in the operator's log

  json rule(const step& s, unsigned nth) const;
};

// Everything that can happen to this request.
std::vector<fault> faults_at(const step& s);

struct cell {
  step where;
  fault what;
  bool is_killed = false; // SIGKILL as soon as the trouble was answered

  std::string name() const;
  // The levels of the factors: operation, call, object, fault family, killed, group mode.
  std::vector<std::string> levels() const;
};

std::vector<cell> all_cells(const std::vector<step>& steps);

// Fewest cells (greedily) so that any two levels that meet anywhere in `all` meet in the choice.
// The same input gives the same choice.
std::vector<cell> pairwise(const std::vector<cell>& all);

} // namespace siteagent::integration::matrix
