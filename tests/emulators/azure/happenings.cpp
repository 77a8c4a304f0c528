// SPDX-License-Identifier: MIT
#include "happenings.hpp"

#include "machine.hpp"
#include "operations.hpp"

#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;
using base::json;
using base::result;

namespace {

void shut_down(world& w, resource& machine, base::wall_time now) {
  set_power(machine, power::stopped, now);
  w.touch_etag(machine);
}

void vanish(world& w, resource& r, base::wall_time now) {
  preempt(w, r.operation, now);
  if (r.path.kind == kind::virtual_machine) {
    remove_machine(w, r, now);
    return;
  }
  const std::string key = r.path.key();
  for (const auto& child : w.children(key)) {
    w.erase(child);
  }
  w.erase(key);
}

void touch(world& w, resource& r, base::wall_time now) {
  r.changed = now;
  w.touch_etag(r);
}

void fail(world& w, resource& r, base::wall_time now) {
  preempt(w, r.operation, now);
  r.state = provisioning::failed;
  r.machine.failure_code = "InternalExecutionError";
  r.machine.failure_message = "An internal execution error occurred. Please retry later.";
  touch(w, r, now);
}

void hide_power(world& w, resource& r, base::wall_time now) {
  static_cast<void>(w);
  static_cast<void>(now);
  r.machine.power_hidden = true;
}

void show_power(world& w, resource& r, base::wall_time now) {
  static_cast<void>(w);
  static_cast<void>(now);
  r.machine.power_hidden = false;
}

struct happening {
  std::string_view word;
  bool machines_only;
  void (*happen)(world& w, resource& r, base::wall_time now);
};

constexpr happening happenings[] = {
    {"guest_shutdown", true, shut_down},
    {"evict", true, evict_machine},
    {"delete", false, vanish},
    {"touch", false, touch},
    {"fail", false, fail},
    {"hide_power", true, hide_power},
    {"show_power", true, show_power},
};

error wrong(const json& item, const std::string& why) {
  return {error_code::invalid, "seed: actions: " + item.dump() + ": " + why};
}

} // namespace

result<void> seed_actions(world& w, const json& list, base::wall_time now) {
  if (!list.is_null() && !list.is_array()) {
    return wrong(list, "must be an array");
  }
  for (const auto& item : list.items()) {
    std::string id = item["id"].string_or("");
    if (id.rfind("/subscriptions/", 0) != 0 && !w.offer.subscriptions.empty()) {
      id = "/subscriptions/" + w.offer.subscriptions[0].id + id;
    }
    const happening* what = nullptr;
    for (const auto& candidate : happenings) {
      what = candidate.word == item["do"].string_or("") ? &candidate : what;
    }
    auto* r = w.find(key_of(id));
    if (what == nullptr) {
      return wrong(item, "unknown action");
    }
    if (r == nullptr || (what->machines_only && r->path.kind != kind::virtual_machine)) {
      return wrong(item, "no such resource, or not a machine");
    }
    what->happen(w, *r, now);
  }
  return {};
}

} // namespace siteagent::azure_emulator
