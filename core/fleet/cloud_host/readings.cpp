// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/readings.hpp"

#include "core/base/json.hpp"
#include "core/fleet/files.hpp"

#include <algorithm>

namespace siteagent::fleet::cloud_host {

namespace {

std::string area_key(std::string_view vm_id) {
  return std::string(vm_id) + " area";
}

} // namespace

readings::readings(const folders& f) : file_(f.state + "/cache/cloud-host-readings.json") {
  const auto text = read_file(file_);
  const auto document = base::json::parse(text ? *text : std::string());
  if (!document) {
    return;
  }
  for (const auto& [id, time] : document->members()) {
    times_.emplace(id, time.string_or(""));
  }
}

std::optional<base::wall_time> readings::last_of(std::string_view vm_id) const {
  const auto found = times_.find(vm_id);
  return found == times_.end() ? std::nullopt : base::parse_rfc3339(found->second);
}

void readings::note(std::string_view vm_id, base::wall_time t) {
  times_.insert_or_assign(std::string(vm_id), base::to_rfc3339(t));
}

bool readings::has_had_area(std::string_view vm_id) const {
  return times_.contains(area_key(vm_id));
}

void readings::note_area(std::string_view vm_id, base::wall_time t) {
  times_.insert_or_assign(area_key(vm_id), base::to_rfc3339(t));
}

void readings::save(const std::vector<std::string>& kept) const {
  base::json document = base::json::object();
  for (const auto& [id, time] : times_) {
    const std::string_view machine = std::string_view(id).substr(0, id.find(' '));
    if (std::find(kept.begin(), kept.end(), machine) != kept.end()) {
      document.set(id, time);
    }
  }
  // Best effort: a missing file only makes a later sentence less exact.
  const std::string folder = file_.substr(0, file_.rfind('/'));
  if (make_directories(folder)) {
    (void)replace_file(file_, document.pretty() + "\n", mode_t{0600}).has_value();
  }
}

} // namespace siteagent::fleet::cloud_host
