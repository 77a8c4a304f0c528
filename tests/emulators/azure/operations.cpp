// SPDX-License-Identifier: MIT
#include "operations.hpp"

#include "activity.hpp"
#include "crypto.hpp"
#include "network.hpp"
#include "render.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

namespace siteagent::azure_emulator {

using base::json;

namespace {

constexpr std::chrono::hours monitor_life{24};

bool is_network_pace(pace p) {
  return p == pace::network_write || p == pace::network_delete;
}

int retry_after(const world& w, const operation& op) {
  if (op.subject.empty()) { // a deployment's removal
    return w.timing.retry_after(pace::group_delete);
  }
  const auto path = parse_resource_id(op.subject);
  if (!w.timing.retry_by_type || op.pace != pace::network_write || !path) {
    return w.timing.retry_after(op.pace);
  }
  switch (path->kind) {
  case kind::public_ip:
    return 1;
  case kind::security_rule:
  case kind::application_group:
    return 10;
  default:
    return w.timing.retry_after(op.pace);
  }
}

// Characters of a signature, long enough that nobody shortens or re-encodes it unnoticed.
std::string random_text(std::size_t length) {
  std::string text;
  while (text.size() < length) {
    text += base::uuid::random().hex();
  }
  text.resize(length);
  return text;
}

std::string signed_parameters(const world& w, base::wall_time now) {
  const auto ticks = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch());
  const std::size_t certificate = w.timing.strict_urls ? 260 : 16;
  const std::size_t signature = w.timing.strict_urls ? 120 : 16;
  return "&t=" + std::to_string(ticks.count()) + "&c=" + random_text(certificate) +
         "&s=" + random_text(signature) + "-_" + "&h=" + random_text(24);
}

// ":2D" style escapes, as in the job ids of ARM.
std::string job_name(std::string_view name) {
  constexpr std::string_view hex = "0123456789ABCDEF";
  std::string out;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if ((c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z')) {
      out += c;
    } else if (c >= 'a' && c <= 'z') {
      out += static_cast<char>(c - 'a' + 'A');
    } else {
      out += ':';
      out += hex[byte >> 4U];
      out += hex[byte & 15U];
    }
  }
  return out;
}

std::string new_operation_id(const operation_plan& plan) {
  if (plan.action != action::remove_group) {
    return base::uuid::random().dashed();
  }
  const auto name = plan.subject.substr(plan.subject.rfind('/') + 1);
  const json job = json::object(
      {{"jobId", "RESOURCEGROUPDELETIONJOB-" + job_name(name) + "-" + job_name(plan.location)},
       {"jobLocation", plan.location}}
  );
  return base64url(job.dump());
}

void set_state(world& w, const operation& op, provisioning state) {
  std::vector<std::string> keys = op.also;
  keys.push_back(op.subject);
  for (const auto& key : keys) {
    if (auto* r = w.find(key)) {
      r->state = state;
      w.touch_etag(*r);
    }
  }
}

void unlock(world& w, const operation& op) {
  std::vector<std::string> keys = op.also;
  keys.insert(keys.end(), op.locks.begin(), op.locks.end());
  keys.push_back(op.subject);
  for (const auto& key : keys) {
    if (auto* r = w.find(key); r != nullptr && r->operation == op.id) {
      r->operation.clear();
    }
    const auto it = w.groups.find(key);
    if (it != w.groups.end() && it->second.operation == op.id) {
      it->second.operation.clear();
    }
  }
}

void complete_write(world& w, const operation& op, bool ok, base::wall_time now) {
  set_state(
      w,
      op,
      ok || (!op.is_new && op.status == operation_status::canceled) ? provisioning::succeeded
                                                                    : provisioning::failed
  );
  if (auto* r = w.find(op.subject)) {
    r->changed = now;
    if (r->path.kind == kind::public_ip && ok) {
      show_address(w, *r);
    }
    if (r->path.kind == kind::disk && ok) {
      show_disk_details(*r, now);
    }
  }
}

void complete_removal(world& w, const operation& op, bool ok, base::wall_time now) {
  if (!ok) {
    set_state(
        w,
        op,
        op.status == operation_status::canceled ? provisioning::succeeded : provisioning::failed
    );
    return;
  }
  for (const auto& key : op.also) {
    w.erase(key);
  }
  if (const auto* r = w.find(op.subject)) {
    remember_references(w, *r, now);
  }
  w.erase(op.subject);
}

void complete(world& w, operation& op, base::wall_time now) {
  const bool ok = op.status == operation_status::succeeded;
  switch (op.action) {
  case action::write:
    complete_write(w, op, ok, now);
    break;
  case action::remove:
    complete_removal(w, op, ok, now);
    break;
  case action::remove_group:
    complete_group_removal(w, op, ok, now);
    break;
  default:
    complete_machine(w, op, ok, now);
    break;
  }
}

void default_error(operation& op) {
  if (op.error_code.empty()) {
    op.error_code = op.status == operation_status::canceled ? "Canceled" : "InternalExecutionError";
  }
  if (op.error_message.empty()) {
    if (op.status == operation_status::canceled) {
      op.error_message = "Operation was canceled.";
    } else if (op.error_code == "AllocationFailed" || op.error_code == "ZonalAllocationFailed") {
      op.error_message = "Allocation failed. We do not have sufficient capacity for the requested "
                         "VM size in this " +
                         std::string(op.error_code.front() == 'Z' ? "zone" : "region") +
                         ". Read more about improving likelihood of allocation success at "
                         "https://aka.ms/allocation-guidance";
    } else {
      op.error_message = "An internal execution error occurred. Please retry later.";
    }
  }
}

void mark_ended(world& w, operation& op, base::wall_time now) {
  op.ended = now;
  w.due.erase({op.due, key_of(op.id)});
  w.ended.emplace_back(now, key_of(op.id));
}

json status_document(world& w, const operation& op) {
  json doc;
  const bool network = is_network_pace(op.pace);
  constexpr std::string_view words[] = {"InProgress", "Succeeded", "Failed", "Canceled"};
  const std::string_view word = words[static_cast<std::size_t>(op.status)];
  if (network) {
    doc.set("status", word);
  } else {
    doc.set("startTime", compute_time(op.started));
    if (op.status != operation_status::in_progress) {
      doc.set("endTime", compute_time(op.ended));
    }
    doc.set("status", word);
    if (op.pace == pace::disk && op.status == operation_status::succeeded) {
      if (auto* r = w.find(op.subject)) {
        doc.set("properties", json::object({{"output", render(w, *r)}}));
      }
    }
    doc.set("name", op.id);
  }
  if (op.status == operation_status::failed || op.status == operation_status::canceled) {
    json e = json::object({{"code", op.error_code}, {"message", op.error_message}});
    if (network || !op.error_details.is_null()) {
      e.set("details", op.error_details.is_null() ? json::array() : op.error_details);
    }
    doc.set("error", e);
  }
  return doc;
}

reply result_answer(world& w, const context& c, const operation& op) {
  if (op.status == operation_status::in_progress) {
    reply r = empty_reply(202);
    r.headers.emplace_back("Location", c.call.base_url + c.http.target);
    r.headers.emplace_back("Retry-After", std::to_string(retry_after(w, op)));
    return r;
  }
  if (op.status == operation_status::succeeded && !op.result.is_null()) {
    return json_reply(200, op.result);
  }
  // A client that patched a disk takes the disk from here.
  if (op.status == operation_status::succeeded && op.pace == pace::disk &&
      op.action == action::write) {
    if (auto* r = w.find(op.subject)) {
      return json_reply(200, render(w, *r));
    }
  }
  if (op.status == operation_status::succeeded) {
    return empty_reply(is_network_pace(op.pace) ? 204 : 200);
  }
  // Faults of the platform are 500, everything that has a reason is a conflict.
  const bool internal =
      op.error_code.find("Internal") != std::string::npos && op.action != action::remove_group;
  return error_reply(internal ? 500 : 409, {op.error_code, op.error_message});
}

} // namespace

