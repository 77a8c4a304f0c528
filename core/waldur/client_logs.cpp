// SPDX-License-Identifier: MIT
// The agent's own log, kept by Waldur.
#include "core/waldur/client_impl.hpp"

#include <chrono>

namespace siteagent::waldur {

namespace {

constexpr std::string_view logs_path = "marketplace-site-agent-logs/";

// Seconds since the epoch with three decimals; exact, where a double would not be.
json seconds_of(std::chrono::system_clock::time_point time) {
  const auto ms = std::chrono::floor<std::chrono::milliseconds>(time.time_since_epoch()).count();
  const std::string rest = std::to_string(1'000 + ms % 1'000).substr(1);
  return json::number(std::to_string(ms / 1'000) + "." + rest);
}

json body_of(const base::uuid& identity, const std::vector<log_line>& lines) {
  json out = json::array();
  for (const log_line& l : lines) {
    out.push_back(json::object(
        {{"agent_identity_uuid", identity.hex()},
         {"timestamp", seconds_of(l.time)},
         {"level", l.level},
         {"message", l.message},
         {"module", l.module}}
    ));
  }
  return out;
}

} // namespace

base::result<void> client::ship_logs(
    const base::uuid& offering_id, const agent_build& build, const std::vector<log_line>& lines
) {
  const std::string what = "ship logs of offering " + offering_id.hex();
  for (bool is_second_try = false;; is_second_try = true) {
    const base::result<base::uuid> identity = impl_->identity_of(offering_id, build, false);
    if (!identity) {
      return identity.error();
    }
    const json body = body_of(*identity, lines);
    base::result<void> done = impl_->post(what, logs_path, &body, 201);
    // 400 is the server's word for an identity that somebody deleted: look once again.
    if (done || done.error().http_status != 400 || is_second_try) {
      return done;
    }
    const std::lock_guard lock(impl_->identities_mutex);
    impl_->identities.erase(offering_id);
  }
}

} // namespace siteagent::waldur
