// SPDX-License-Identifier: MIT
#include "plugins/azure/metering.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/resource_id.hpp"

#include <array>

namespace siteagent::azure {

namespace {

constexpr std::int64_t mib_per_gib = 1024;

struct synonym {
  std::string_view component;
  std::string_view metric;
};

constexpr auto synonyms = std::to_array<synonym>(
    {{"cpu", "cores"},
     {"cores", "cores"},
     {"vcpu", "cores"},
     {"vcores", "cores"},
     {"ram", "ram_mb"},
     {"mem", "ram_mb"},
     {"memory", "ram_mb"},
     {"disk", "disk_mb"},
     {"storage", "disk_mb"}}
);

std::optional<std::int64_t> value_of(const allocation& a, std::string_view metric) {
  if (metric == "cores") {
    return a.cores;
  }
  if (metric == "ram_mb") {
    return a.ram_mib;
  }
  return metric == "disk_mb" ? a.disk_mib : std::nullopt;
}

std::optional<std::int64_t>
gib_of(const base::json& disk, const std::map<std::string, std::int64_t>& disks_by_id) {
  if (const auto shown = disk["diskSizeGB"].integer()) {
    return shown;
  }
  const auto it = disks_by_id.find(id_key(disk.at({"managedDisk", "id"}).string_or("")));
  return it == disks_by_id.end() ? std::nullopt : std::optional(it->second);
}

} // namespace

allocation allocation_of_size(const size_figures& f) {
  return {f.cores, f.memory_mib, f.os_disk_mib + f.temporary_disk_mib};
}

allocation allocation_of_machine(
    const size_figures& f,
    const base::json& model,
    const std::map<std::string, std::int64_t>& disks_by_id
) {
  allocation out{f.cores, f.memory_mib, std::nullopt};
  const base::json& storage = model.at({"properties", "storageProfile"});
  auto total = gib_of(storage["osDisk"], disks_by_id);
  for (const base::json& disk : storage["dataDisks"].items()) {
    const auto gib = gib_of(disk, disks_by_id);
    total = total && gib ? std::optional(*total + *gib) : std::nullopt;
  }
  if (total) {
    out.disk_mib = *total * mib_per_gib + f.temporary_disk_mib;
  }
  return out;
}

std::optional<std::string_view> metric_of(std::string_view component, const base::json& settings) {
  const auto named = settings["backend_name"].string();
  if (named && !named->empty()) {
    for (const synonym& s : synonyms) {
      if (s.metric == *named) {
        return s.metric;
      }
    }
    return std::nullopt;
  }
  for (const synonym& s : synonyms) {
    if (base::equals_ignoring_case(s.component, component)) {
      return s.metric;
    }
  }
  return std::nullopt;
}

base::json totals_of(const allocation& a, const base::json& components) {
  base::json out = base::json::object();
  for (const auto& [component, settings] : components.members()) {
    const auto metric = metric_of(component, settings);
    const auto value = metric ? value_of(a, *metric) : std::nullopt;
    // Hours need a history this version does not keep; a wrong unit is worse than none.
    if (!value || settings["metering"].string_or("snapshot") != "snapshot") {
      continue;
    }
    auto factor = base::decimal::parse(settings["unit_factor"].number_text().value_or("1"));
    if (!factor || factor->is_zero()) {
      factor = base::decimal(1);
    }
    if (const auto amount = base::decimal(*value).divided_by(*factor)) {
      out.set(component, amount->to_string());
    }
  }
  return out;
}

} // namespace siteagent::azure
