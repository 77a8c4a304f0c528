// SPDX-License-Identifier: MIT
// What a write gets while another operation holds the resource.
#include "operations.hpp"

namespace siteagent::azure_emulator {

using base::json;

std::string superseded_write(const context& c, const resource_path& path) {
  if (!c.world.behaviour.rule_writes_supersede || path.kind != kind::security_rule) {
    return "";
  }
  const auto* group = c.world.find(key_of(path.parent_id()));
  const auto it = group == nullptr ? c.world.operations.end()
                                   : c.world.operations.find(key_of(group->operation));
  if (it == c.world.operations.end() || it->second.status != operation_status::in_progress ||
      it->second.action != action::write) {
    return "";
  }
  const auto* subject = c.world.find(it->second.subject);
  return subject != nullptr && subject->path.kind == kind::security_rule ? it->second.id : "";
}

namespace {

reply busy_network(const context& c, const resource& r, const operation& op) {
  // In the mixed form it depends on the operation, so that a test can rely on it.
  const bool odd = !op.id.empty() && (op.id.front() & 1) != 0;
  const auto form = c.world.behaviour.busy;
  if (form == busy_answer::conflict || (form == busy_answer::mixed && odd)) {
    return error_reply(
        409,
        {"AnotherOperationInProgress",
         "Another operation on this or dependent resource is in progress. To retrieve status of "
         "the operation use uri: " +
             c.call.base_url + "/subscriptions/" + op.subscription +
             "/providers/Microsoft.Network/locations/" + op.location + "/operations/" + op.id +
             "?api-version=" + c.api_version + ".",
         "",
         json::array()}
    );
  }
  reply answer = error_reply(
      429,
      {"RetryableError",
       "A retryable error occurred.",
       "",
       json::array({json::object(
           {{"code", "RetryableErrorDueToAnotherOperation"},
            {"message",
             "Operation (" + op.id + ") is updating resource " + r.path.id() +
                 ". The call can be retried in 10 seconds."}}
       )})}
  );
  answer.headers.emplace_back("Retry-After", "10");
  return answer;
}

} // namespace

std::optional<reply> refuse_if_locked(const context& c, const resource& r) {
  if (r.operation.empty()) {
    return std::nullopt;
  }
  const auto it = c.world.operations.find(key_of(r.operation));
  if (it == c.world.operations.end() || it->second.status != operation_status::in_progress) {
    return std::nullopt;
  }
  if (is_network(r.path.kind)) {
    return busy_network(c, r, it->second);
  }
  if (r.state == provisioning::deleting) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "VM '" + r.path.name +
             "' is marked for deletion. Only the Delete operation is allowed (or wait for an "
             "ongoing one to complete)."}
    );
  }
  return error_reply(
      409,
      {"OperationNotAllowed",
       "The request failed because another operation is in progress on '" + r.path.name +
           "'. Please perform the operation after some time."}
  );
}

} // namespace siteagent::azure_emulator
