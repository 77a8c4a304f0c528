// SPDX-License-Identifier: MIT
#include "plugins/azure/remove.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/own_network.hpp"
#include "plugins/azure/remove_members.hpp"
#include "plugins/azure/remove_object.hpp"
#include "plugins/azure/remover.hpp"

#include <algorithm>

namespace siteagent::azure {

void remover::verify(const resource_id* machine) {
  if (r_.dry_run || hopeless()) {
    return;
  }
  const auto reported = [&](const std::string& id) {
    return std::any_of(report_.remaining.begin(), report_.remaining.end(), [&](const left_over& l) {
      return same_id(l.id, id);
    });
  };
  std::vector<target> left;
  if (machine != nullptr) {
    left.push_back({kind_of(kind_id::virtual_machine), *machine, true});
  }
  if (!r_.who.tag.empty()) {
    auto found = find_belongings(r_.cloud, r_.call, r_.who);
    if (!found) {
      fail(std::move(found).error());
      return;
    }
    add_tagged(left, *found);
    for (const base::json& g : found->groups) {
      left.push_back(
          {kind_of(kind_id::resource_group),
           resource_id::of_group(r_.s.subscription_id, g["name"].string_or("")),
           false}
      );
    }
  }
  for (const target& t : left) {
    // Lists lag; the object itself decides.
    auto seen = read(t.k, t.id);
    if (!seen) {
      fail(std::move(seen).error());
      return;
    }
    if (*seen && !reported(t.id.text())) {
      keep(t.id, "still there after its deletion");
      fail(make_error(
          reason::busy,
          base::error_code::transient,
          describe("delete", t.k, t.id) + ": it is still there"
      ));
    }
  }
}

removal_report remover::by_tag() {
  auto found = find_belongings(r_.cloud, r_.call, r_.who);
  if (!found) {
    fail(std::move(found).error());
    return take_report();
  }
  if (auto derived = add_derived(*found); !derived) {
    fail(std::move(derived).error());
    return take_report();
  }
  if (r_.keep_working_machine) {
    if (auto allowed = refuse_working_machine(*found); !allowed) {
      fail(std::move(allowed).error());
      return take_report();
    }
  }
  const auto where = place_of(*found, r_.s);
  for (const base::json& g : found->groups) {
    const std::string name = g["name"].string_or("");
    const auto machine_name = machine_of_group(name);
    const resource_id group = resource_id::of_group(r_.s.subscription_id, name);
    const resource_id machine = group.in_same_group(
        kind_of(kind_id::virtual_machine).type,
        where && base::equals_ignoring_case(where->machine.group, name) ? where->machine.name()
                                                                        : machine_name.value_or("-")
    );
    try_whole_group(machine, std::nullopt, false);
  }
  std::vector<target> targets;
  add_tagged(targets, *found);
  for (const target& t : std::vector<target>(targets)) {
    if (const auto machine = machine_of_companion(t.id)) {
      const resource_id vm = t.id.in_same_group(kind_of(kind_id::virtual_machine).type, *machine);
      add(targets, companion(vm, kind_id::disk), true);
    }
  }
  remove_targets(std::move(targets));
  verify(nullptr);
  return take_report();
}

removal_report remover::by_machine(const resource_id& machine) {
  auto model = r_.cloud.compute().machine(r_.call, machine);
  if (!model) {
    fail(std::move(model).error());
    return take_report();
  }
  const holder h = *model ? holder_of(**model, r_.who) : holder::nobody;
  if (h == holder::other) {
    keep(machine, "belongs to another resource");
    fail(make_error(
        reason::invalid,
        base::error_code::conflict,
        describe("delete", kind_of(kind_id::virtual_machine), machine) +
            ": it carries another resource's tag; nothing was deleted"
    ));
    return take_report();
  }
  // Machines of earlier products have no tags at all; then names decide, inside the machine's
  // group.
  const bool by_name = h == holder::nobody;
  if (!try_whole_group(machine, *model, by_name) && !hopeless()) {
    std::vector<target> targets;
    add_companions(targets, machine, by_name);
    if (const auto disk = *model ? os_disk_of(**model) : std::nullopt) {
      add(targets, *disk, true);
    }
    if (!r_.who.tag.empty()) {
      auto found = find_belongings(r_.cloud, r_.call, r_.who);
      if (!found) {
        fail(std::move(found).error());
        return take_report();
      }
      add_tagged(targets, *found);
    }
    remove_targets(std::move(targets));
  }
  verify(&machine);
  // Absent without having been deleted by us wants a second look: one answer proves little.
  if (report_.deleted.empty() && !report_.failure && !r_.dry_run) {
    if (auto slept = r_.call.wait(r_.cloud.arm().options().floor); !slept) {
      fail(std::move(slept).error());
    } else {
      verify(&machine);
    }
  }
  return take_report();
}

removal_report remove_by_tag(const removal& r) {
  return remover(r).by_tag();
}

removal_report remove_machine(const removal& r, const resource_id& machine) {
  return remover(r).by_machine(machine);
}

removal_report remove_listed(const removal& r, const resource_id& id, const base::json& tags) {
  remover work(r);
  removal_report report;
  if (is_own_network(r.s, id)) {
    report.remaining.push_back({id.text(), "is the network of subnet_id"});
    return report;
  }
  const kind k = kind_for(id);
  auto seen = work.read(k, id);
  if (!seen) {
    report.failure = std::move(seen).error();
    return report;
  }
  if (!*seen) {
    return report;
  }
  const bool ours = tags.size() > 0 && carries(**seen, tags) &&
                    (r.who.value.empty() || holder_of(**seen, r.who) == holder::mine);
  if (!ours) {
    report.remaining.push_back({id.text(), "belongs to somebody else"});
    report.failure = make_error(
        reason::invalid,
        base::error_code::conflict,
        describe("delete", k, id) + ": it does not carry the tags of this offering"
    );
    return report;
  }
  if (id.is_group()) {
    const auto members = r.cloud.resources().members(r.call, id.group);
    if (!members || !members->empty()) {
      report.failure =
          members ? make_error(
                        reason::in_use,
                        base::error_code::conflict,
                        describe("delete", k, id) + ": it is not empty; delete what is in it first"
                    )
                  : members.error();
      report.remaining.push_back({id.text(), report.failure->message});
      return report;
    }
  }
  work.remove_targets({{k, id, true}});
  return work.take_report();
}

} // namespace siteagent::azure