operation& begin(context& c, const operation_plan& plan) {
  operation op;
  op.id = new_operation_id(plan);
  op.action = plan.action;
  op.pace = plan.pace;
  op.subject = plan.subject;
  op.also = plan.also;
  op.locks = plan.locks;
  op.subscription = c.subscription_id();
  op.location = plan.location;
  op.is_new = plan.is_new;
  op.started = c.now();
  op.due = c.now() + c.world.timing.duration(plan.pace);
  const std::string tail = signed_parameters(c.world, c.now());
  const std::string version = "api-version=" + c.api_version;
  const bool compute = !is_network_pace(plan.pace) && plan.action != action::remove_group;
  const std::string part = compute ? "p=" + base::uuid::random().dashed() + "&" : std::string();
  op.query = part + version + tail;
  op.result_query = part + version + (compute ? "&monitor=true" : "") + tail;
  if (const auto* fault = c.call.operation) {
    using outcome = emulators::operation_fault::outcome_kind;
    op.is_stuck = fault->outcome == outcome::stuck;
    if (!op.is_stuck) {
      op.planned =
          fault->outcome == outcome::failed ? operation_status::failed : operation_status::canceled;
    }
    op.error_code = fault->code;
  }
  std::vector<std::string> keys = op.also;
  keys.insert(keys.end(), op.locks.begin(), op.locks.end());
  keys.push_back(op.subject);
  for (const auto& key : keys) {
    if (auto* r = c.world.find(key)) {
      r->operation = op.id;
    }
  }
  const auto g = c.world.groups.find(op.subject);
  if (g != c.world.groups.end()) {
    g->second.operation = op.id;
  }
  const std::string key = key_of(op.id);
  if (!op.is_stuck) {
    c.world.due.emplace(op.due, key);
  }
  return c.world.operations[key] = std::move(op);
}

