// SPDX-License-Identifier: MIT
#include "plugins/azure/remover.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/own_network.hpp"
#include "plugins/azure/remove_members.hpp"
#include "plugins/azure/remove_object.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

constexpr std::chrono::hours pause_of_lock{1};

// Position in the order of deletion: the machine first, the group last; what the table does not
// know goes right behind the machine.
} // namespace

void remover::fail(base::error e) {
  // After these every further call would only meet the same answer.
  hopeless_ = hopeless_ || arm::is_stop(e) || e.code == base::error_code::auth ||
              e.code == base::error_code::throttled || e.code == base::error_code::not_ready ||
              e.code == base::error_code::cancelled;
  if (e.code == base::error_code::not_found) {
    // A list that is "not found" shows nothing. As the outcome of a deletion it would say: all
    // gone.
    e.code = base::error_code::transient;
  }
  if (reason_of(e) == reason::locked) {
    // Only a person removes a lock. Until then the order waits, and asks rarely.
    e.code = base::error_code::transient;
    e.retry_after = pause_of_lock;
  }
  if (!report_.failure) {
    report_.failure = std::move(e);
  }
}

void remover::remove_target(const target& t) {
  if (gone_groups_.count(base::to_lower(t.id.group)) != 0) {
    return;
  }
  if (hopeless()) {
    keep(t.id, "not tried: " + report_.failure->message);
    return;
  }
  // What has no tags belongs to its parent.
  const kind_id shown = t.k.taggable ? t.k.id : kind_id::virtual_network;
  resource_id bearer = t.id;
  bearer.parts.resize(t.k.taggable ? bearer.parts.size() : 1);
  auto seen = read(t.k.taggable ? t.k : kind_of(shown), bearer);
  if (seen && !*seen && t.k.id == kind_id::virtual_machine) {
    // Everything else waits for minutes while a machine still holds on to it: look twice.
    if (auto slept = r_.call.wait(r_.cloud.arm().options().floor); !slept) {
      fail(std::move(slept).error());
      return;
    }
    seen = read(t.k, bearer);
  }
  if (!seen) {
    keep(t.id, seen.error().message);
    fail(std::move(seen).error());
    return;
  }
  if (!*seen) {
    return;
  }
  const holder h = holder_of(**seen, r_.who);
  if (h == holder::other || (h == holder::nobody && !t.untagged_too)) {
    keep(t.id, "belongs to somebody else");
    return;
  }
  if (r_.dry_run) {
    report_.deleted.push_back(t.id.text());
    return;
  }
  auto done = remove_object(r_.cloud, r_.call, t.k, t.id, !report_.failure.has_value());
  if (done) {
    report_.deleted.push_back(t.id.text());
    return;
  }
  keep(t.id, done.error().message);
  fail(std::move(done).error());
  // Whatever the machine still holds on to cannot go before it.
  hopeless_ = hopeless_ || t.k.id == kind_id::virtual_machine;
}

void remover::remove_targets(std::vector<target> targets) {
  std::stable_sort(targets.begin(), targets.end(), [](const target& a, const target& b) {
    return deletion_rank(a.id) > deletion_rank(b.id);
  });
  for (const target& t : targets) {
    remove_target(t);
  }
}

bool remover::drop_group(const resource_id& group) {
  if (r_.dry_run) {
    report_.deleted.push_back(group.text());
    gone_groups_.insert(base::to_lower(group.group));
    return true;
  }
  auto done = remove_object(r_.cloud, r_.call, kind_of(kind_id::resource_group), group);
  if (done) {
    report_.deleted.push_back(group.text());
    gone_groups_.insert(base::to_lower(group.group));
    return true;
  }
  const reason why = reason_of(done.error());
  if (why == reason::in_use || why == reason::permission) {
    r_.cloud.warn("deleting one by one: " + done.error().message);
    return false;
  }
  keep(group, done.error().message);
  fail(std::move(done).error());
  return true;
}

bool remover::try_whole_group(
    const resource_id& machine, const optional_json& model, bool named_by_us
) {
  const resource_id group = companion(machine, kind_id::resource_group);
  auto seen = r_.cloud.resources().group(r_.call, machine.group);
  if (!seen) {
    fail(std::move(seen).error());
    return true;
  }
  if (!*seen) {
    gone_groups_.insert(base::to_lower(machine.group));
    return true;
  }
  const holder h = holder_of(**seen, r_.who);
  const auto pattern = as_dedicated_group(machine.group, machine.name());
  // Earlier products left no tags, and wrote four digits.
  const bool legacy = h == holder::nobody && named_by_us && pattern && pattern->digits == 4;
  if (h != holder::mine && !legacy) {
    return false;
  }
  auto members = r_.cloud.resources().members(r_.call, machine.group);
  if (!members) {
    if (members.error().code == base::error_code::not_found) {
      gone_groups_.insert(base::to_lower(machine.group));
    } else {
      fail(std::move(members).error());
    }
    return true;
  }
  std::string stranger;
  for (const base::json& m : *members) {
    const auto id = resource_id::parse(m["id"].string_or(""));
    const bool kept = id && is_own_network(r_.s, *id);
    if (kept || !goes_with_machine(m, machine, model, r_.who)) {
      stranger = m["id"].string_or("an object without id");
      keep(resource_id::parse(stranger).value_or(group), "belongs to somebody else");
    }
  }
  if (!stranger.empty()) {
    keep(group, "holds objects of somebody else");
    return false;
  }
  return drop_group(group);
}

