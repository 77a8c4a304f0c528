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

// Absent, unreadable and 0 count as 1, as they always did.
base::decimal factor_of(const base::json& settings, std::string_view key) {
  const auto factor = base::decimal::parse(settings[key].number_text().value_or("1"));
  return factor && !factor->is_zero() ? *factor : base::decimal(1);
}

constexpr std::int64_t ms_per_hour = 3'600'000;
constexpr unsigned hour_digits = 12;

// Sums up before it divides: nothing is rounded but the end.
std::optional<base::decimal>
amount_of(const std::vector<held>& times, std::string_view metric, const base::json& settings) {
  std::optional<base::decimal> sum = base::decimal(0);
  for (const held& h : times) {
    const auto value = value_of(h.amount, metric);
    if (!value) {
      return std::nullopt;
    }
    const auto part = base::decimal(*value).times(base::decimal(h.time.count()));
    sum = part ? sum->plus(*part) : std::nullopt;
    if (!sum) {
      return std::nullopt;
    }
  }
  const bool own = !settings["unit_factor_reporting"].is_null();
  const auto factor = factor_of(settings, own ? "unit_factor_reporting" : "unit_factor");
  const auto divisor = factor.times(base::decimal(ms_per_hour));
  return divisor ? sum->divided_by(*divisor, hour_digits) : std::nullopt;
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

bool is_metered_in_hours(const base::json& settings) {
  return settings["metering"].string_or("snapshot") == "hours";
}

metered kinds_of_metering(const base::json& components) {
  metered out;
  for (const auto& [component, settings] : components.members()) {
    if (metric_of(component, settings)) {
      (is_metered_in_hours(settings) ? out.hours : out.snapshot) = true;
    }
  }
  return out;
}

std::optional<base::json> hours_of(const std::vector<held>& times, const base::json& components) {
  base::json out = base::json::object();
  for (const auto& [component, settings] : components.members()) {
    const auto metric = metric_of(component, settings);
    if (!metric || !is_metered_in_hours(settings)) {
      continue;
    }
    const auto amount = amount_of(times, *metric, settings);
    if (!amount) {
      return std::nullopt;
    }
    out.set(component, amount->to_string());
  }
  return out;
}

base::json totals_of(const allocation& a, const base::json& components) {
  base::json out = base::json::object();
  for (const auto& [component, settings] : components.members()) {
    const auto metric = metric_of(component, settings);
    const auto value = metric ? value_of(a, *metric) : std::nullopt;
    if (!value || settings["metering"].string_or("snapshot") != "snapshot") {
      continue;
    }
    if (const auto amount = base::decimal(*value).divided_by(factor_of(settings, "unit_factor"))) {
      out.set(component, amount->to_string());
    }
  }
  return out;
}

} // namespace siteagent::azure