void add_monitor_headers(const context& c, const operation& op, monitors which, reply& r) {
  const std::string root = c.call.base_url + "/subscriptions/" + op.subscription;
  if (which == monitors::location) {
    r.headers.emplace_back("Location", root + "/operationresults/" + op.id + "?" + op.result_query);
  } else {
    const bool network = is_network_pace(op.pace);
    const std::string place = root +
                              (network ? "/providers/Microsoft.Network/locations/"
                                       : "/providers/Microsoft.Compute/locations/") +
                              op.location;
    const std::string_view collection = op.pace == pace::disk ? "/DiskOperations/" : "/operations/";
    r.headers.emplace_back(
        "Azure-AsyncOperation", place + std::string(collection) + op.id + "?" + op.query
    );
    if (op.pace != pace::disk) {
      r.headers.emplace_back("Azure-AsyncNotification", "Enabled");
    }
    if (which == monitors::async_and_location) {
      r.headers.emplace_back(
          "Location",
          place + std::string(network ? "/operationResults/" : collection) + op.id + "?" +
              op.result_query
      );
    }
  }
  r.headers.emplace_back("Retry-After", std::to_string(retry_after(c.world, op)));
}

reply deployment_removal(context& c, std::string_view group, std::string_view name) {
  const auto* g = c.world.find_group(c.subscription_id(), group);
  operation op;
  op.location = g == nullptr ? std::string() : g->location;
  op.id =
      base64url(json::object(
                    {{"jobId", "DeploymentDeletionJob-" + job_name(group) + "-" + job_name(name)},
                     {"jobLocation", op.location}}
      ).dump());
  op.action = action::remove;
  op.pace = pace::network_delete; // whose result is 204
  op.subscription = c.subscription_id();
  op.status = operation_status::succeeded;
  op.started = op.ended = c.now();
  op.result_query = "api-version=" + c.api_version + signed_parameters(c.world, c.now());
  reply answer = empty_reply(202);
  add_monitor_headers(c, op, monitors::location, answer);
  c.world.ended.emplace_back(c.now(), key_of(op.id));
  c.world.operations[key_of(op.id)] = std::move(op);
  return answer;
}

