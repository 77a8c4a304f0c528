// SPDX-License-Identifier: MIT
// Power actions, the smaller actions, and deletion of machines.
#include "handlers.hpp"
#include "machine.hpp"
#include "operations.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

struct verb_row {
  std::string_view verb;
  azure_emulator::action action;
  power during;
};

constexpr verb_row verbs[] = {
    {"start", action::start, power::starting},
    {"deallocate", action::deallocate, power::deallocating},
    {"powerOff", action::power_off, power::stopping},
    {"restart", action::restart, power::running},
    {"redeploy", action::restart, power::running},
    {"reapply", action::update_machine, power::none},
    {"reimage", action::restart, power::running},
    {"runCommand", action::run_command, power::none},
};

bool is_off(power p) {
  return p == power::deallocated || p == power::deallocating || p == power::none;
}

std::optional<reply> refuse_action(const resource& machine, const verb_row& row) {
  const bool needs_running = row.action == action::restart || row.action == action::power_off ||
                             row.action == action::run_command;
  if (needs_running && is_off(machine.machine.power)) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "Cannot " + std::string(row.verb) + " VM '" + machine.path.name +
             "' because it is not running."}
    );
  }
  if (machine.machine.generalized && row.action == action::start) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "Operation '" + std::string(row.verb) + "' is not allowed on VM '" + machine.path.name +
             "' since the VM is generalized."}
    );
  }
  const std::string local =
      machine.body.at({"properties", "storageProfile", "osDisk", "diffDiskSettings", "option"})
          .string_or("");
  const bool leaves_host = row.action == action::deallocate || row.action == action::power_off;
  if (leaves_host && equals_ignoring_case(local, "Local")) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "Operation '" + std::string(row.verb) +
             "' is not supported for VMs or VM Scale Set "
             "instances using an ephemeral OS disk."}
    );
  }
  return std::nullopt;
}

// Sysprepped for good: it may be captured, but never started again.
reply generalize(context& c, resource& machine) {
  const power p = machine.machine.power;
  if (p != power::stopped && p != power::deallocated) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "The operation 'generalize' requires VM '" + machine.path.name +
             "' to be stopped or deallocated."}
    );
  }
  machine.machine.generalized = true;
  c.world.touch_etag(machine);
  return empty_reply(200);
}

reply simulate_eviction(context& c, resource& machine) {
  if (!is_spot(machine.body)) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "Operation 'simulateEviction' is only supported for Azure Spot Virtual Machines."}
    );
  }
  evict_machine(c.world, machine, c.now());
  return empty_reply(204);
}

reply boot_diagnostics(const context& c, const resource& machine) {
  if (machine.body.at({"properties", "diagnosticsProfile", "bootDiagnostics", "enabled"})
          .boolean() != true) {
    return error_reply(
        409,
        {"OperationNotAllowed",
         "Boot diagnostics is not enabled for VM '" + machine.path.name + "'."}
    );
  }
  const std::string place = c.call.base_url + "/bootdiagnostics/" +
                            machine.body.at({"properties", "vmId"}).string_or("") + "/";
  return json_reply(
      200,
      json::object(
          {{"consoleScreenshotBlobUri", place + "screenshot.bmp"},
           {"serialConsoleLogBlobUri", place + "serialconsole.log"}}
      )
  );
}

// Actions that end with their answer.
std::optional<reply> answer_at_once(context& c, resource& machine, std::string_view verb) {
  if (equals_ignoring_case(verb, "retrieveBootDiagnosticsData")) {
    return boot_diagnostics(c, machine);
  }
  const bool generalizes = equals_ignoring_case(verb, "generalize");
  if (!generalizes && !equals_ignoring_case(verb, "simulateEviction")) {
    return std::nullopt;
  }
  if (auto bad = refuse_if_locked(c, machine)) {
    return bad;
  }
  return generalizes ? generalize(c, machine) : simulate_eviction(c, machine);
}

std::optional<reply> check_hibernation(const resource& machine) {
  if (machine.body.at({"properties", "additionalCapabilities", "hibernationEnabled"}).boolean() ==
      true) {
    return std::nullopt;
  }
  return error_reply(
      409,
      {"OperationNotAllowed",
       "Hibernating VM '" + machine.path.name +
           "' is not allowed: hibernation is not enabled on it."}
  );
}

