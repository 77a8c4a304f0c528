// SPDX-License-Identifier: MIT
// The running of one cell: the scene before it, the trouble, the passes until nothing moves.
#include "tests/integration/matrix_rig.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>
#include <utility>

namespace siteagent::integration::matrix {

namespace {

using std::chrono::seconds;

constexpr int most_passes = 6;
constexpr int patient_passes = 2; // while a trouble lasts that is to be waited for
constexpr seconds longest_run{120};
constexpr seconds longest_kill{4}; // until the next request behind the trouble
constexpr int interface_hold_s = 181;
constexpr std::string_view other_offering = "e2ef0000000000000000000000000299";

// What was there before: a group for all with other people's things, objects under the very names
// that the first rungs of our names would take, machines of another offering and of a resource
// that our Waldur does not show.
json foreign_seed() {
  const auto tags = [](std::string_view offering, std::string_view resource) {
    return json::object(
        {{"managed-by", "waldur-site-agent"},
         {"waldur-offering-uuid", offering},
         {"waldur-resource-uuid", resource}}
    );
  };
  const std::string root = "/subscriptions/" + std::string(subscription) + "/resourceGroups/shared";
  const json subnet = json::object(
      {{"id", root + "/providers/Microsoft.Network/virtualNetworks/net-other/subnets/default"}}
  );
  const json address = json::object(
      {{"resourceGroup", "shared"},
       {"name", "pubipweb-1-ab12cd34"},
       {"location", "westeurope"},
       {"sku", json::object({{"name", "Standard"}})},
       {"properties", json::object({{"publicIPAllocationMethod", "Static"}})}}
  );
  json unseen = address;
  unseen.set("name", "pubip-of-nobody-we-see");
  unseen.set("tags", tags(offering_uuid, "11110000000000000000000000000001"));
  return json::object(
      {{"resourceGroups",
        json::array(
            {json::object(
                 {{"name", "shared"},
                  {"location", "westeurope"},
                  {"tags", json::object({{"team", "finance"}})}}
             ),
             json::object({{"name", "group-ab12-web-1"}, {"location", "westeurope"}})}
        )},
       {"virtualNetworks",
        json::array({json::object(
            {{"resourceGroup", "shared"},
             {"name", "net-other"},
             {"properties",
              json::object(
                  {{"addressSpace",
                    json::object({{"addressPrefixes", json::array({"10.9.0.0/16"})}})}}
              )}}
        )})},
       {"subnets",
        json::array({json::object(
            {{"resourceGroup", "shared"},
             {"virtualNetwork", "net-other"},
             {"name", "default"},
             {"properties", json::object({{"addressPrefix", "10.9.0.0/24"}})}}
        )})},
       {"networkSecurityGroups",
        json::array({json::object({{"resourceGroup", "shared"}, {"name", "nsg-other"}})})},
       {"publicIPAddresses", json::array({address, unseen})},
       {"networkInterfaces",
        json::array({json::object(
            {{"resourceGroup", "shared"},
             {"name", "nic-other"},
             {"properties",
              json::object(
                  {{"ipConfigurations",
                    json::array({json::object(
                        {{"name", "ipconfig1"}, {"properties", json::object({{"subnet", subnet}})}}
                    )})}}
              )}}
        )})},
       {"machines",
        json::array({json::object(
            {{"resourceGroup", "shared"},
             {"name", "other-1"},
             {"tags", tags(other_offering, "22220000000000000000000000000001")}}
        )})}}
  );
}

json waldur_seed() {
  const json attributes = json::object({{"name", "web 1"}, {"ssh_public_key", ssh_key}});
  const json limits = json::object({{"cpu", 1}, {"ram", 1024}, {"disk", 30720}});
  return json::object(
      {{"resources",
        json::array({json::object(
            {{"uuid", resource_uuid},
             {"name", "web 1"},
             {"state", "Creating"},
             {"attributes", attributes},
             {"limits", limits}}
        )})},
       {"orders",
        json::array({json::object(
            {{"uuid", create_order},
             {"type", "Create"},
             {"state", "pending-provider"},
             {"resource", resource_uuid},
             {"attributes", attributes},
             {"limits", limits}}
        )})}}
  );
}

std::string agent_mode(operation op) {
  return op == operation::pause || op == operation::unpause ? "membership_sync" : "order_process";
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

json hang_behind(unsigned ordinal) {
  return json::object(
      {{"match", json::object({{"nth", ordinal + 1}, {"times", 0}})},
       {"when", "before"},
       {"do", "hang"}}
  );
}

site_options options() {
  site_options o;
  o.azure_seed = foreign_seed();
  o.waldur_seed = waldur_seed();
  return o;
}

} // namespace

rig::rig() : site_(options()) {}

const emulator& rig::side_of(const step& s) const {
  return s.in_cloud() ? site_.azure() : site_.waldur();
}

rig::scene rig::prepare(operation op, group_mode mode, bool short_deadlines) {
  for (const auto& file : std::filesystem::directory_iterator(site_.dir().path())) {
    if (file.path().filename().string().rfind("agent-", 0) == 0) {
      std::filesystem::remove(file.path());
    }
  }
  site_.azure().reset();
  site_.waldur().reset();
  const auto write_config = [&](bool in_a_hurry) {
    std::string yaml = site_.default_offering_yaml("Azure VM", offering_uuid);
    const std::string at = "    backend_settings:\n";
    std::string more;
    if (mode == group_mode::shared) {
      more += "      default_resource_group: shared\n";
    }
    if (in_a_hurry) {
      more += "      limits: {create_s: 4, delete_s: 4, power_s: 4}\n";
    }
    yaml.insert(yaml.find(at) + at.size(), more);
    site_.write_config(
        yaml,
        std::string("log_level: DEBUG\nexpose_backend_error_details: ") +
            (exposes_details(mode) ? "true" : "false") + "\n"
    );
  };
  write_config(false);
  scene now;
  const json all = site_.azure().inventory();
  for (const auto& [kind, objects] : all.members()) {
    for (const json& o : objects.items()) {
      now.foreign.emplace(o["id"].string_or(kind), body_of(o));
    }
  }
  begin(op, now);
  if (short_deadlines) {
    write_config(true);
  }
  now.cloud_mark = site_.azure().journal_size();
  now.waldur_mark = site_.waldur().journal_size();
  now.log.clear();
  now.runs = 0;
  return now;
}

// Up to the click that starts the operation.
void rig::begin(operation op, scene& now) const {
  now.order = create_order;
  if (op == operation::create) {
    return;
  }
  const auto must_run = [&](const std::string& mode) {
    const agent_run run = site_.run_agent(mode);
    if (run.exit_code != 0) {
      throw std::runtime_error("the scene could not be set: " + run.log);
    }
  };
  const std::string resource(resource_uuid);
  must_run("order_process");
  if (op == operation::remove) {
    now.order = site_.terminate(resource);
    return;
  }
  site_.set_paused(resource, true);
  now.order.clear();
  if (op == operation::pause) {
    return;
  }
  must_run("membership_sync");
  if (op == operation::unpause) {
    site_.set_paused(resource, false);
    return;
  }
  // Terminated in Waldur while the machine is still there, which only a restore can set right.
  const json shown = site_.resource(resource);
  site_.waldur().seed(json::object(
      {{"resources",
        json::array({json::object(
            {{"uuid", resource},
             {"name", "web 1"},
             {"state", "Terminated"},
             {"backend_id", shown["backend_id"]},
             {"backend_metadata", shown["backend_metadata"]},
             {"limits", shown["limits"]}}
        )})},
       {"orders",
        json::array({json::object(
            {{"uuid", restore_order},
             {"type", "Restore"},
             {"state", "pending-provider"},
             {"resource", resource}}
        )})}}
  ));
  now.order = restore_order;
}

void rig::run_agent(operation op, scene& now) {
  const auto agent = site_.start_agent(agent_mode(op));
  const auto end = std::chrono::steady_clock::now() + longest_run;
  std::uintmax_t seen = site_.azure().journal_size();
  while (!agent->wait(seconds(1))) {
    if (std::chrono::steady_clock::now() > end) {
      now.log += agent->output();
      throw std::runtime_error("the agent did not end within two minutes");
    }
    // An interface that Azure holds for a failed machine would cost three real minutes.
    bool is_held = false;
    for (const journal_line& l : site_.azure().journal(seen)) {
      is_held = is_held || (l.method == "DELETE" && l.status == 400 && !l.is_faulted &&
                            contains(l.path, "/networkInterfaces/"));
    }
    seen = site_.azure().journal_size();
    if (is_held) {
      site_.azure().advance_clock(interface_hold_s);
    }
  }
  ++now.runs;
  now.log += agent->output();
}

void rig::run_killed(const cell& c, scene& now) {
  const emulator& side = side_of(c.where);
  const auto agent = site_.start_agent(agent_mode(c.where.op));
  const auto end = std::chrono::steady_clock::now() + longest_kill * 8;
  const std::uintmax_t mark = c.where.in_cloud() ? now.cloud_mark : now.waldur_mark;
  auto until = end;
  bool fired = false;
  bool hangs = false;
  const auto look = [&] {
    for (const journal_line& l : side.journal(mark)) {
      hangs = hangs || l.fault == "before hang";
      if (l.is_faulted && l.fault != "before hang" && !fired) {
        fired = true;
        until = std::min(until, std::chrono::steady_clock::now() + longest_kill);
      }
    }
    return hangs;
  };
  while (!hangs && agent->is_running() && std::chrono::steady_clock::now() < until) {
    wait_for_change(side.directory(), look, seconds(1));
  }
  agent->signal(SIGKILL);
  (void)agent->wait(seconds(10));
  ++now.runs;
  now.log += agent->output();
}

std::string rig::end_of(operation op, const scene& now) const {
  if (!now.order.empty()) {
    const std::string state = site_.order_state(now.order);
    return state == "pending-provider" || state == "executing" ? "waits" : state;
  }
  const json all = site_.azure().inventory();
  for (const json& m : all["virtualMachines"].items()) {
    if (m.at({"tags", "waldur-resource-uuid"}).string_or("") != resource_uuid) {
      continue;
    }
    const std::string wanted =
        op == operation::pause ? "PowerState/deallocated" : "PowerState/running";
    for (const json& s : m.at({"properties", "instanceView", "statuses"}).items()) {
      if (s["code"].string_or("") == wanted) {
        return "done";
      }
    }
  }
  return "waits";
}

bool rig::is_over(operation op, const scene& now) const {
  return end_of(op, now) != "waits";
}

std::vector<step> rig::record(operation op, group_mode mode) {
  scene now = prepare(op, mode, false);
  run_agent(op, now);
  if (end_of(op, now) != "done") {
    throw std::runtime_error(
        "a clean " + std::string(name_of(op)) + " does not end well: " + now.log
    );
  }
  return steps_of(
      op, mode, site_.azure().journal(now.cloud_mark), site_.waldur().journal(now.waldur_mark)
  );
}

outcome rig::run(const cell& c) {
  outcome out;
  scene now;
  try {
    const operation op = c.where.op;
    now = prepare(op, c.where.mode, c.what.end == ending::overdue);
    const emulator& side = side_of(c.where);
    json rules = json::array({c.what.rule(c.where, c.where.nth)});
    if (c.is_killed) {
      rules.push_back(hang_behind(c.where.ordinal));
    }
    side.set_faults(rules);
    if (c.is_killed) {
      run_killed(c, now);
      side.set_faults(c.what.lasting ? json::array({c.what.rule(c.where, 1)}) : json::array());
    }
    const int passes = c.what.end == ending::waits ? patient_passes : most_passes;
    for (int pass = 0; pass < passes && (pass == 0 || !is_over(op, now)); ++pass) {
      run_agent(op, now);
    }
    bool waited = false;
    if (c.what.end == ending::waits) {
      waited = !is_over(op, now);
      side.clear_faults();
      for (int pass = 0; pass < most_passes && !is_over(op, now); ++pass) {
        run_agent(op, now);
      }
    }
    judge(c, now, waited, out);
    if (op == operation::remove && out.end == "erred" && c.what.end != ending::overdue) {
      // The customer tries again, and the trouble is over.
      side.clear_faults();
      now.order = site_.terminate(std::string(resource_uuid));
      for (int pass = 0; pass < most_passes && !is_over(op, now); ++pass) {
        run_agent(op, now);
      }
      const std::string first = std::exchange(out.end, end_of(op, now));
      if (out.end != "done") {
        out.violations.push_back("a second termination ends as '" + out.end + "'");
      }
      judge_objects(c, now, out);
      judge_foreign(c, now, out);
      out.end = first;
    }
  } catch (const std::exception& e) {
    out.violations.push_back(std::string("the cell could not be played: ") + e.what());
  }
  out.runs = now.runs;
  if (!out.violations.empty()) {
    out.log = now.log;
  }
  return out;
}

} // namespace siteagent::integration::matrix
