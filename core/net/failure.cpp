// SPDX-License-Identifier: MIT
#include "core/net/failure.hpp"

#include "core/net/request_rules.hpp"

namespace siteagent::net {

using base::error_code;

base::error to_error(const failure& f, const request& r, const std::string& what) {
  base::error e{.message = what + ": " + f.why, .may_have_been_sent = f.is_sent};
  if (f.end == ending::too_large) {
    e.code = error_code::permanent;
  } else if (f.is_sent && !is_read(r.method)) {
    e.code = error_code::outcome_unknown;
    e.message += "; it may have been carried out: look before repeating it";
  } else if (f.end == ending::proxy_login) {
    e.code = error_code::auth;
  } else if (f.end == ending::deadline) {
    e.code = error_code::deadline;
  } else if (f.end == ending::stopped) {
    e.code = error_code::cancelled;
  } else {
    e.code = error_code::transient;
  }
  return e;
}

} // namespace siteagent::net