void finish(world& w, operation& op, base::wall_time now) {
  if (op.status != operation_status::in_progress) {
    return;
  }
  op.status = op.planned.value_or(operation_status::succeeded);
  mark_ended(w, op, now);
  if (op.status != operation_status::succeeded) {
    default_error(op);
  }
  // Before the state changes: a follow-up may look at the locks.
  unlock(w, op);
  complete(w, op, now);
  note_end(w, op);
}

void advance(world& w, base::wall_time now) {
  while (!w.due.empty() && w.due.begin()->first <= now) {
    const auto [when, id] = *w.due.begin();
    w.due.erase(w.due.begin());
    const auto it = w.operations.find(id);
    if (it != w.operations.end()) {
      finish(w, it->second, when);
    }
  }
  while (!w.ended.empty() && w.ended.front().first + monitor_life <= now) {
    const auto it = w.operations.find(w.ended.front().second);
    // A group deleted twice reuses its job id: only the one that ended then may go.
    if (it != w.operations.end() && it->second.status != operation_status::in_progress &&
        it->second.ended + monitor_life <= now) {
      w.operations.erase(it);
    }
    w.ended.pop_front();
  }
}

void preempt(world& w, const std::string& operation_id, base::wall_time now) {
  const auto it = w.operations.find(key_of(operation_id));
  if (it == w.operations.end() || it->second.status != operation_status::in_progress) {
    return;
  }
  auto& op = it->second;
  op.status = operation_status::canceled;
  mark_ended(w, op, now);
  op.error_code = "OperationPreempted";
  op.error_message = "Operation execution has been preempted by a more recent operation.";
  unlock(w, op);
  note_end(w, op);
}

void supersede(world& w, const std::string& old, const operation& by, base::wall_time now) {
  const auto it = old.empty() ? w.operations.end() : w.operations.find(key_of(old));
  if (it == w.operations.end()) {
    return;
  }
  auto& op = it->second;
  op.status = operation_status::canceled;
  mark_ended(w, op, now);
  default_error(op);
  op.error_details = json::array({json::object(
      {{"code", "CanceledAndSupersededDueToAnotherOperation"},
       {"message",
        "Operation PutSecurityRuleOperation (" + op.id +
            ") was canceled and superseded by operation PutSecurityRuleOperation (" + by.id + ")."}}
  )});
  unlock(w, op);
  note_end(w, op);
  auto* rule = w.find(op.subject);
  if (rule == nullptr || op.subject == by.subject) {
    return;
  }
  if (rule->undo.is_null()) {
    w.erase(op.subject);
    return;
  }
  rule->body = rule->undo;
  rule->state = provisioning::succeeded;
  w.touch_etag(*rule);
}

reply read_monitor(context& c, std::string_view id, bool result) {
  const auto it = c.world.operations.find(key_of(id));
  if (it == c.world.operations.end() ||
      !base::equals_ignoring_case(it->second.subscription, c.subscription_id())) {
    return error_reply(
        404, {"OperationNotFound", "The entity was not found: operation " + std::string(id) + "."}
    );
  }
  auto& op = it->second;
  // The compute provider serves both forms under one path and tells them by the query.
  const bool wants_result =
      result || base::equals_ignoring_case(c.http.parameter("monitor"), "true");
  if (c.world.timing.strict_urls && c.http.query != (wants_result ? op.result_query : op.query)) {
    return gateway_error(
        400,
        {"InvalidAsyncOperationUri",
         "The query of the polling URL is not the one that was handed out; send it unchanged."}
    );
  }
  if (c.world.timing.ends_at_first_poll && !op.is_stuck) {
    finish(c.world, op, c.now());
  }
  if (wants_result || op.action == action::remove_group) {
    return result_answer(c.world, c, op);
  }
  reply r = json_reply(200, status_document(c.world, op));
  if (op.status == operation_status::in_progress) {
    r.headers.emplace_back("Retry-After", std::to_string(retry_after(c.world, op)));
  }
  return r;
}

} // namespace siteagent::azure_emulator
