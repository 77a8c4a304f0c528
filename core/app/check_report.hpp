// SPDX-License-Identifier: MIT
// The answers of diagnose: printed one by one as "ok" and "FAILED" lines, or together as JSON.
#pragma once

#include "core/base/json.hpp"
#include "core/config/config.hpp"

#include <string_view>

namespace siteagent::app {

class check_report {
public:
  explicit check_report(bool as_json) : as_json_(as_json) {}

  // The checks that follow belong to this offering.
  void begin(const config::offering& offering);
  // Prints, with secrets scrubbed. `detail` of a failure says what to do next.
  void add(bool fine, std::string_view what, std::string_view detail);

  void ok(std::string_view what, std::string_view detail) { add(true, what, detail); }

  void failed(std::string_view what, std::string_view detail) { add(false, what, detail); }

  // Prints the document {"ok","offerings":[{"name","uuid","url","ok","checks":[{"name","ok",
  // "detail"}]}]}, unless the lines are out already. True: all is well, the file included.
  bool finish(bool file_is_fine) const;

private:
  bool as_json_;
  bool fine_ = true;
  base::json offerings_ = base::json::array();
};

} // namespace siteagent::app
