// SPDX-License-Identifier: MIT
// report_usage: snapshots of the allocation, and hours of it out of the activity log.
#include "core/base/text.hpp"
#include "plugins/azure/answers.hpp"
#include "plugins/azure/backend.hpp"
#include "plugins/azure/inventory.hpp"

namespace siteagent::azure {

namespace {

using arm::scope;
using base::json;

// "deallocated" and "running"; what is on its way to either is not told.
std::optional<bool> is_allocated(const std::optional<std::string>& power) {
  if (power == "deallocated") {
    return false;
  }
  if (power == "running" || power == "stopped" || power == "stopping") {
    return true; // stopped from within, the machine is still held and billed
  }
  return std::nullopt;
}

std::string size_of(const json& model) {
  return base::to_lower(model.at({"properties", "hardwareProfile", "vmSize"}).string_or(""));
}

machine_life life_of(const machine_facts& facts, const activity_log& log) {
  machine_life life;
  life.created = base::parse_rfc3339(facts.model.at({"properties", "timeCreated"}).string_or(""));
  life.allocated = is_allocated(facts.power);
  life.size = size_of(facts.model);
  life.changed = facts.changed;
  life.events = log.events(id_key(id_of(facts.model)));
  return life;
}

void merge(json& into, const json& more) {
  for (const auto& [key, value] : more.members()) {
    into.set(key, value);
  }
}

} // namespace

// Everything one report reads before it looks at single machines.
struct backend::usage_reading {
  billing_period period;
  metered wanted;
  std::optional<inventory> lists;
  std::map<std::string, std::int64_t> disks;
  std::shared_ptr<const activity_log> log; // when hours are wanted
  observation seen{};
};

backend::usage_reading backend::read_usage(const scope& scope, const json& body) const {
  usage_reading r;
  r.period = period_of(body, clock_.wall());
  r.wanted = kinds_of_metering(body["components"]);
  // An allocation is known for now only: a snapshot of a past month would be a guess.
  if (!r.period.is_current && !r.wanted.hours) {
    return r;
  }
  const base::wall_time looked_at = clock_.wall();
  auto lists = inventory::read(
      cloud_,
      scope,
      body["resources"],
      r.wanted.hours ? inventory::detail::states : inventory::detail::models
  );
  if (!lists) {
    raise(std::move(lists).error());
  }
  r.lists = std::move(*lists);
  if (s_.disk == disk_source::actual) {
    auto all = cloud_.compute().each_disk(scope, [&](json&& d) { note_disk(r.disks, d); });
    if (!all) {
      raise(std::move(all).error());
    }
  }
  if (r.wanted.hours) {
    // After the machines: what they show, the log may already tell. Azure's clock, not ours: its
    // events and its machines go by it.
    r.seen.now = looked_at + (cloud_.arm().server_now() - clock_.wall());
    auto log = read_activity_log(cloud_, scope, cloud_.arm().server_now());
    if (!log) {
      raise(std::move(log).error());
    }
    r.log = std::move(*log);
    r.seen.log_from = r.log->from;
  }
  return r;
}

void backend::report_usage(sagent::call& call, const sagent::request& request) {
  const scope scope(call, request.trace_id, arm::urgency::can_wait);
  const json body = body_or_throw(request);
  if (body["resources"].size() == 0) {
    return;
  }
  const usage_reading reading = read_usage(scope, body);
  for (const json& resource : body["resources"].items()) {
    json total;
    if (reading.lists) {
      const sighting seen =
          reading.lists->find(cloud_, scope, s_, resource["backend_id"].string_or(""));
      if (seen.seen == presence::present) {
        total = total_of(scope, seen.facts, body["components"], reading);
      }
    }
    json out = json::object({{"uuid", resource["uuid"]}, {"measured", total.size() > 0}});
    if (total.size() > 0) {
      out.set("total", std::move(total));
    }
    call.emit(out.dump());
  }
}

// A machine is told whole or not at all: half of its figures would look like all of them.
json backend::total_of(
    const scope& scope,
    const machine_facts& facts,
    const json& components,
    const usage_reading& reading
) const {
  json total = json::object();
  if (reading.period.is_current && reading.wanted.snapshot) {
    total = measure(scope, facts.model, components, reading.disks);
    if (total.size() == 0) {
      return {};
    }
  }
  if (!reading.wanted.hours) {
    return total;
  }
  const auto hours = measure_hours(scope, facts, components, reading);
  if (!hours) {
    return {};
  }
  merge(total, *hours);
  return total;
}

std::optional<json> backend::measure_hours(
    const scope& scope,
    const machine_facts& facts,
    const json& components,
    const usage_reading& reading
) const {
  const auto times =
      allocated_time(life_of(facts, *reading.log), reading.period.window, reading.seen);
  if (!times) {
    cloud_.info(
        "machine " + id_of(facts.model) + " is not metered in hours now: " + times.error().message
    );
    return std::nullopt;
  }
  std::vector<held> all;
  for (const auto& [size, time] : *times) {
    const auto amount = allocation_of(scope, facts.model, size, reading.disks);
    if (!amount) {
      return std::nullopt;
    }
    all.push_back({*amount, time});
  }
  return hours_of(all, components);
}

std::optional<allocation> backend::allocation_of(
    const scope& scope,
    const json& model,
    const std::string& size,
    const std::map<std::string, std::int64_t>& disks
) const {
  const std::string location = normal_location(model["location"].string_or(""));
  if (location.empty() || size.empty()) {
    return std::nullopt;
  }
  const auto figures =
      cloud_.facts().figures.get(scope, clock_, location, std::chrono::hours(1), [&] {
        return cloud_.compute().figures(scope, location);
      });
  if (!figures) {
    cloud_.warn("machine " + id_of(model) + " is not measured: " + figures.error().message);
    return std::nullopt;
  }
  const auto it = (*figures)->find(size);
  if (it == (*figures)->end()) {
    cloud_.warn(
        "machine " + id_of(model) + " is not measured: Azure lists no size " + size + " in " +
        location
    );
    return std::nullopt;
  }
  return s_.disk == disk_source::actual ? allocation_of_machine(it->second, model, disks)
                                        : allocation_of_size(it->second);
}

json backend::measure(
    const scope& scope,
    const json& model,
    const json& components,
    const std::map<std::string, std::int64_t>& disks
) const {
  const auto amount = allocation_of(scope, model, size_of(model), disks);
  return amount ? totals_of(*amount, components) : json();
}

} // namespace siteagent::azure
