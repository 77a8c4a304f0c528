// SPDX-License-Identifier: MIT
// Small pieces between the parts' values and what the host is told. Pure.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "plugins/azure/allocation_time.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/metering.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/remove.hpp"

#include <sagent/cpp/plugin.hpp>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace siteagent::azure {

// Leaves a method with this error; the SDK's barrier turns it into code and texts.
[[noreturn]] void raise(base::error e);

// The request's body; {} when it has none, SAGENT_E_INVALID when it is no object.
base::json body_or_throw(const sagent::request& request);

base::json to_json(const removal_report& report);
// The report's failure, naming what is left in message and detail.not_removed.
base::error failure_of(const removal_report& report);

// The body's period in its time zone; without one, the month `now` lies in.
struct billing_period {
  bool is_current = true; // `now` lies in it
  time_window window;
};

billing_period period_of(const base::json& body, base::wall_time now);

// GiB by id_key, out of a list of disks.
void note_disk(std::map<std::string, std::int64_t>& sizes, const base::json& disk);

// The kind's name of the table, else the ARM type.
std::string kind_word(const base::json& object);

// The tag that most likely names few objects: the one with the longest value.
const base::json::member& narrowest_tag(const base::json& tags);

base::json nothing_done(const base::json& body);

} // namespace siteagent::azure
