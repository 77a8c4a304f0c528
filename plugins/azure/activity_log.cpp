// SPDX-License-Identifier: MIT
#include "plugins/azure/activity_log.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/resource_id.hpp"
#include "plugins/azure/services.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace {

using kind = machine_event::kind;
using base::json;
using base::wall_time;

// Azure keeps 90 days; the last of them is on its way out.
constexpr std::chrono::hours reach{89 * 24};
// Events may show up late: what was read this long ago is read once more, and daily everything.
constexpr std::chrono::hours overlap{6};
constexpr std::chrono::hours whole_every{24};
// The calls of one report see the same log.
constexpr std::chrono::seconds fresh{10};

struct operation_row {
  std::string_view action; // lower case, behind "microsoft.compute/virtualmachines/"
  kind what;
};

constexpr auto operations = std::to_array<operation_row>({
    {"write", kind::written},
    {"start/action", kind::allocated},
    {"deallocate/action", kind::released},
    {"evictspotvm/action", kind::released},
    {"delete", kind::released},
});

std::optional<kind> kind_of_action(std::string_view action) {
  constexpr std::string_view machines = "microsoft.compute/virtualmachines/";
  const std::string lower = base::to_lower(action);
  if (!lower.starts_with(machines)) {
    return std::nullopt;
  }
  const std::string_view rest = std::string_view(lower).substr(machines.size());
  const auto* const row =
      std::find_if(operations.begin(), operations.end(), [&](const operation_row& o) {
        return o.action == rest;
      });
  return row == operations.end() ? std::nullopt : std::optional(row->what);
}

std::optional<log_record::status> status_of(const json& event) {
  const std::string word = base::to_lower(event.at({"status", "value"}).string_or(""));
  if (word == "succeeded") {
    return log_record::status::succeeded;
  }
  if (word == "accepted" || word == "started") {
    return log_record::status::begun;
  }
  if (word == "failed" || word == "canceled") {
    return log_record::status::failed;
  }
  return std::nullopt;
}

// The answer's body is text within the event; its members may be written in any case.
std::string size_in(const json& event) {
  const auto body = json::parse(event.at({"properties", "responseBody"}).string_or(""));
  return body ? base::to_lower(body->at({"properties", "hardwareProfile", "vmSize"}).string_or(""))
              : std::string();
}

} // namespace

std::optional<log_record> read_record(const json& event) {
  const auto what = kind_of_action(event.at({"operationName", "value"}).string_or(""));
  const auto state = status_of(event);
  const auto at = base::parse_rfc3339(event["eventTimestamp"].string_or(""));
  if (!what || !state || !at) {
    return std::nullopt;
  }
  log_record r;
  r.machine = id_key(event["resourceId"].string_or(""));
  r.at = *at;
  r.what = *what;
  r.state = *state;
  r.operation = event["operationId"].string_or("");
  if (r.what == kind::written) {
    r.size = size_in(event);
  }
  return r;
}

std::vector<machine_event> events_of(const std::vector<log_record>& records) {
  std::set<std::string> failed;
  for (const log_record& r : records) {
    if (r.state == log_record::status::failed && !r.operation.empty()) {
      failed.insert(r.operation);
    }
  }
  std::vector<machine_event> out;
  for (const log_record& r : records) {
    const bool counts = r.what == kind::written
                            ? !r.size.empty() && r.state != log_record::status::failed &&
                                  failed.count(r.operation) == 0
                            : r.state == log_record::status::succeeded;
    if (counts) {
      out.push_back({r.at, r.what, r.size});
    }
  }
  return out;
}

void activity_log::add(const json& event) {
  std::optional<log_record> r = read_record(event);
  if (!r) {
    return;
  }
  std::string id = event["eventDataId"].string_or(event["id"].string_or(""));
  if (!id.empty() && !seen_.emplace(std::move(id), r->at).second) {
    return;
  }
  machines_[r->machine].push_back(*std::move(r));
}

void activity_log::forget_before(wall_time t) {
  std::erase_if(seen_, [&](const auto& entry) { return entry.second < t; });
  for (auto& [key, records] : machines_) {
    std::erase_if(records, [&](const log_record& r) { return r.at < t; });
  }
  std::erase_if(machines_, [](const auto& entry) { return entry.second.empty(); });
}

std::vector<machine_event> activity_log::events(const std::string& machine_key) const {
  const auto it = machines_.find(machine_key);
  return it == machines_.end() ? std::vector<machine_event>() : events_of(it->second);
}

base::result<std::shared_ptr<const activity_log>>
read_activity_log(const services& cloud, const arm::scope& call, wall_time now) {
  arm::cached<activity_log>& kept = cloud.facts().activity;
  return kept.get(call, cloud.clock(), "", fresh, [&]() -> base::result<activity_log> {
    const std::shared_ptr<const activity_log> before = kept.kept("");
    activity_log log;
    if (before && now >= before->whole_at && now - before->whole_at < whole_every) {
      log = *before;
    } else {
      log.whole_at = now;
      log.read_at = now - reach;
    }
    log.from = now - reach;
    const wall_time since = std::max(log.from, log.read_at - overlap);
    auto read = cloud.monitor().each_compute_event(call, since, [&](json&& e) { log.add(e); });
    if (!read) {
      return read.error();
    }
    log.read_at = now;
    log.forget_before(log.from);
    return log;
  });
}

} // namespace siteagent::azure
