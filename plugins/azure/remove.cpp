// SPDX-License-Identifier: MIT
#include "plugins/azure/remove.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/naming.hpp"
#include "plugins/azure/place.hpp"
#include "plugins/azure/remove_members.hpp"
#include "plugins/azure/remove_object.hpp"

#include <algorithm>
#include <set>

namespace siteagent::azure {

namespace {

using optional_json = std::optional<base::json>;

struct target {
  kind k;
  resource_id id;
  bool untagged_too = false; // its name or its machine says that it is ours
};

// Position in the order of deletion: the machine first, the group last; what the table does not
// know goes right behind the machine.
int rank_of(const target& t) {
  const kind* known = find_kind(t.id.type());
  return known == nullptr ? static_cast<int>(kind_id::virtual_machine) * 2 - 1
                          : static_cast<int>(known->id) * 2;
}

class remover {
public:
  explicit remover(const removal& r) : r_(r) {}

  removal_report by_tag();
  removal_report by_machine(const resource_id& machine);

  base::result<optional_json> read(const kind& k, const resource_id& id) const {
    return arm::read_if_present(
        r_.cloud.arm(), r_.call, url_of(id, k), describe("look for", k, id)
    );
  }

  void remove_targets(std::vector<target> targets);

  removal_report take_report() { return std::move(report_); }

private:
  // Nothing more can be done in this call.
  bool hopeless() const { return hopeless_; }

  void fail(base::error e);

  void keep(const resource_id& id, std::string reason) {
    report_.remaining.push_back({id.text(), std::move(reason)});
  }

  void remove_target(const target& t);
  bool drop_group(const resource_id& group);
  // True: the group was dealt with; its members need no more care.
  bool try_whole_group(const resource_id& machine, const optional_json& model, bool named_by_us);
  void add(std::vector<target>& targets, const resource_id& id, bool untagged_too) const;
  void
  add_companions(std::vector<target>& targets, const resource_id& machine, bool untagged_too) const;
  void add_tagged(std::vector<target>& targets, const belongings& found) const;
  base::result<void> add_derived(belongings& found) const;
  base::result<void>
  add_if_mine(std::vector<base::json>& list, const kind& k, const resource_id& id) const;
  base::result<void> refuse_working_machine(const belongings& found);
  void verify(const resource_id* machine);

  const removal& r_;
  removal_report report_;
  bool hopeless_ = false;
  std::set<std::string> gone_groups_;
};

void remover::fail(base::error e) {
  // After these every further call would only meet the same answer.
  hopeless_ = hopeless_ || arm::is_stop(e) || e.code == base::error_code::auth ||
              e.code == base::error_code::throttled || e.code == base::error_code::not_ready ||
              e.code == base::error_code::cancelled;
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
    keep(t.id, "would be deleted");
    return;
  }
  auto done = remove_object(r_.cloud, r_.call, t.k, t.id, !report_.failure.has_value());
  if (done) {
    report_.deleted.push_back(t.id.text());
    return;
  }
  keep(t.id, done.error().message);
  fail(std::move(done).error());
}

void remover::remove_targets(std::vector<target> targets) {
  std::stable_sort(targets.begin(), targets.end(), [](const target& a, const target& b) {
    return rank_of(a) > rank_of(b);
  });
  for (const target& t : targets) {
    remove_target(t);
  }
}

bool remover::drop_group(const resource_id& group) {
  if (r_.dry_run) {
    keep(group, "would be deleted with everything in it");
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
    if (!goes_with_machine(m, machine, model, r_.who)) {
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
  if (!known) {
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
  for (const resource_id& id : found.machines()) {
    auto model = r_.cloud.compute().machine(r_.call, id);
    if (!model) {
      return std::move(model).error();
    }
    const base::json state =
        *model ? (**model).at({"properties", "provisioningState"}) : base::json("absent");
    if (base::equals_ignoring_case(state.string_or("Succeeded"), "Succeeded")) {
      return make_error(
          reason::invalid,
          base::error_code::conflict,
          "clean up " + id.text() + ": this machine works; adopt it instead of deleting it"
      );
    }
  }
  return {};
}

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

} // namespace

removal_report remove_by_tag(const removal& r) {
  return remover(r).by_tag();
}

removal_report remove_machine(const removal& r, const resource_id& machine) {
  return remover(r).by_machine(machine);
}

removal_report remove_listed(const removal& r, const resource_id& id, const base::json& tags) {
  remover work(r);
  removal_report report;
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
  work.remove_targets({{k, id, true}});
  return work.take_report();
}

} // namespace siteagent::azure
