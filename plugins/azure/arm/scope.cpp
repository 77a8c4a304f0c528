// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/scope.hpp"

#include "core/base/uuid.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure::arm {

namespace {

base::error stop_error(sagent_code code) {
  const auto typed = static_cast<base::error_code>(code);
  const char* text = code == SAGENT_E_DEADLINE    ? "the deadline of the call passed"
                     : code == SAGENT_E_CANCELLED ? "the host cancelled the call"
                                                  : "the host stopped the call";
  return make_error(
      reason::stopped,
      typed,
      std::string(text) + "; everything made so far carries the resource's tag"
  );
}

} // namespace

scope::scope(const sagent::call& call, std::string_view trace_id, urgency u)
    : call_(call), urgency_(u) {
  const auto id = base::uuid::parse(trace_id);
  correlation_id_ = (id ? *id : base::uuid::random()).dashed();
}

milliseconds scope::remaining() const {
  return milliseconds(std::max<std::int64_t>(call_.remaining_ms(), 0));
}

base::result<void> scope::check() const {
  if (!call_.should_stop()) {
    return {};
  }
  const sagent_code code = call_.wait_ms(0);
  return stop_error(code == SAGENT_OK ? sagent_code{SAGENT_E_DEADLINE} : code);
}

base::result<void> scope::wait(milliseconds time) const {
  const sagent_code code = call_.wait_ms(std::max<std::int64_t>(time.count(), 0));
  if (code != SAGENT_OK) {
    return stop_error(code);
  }
  return check();
}

base::result<void> scope::checkpoint(const base::json& what) const {
  const sagent_code code = call_.checkpoint(what.dump());
  if (code != SAGENT_OK) {
    return stop_error(code);
  }
  return {};
}

bool is_stop(const base::error& e) {
  return reason_of(e) == reason::stopped;
}

} // namespace siteagent::azure::arm
