// SPDX-License-Identifier: MIT
#include "core/app/check_report.hpp"

#include "core/base/secret.hpp"

#include <iostream>

namespace siteagent::app {

using base::json;

void check_report::begin(const config::offering& offering) {
  if (as_json_) {
    offerings_.push_back(json::object(
        {{"name", offering.name},
         {"uuid", offering.uuid.hex()},
         {"url", offering.waldur_api_url},
         {"ok", true},
         {"checks", json::array()}}
    ));
    return;
  }
  std::cout << offering.name << " (" << offering.uuid.hex() << ") at " << offering.waldur_api_url
            << '\n';
}

void check_report::add(bool fine, std::string_view what, std::string_view detail) {
  fine_ &= fine;
  const std::string clean = base::global_redactor().scrub(detail);
  if (as_json_) {
    json& offering = offerings_.items().back();
    offering.member_ref("checks").push_back(
        json::object({{"name", what}, {"ok", fine}, {"detail", clean}})
    );
    offering.set("ok", offering["ok"].boolean().value_or(false) && fine);
    return;
  }
  std::cout << (fine ? "  ok      " : "  FAILED  ") << what;
  if (!clean.empty()) {
    std::cout << ": " << clean;
  }
  std::cout << std::endl; // each check may take a while
}

bool check_report::finish(bool file_is_fine) const {
  const bool fine = fine_ && file_is_fine;
  if (as_json_) {
    std::cout << json::object({{"ok", fine}, {"offerings", offerings_}}).dump() << '\n';
  }
  return fine;
}

} // namespace siteagent::app