void remover::add(std::vector<target>& targets, const resource_id& id, bool untagged_too) const {
  const bool known = std::any_of(targets.begin(), targets.end(), [&](const target& t) {
    return same_id(t.id.text(), id.text());
  });
  // Whatever its name or its tags say: machines come and go in it.
  if (!known && !is_own_network(r_.s, id)) {
    targets.push_back({kind_for(id), id, untagged_too});
  }
}

void remover::add_companions(
    std::vector<target>& targets, const resource_id& machine, bool untagged_too
) const {
  for (const kind& k : all_kinds()) {
    if (k.id != kind_id::resource_group) {
      // A disk gets no tag from us: it comes with its machine, under a name of ours.
      add(targets, companion(machine, k.id), untagged_too || k.id == kind_id::disk);
    }
  }
}

void remover::add_tagged(std::vector<target>& targets, const belongings& found) const {
  for (const base::json& o : found.objects) {
    const auto id = resource_id::parse(o["id"].string_or(""));
    if (!id) {
      continue;
    }
    add(targets, *id, false);
    if (find_kind(id->type()) != nullptr && find_kind(id->type())->id == kind_id::virtual_network) {
      if (const auto machine = machine_of_companion(*id)) {
        add(targets,
            id->child("subnets", std::string(kind_of(kind_id::subnet).prefix) + *machine),
            false);
      }
    }
  }
}

base::result<void>
remover::add_if_mine(std::vector<base::json>& list, const kind& k, const resource_id& id) const {
  const bool known = std::any_of(list.begin(), list.end(), [&](const base::json& o) {
    return same_id(o["id"].string_or(""), id.text());
  });
  if (known) {
    return {};
  }
  auto seen = read(k, id);
  if (!seen) {
    return std::move(seen).error();
  }
  if (*seen && holder_of(**seen, r_.who) == holder::mine) {
    list.push_back(std::move(**seen));
  }
  return {};
}

// Azure's lists by tag are seconds behind its objects: what an order of this name would have made
// is looked at directly.
base::result<void> remover::add_derived(belongings& found) const {
  std::vector<resource_id> machines;
  if (const auto where = place_of(found, r_.s)) {
    machines.push_back(where->machine);
  } else if (!r_.resource_name.empty()) {
    machines = places_by_name(r_.s, r_.who, r_.resource_name);
  }
  for (const resource_id& machine : machines) {
    const bool dedicated = as_dedicated_group(machine.group, machine.name()).has_value();
    if (dedicated) {
      auto added = add_if_mine(
          found.groups,
          kind_of(kind_id::resource_group),
          companion(machine, kind_id::resource_group)
      );
      if (!added) {
        return added;
      }
      continue;
    }
    for (const kind& k : all_kinds()) {
      if (!k.taggable || k.id == kind_id::resource_group) {
        continue;
      }
      if (auto added = add_if_mine(found.objects, k, companion(machine, k.id)); !added) {
        return added;
      }
    }
  }
  return {};
}

base::result<void> remover::refuse_working_machine(const belongings& found) {
  std::vector<resource_id> machines = found.machines();
  if (const auto where = machines.empty() ? place_of(found, r_.s) : std::nullopt) {
    machines.push_back(where->machine); // lists lag: it may stand amidst what they show
  }
  for (const resource_id& id : machines) {
    auto model = r_.cloud.compute().machine(r_.call, id);
    if (!model) {
      return std::move(model).error();
    }
    const base::json state =
        *model ? (**model).at({"properties", "provisioningState"}) : base::json("absent");
    const bool ours = *model && holder_of(**model, r_.who) != holder::other;
    if (ours && base::equals_ignoring_case(state.string_or("Succeeded"), "Succeeded")) {
      return make_error(
          reason::invalid,
          base::error_code::conflict,
          "clean up " + id.text() + ": this machine works; adopt it instead of deleting it"
      );
    }
  }
  return {};
}

} // namespace siteagent::azure