std::optional<reply> check_command(const context& c) {
  if (c.body["commandId"].is_string()) {
    return std::nullopt;
  }
  return error_reply(
      400, {"InvalidParameter", "Required parameter 'commandId' is missing (null).", "commandId"}
  );
}

} // namespace

reply machine_action(context& c, const resource_path& path, std::string_view verb) {
  auto* machine = c.world.find(path.key());
  if (machine == nullptr) {
    return resource_not_found(path);
  }
  if (auto answer = answer_at_once(c, *machine, verb)) {
    return *answer;
  }
  const verb_row* row = nullptr;
  for (const auto& candidate : verbs) {
    row = equals_ignoring_case(candidate.verb, verb) ? &candidate : row;
  }
  if (row == nullptr) {
    return error_reply(
        404, {"NotFound", "The action '" + std::string(verb) + "' is not emulated."}
    );
  }
  // Releasing a machine wins over other power actions; nothing else interrupts.
  const bool preempts = row->action == action::deallocate &&
                        machine->state == provisioning::updating && !machine->operation.empty();
  if (preempts) {
    preempt(c.world, machine->operation, c.now());
  } else if (auto bad = refuse_if_locked(c, *machine)) {
    return *bad;
  }
  auto bad = refuse_action(*machine, *row);
  if (!bad && row->action == action::run_command) {
    bad = check_command(c);
  }
  const bool hibernates = row->action == action::deallocate &&
                          equals_ignoring_case(c.http.parameter("hibernate"), "true");
  if (!bad && hibernates) {
    bad = check_hibernation(*machine);
  }
  if (bad) {
    return *bad;
  }
  const bool was_running = machine->machine.power == power::running;
  if (!preempts) {
    machine->machine.power_before = machine->machine.power;
  }
  machine->state = provisioning::updating;
  machine->machine.hibernated =
      hibernates || (machine->machine.hibernated && row->action != action::start);
  if (row->during != power::none && !(row->action == action::start && was_running)) {
    set_power(*machine, row->during, c.now());
  }
  c.world.touch_etag(*machine);
  operation_plan plan;
  plan.action = row->action;
  plan.pace = pace::machine_action;
  plan.subject = path.key();
  plan.location = machine->location;
  plan.is_new = false;
  auto& op = begin(c, plan);
  if (row->action == action::run_command) {
    op.result = json::object(
        {{"value",
          json::array({json::object(
              {{"code", "ProvisioningState/succeeded"},
               {"level", "Info"},
               {"displayStatus", "Provisioning succeeded"},
               {"message", "Enable succeeded: \n[stdout]\n\n[stderr]\n"}}
          )})}}
    );
  }
  const std::string size =
      machine->body.at({"properties", "hardwareProfile", "vmSize"}).string_or("");
  if (row->action == action::start && !was_running && !op.planned &&
      c.world.offer.is_restricted(
          size, machine->location, machine->body["zones"][0].string_or(""), true
      )) {
    op.planned = operation_status::failed;
    op.error_code = allocation_failure(*machine);
  }
  reply answer = empty_reply(202);
  add_monitor_headers(c, op, monitors::async_and_location, answer);
  return answer;
}

reply delete_machine(context& c, const resource_path& path) {
  auto* machine = c.world.find(path.key());
  if (machine == nullptr) {
    return empty_reply(204);
  }
  if (auto bad = check_preconditions(c, machine)) {
    return *bad;
  }
  reply answer = empty_reply(202);
  const auto running = c.world.operations.find(key_of(machine->operation));
  if (running != c.world.operations.end() && running->second.action == action::remove_machine &&
      running->second.status == operation_status::in_progress) {
    add_monitor_headers(c, running->second, monitors::async_and_location, answer);
    return answer;
  }
  preempt(c.world, machine->operation, c.now());
  machine->state = provisioning::deleting;
  c.world.touch_etag(*machine);
  operation_plan plan;
  plan.action = action::remove_machine;
  plan.pace = pace::machine_delete;
  plan.subject = path.key();
  plan.location = machine->location;
  plan.is_new = false;
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

} // namespace siteagent::azure_emulator
