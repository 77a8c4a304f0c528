// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/remove_host.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/operation.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/ownership.hpp"
#include "plugins/azure/remove_members.hpp"
#include "plugins/azure/remove_object.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

constexpr std::array<kind_id, 5> order_of_removal{
    kind_id::virtual_machine,
    kind_id::disk,
    kind_id::network_interface,
    kind_id::network_security_group,
    kind_id::public_ip_address};

class remover {
public:
  explicit remover(const removal_job& job) : job_(job), targets_(job.targets) {}

  removal_outcome run() {
    for (const kind_id which : order_of_removal) {
      // The disk's id may become known only when the machine is read.
      for (std::size_t i = 0; i < targets_.size(); ++i) {
        if (targets_[i].which == which && !out_.blind) {
          remove(removal_target(targets_[i]));
        }
      }
    }
    return std::move(out_);
  }

private:
  void hold(const removal_target& t, std::string cause, bool retryable) {
    out_.held.push_back({t.which, t.id, std::move(cause), retryable});
    machine_held_ = machine_held_ || t.which == kind_id::virtual_machine;
    interface_held_ = interface_held_ || t.which == kind_id::network_interface;
  }

  // Why it is of no use to try; "" when it is.
  std::string obstacle(const removal_target& t) const {
    if (out_.stopped) {
      return "not tried: " + out_.stopped->message;
    }
    const bool behind_interface =
        t.which == kind_id::network_security_group || t.which == kind_id::public_ip_address;
    if (machine_held_ && t.which != kind_id::virtual_machine) {
      return "not tried: the machine is still there";
    }
    return behind_interface && interface_held_ ? "not tried: the interface still uses it" : "";
  }

  base::result<std::optional<json>> look(const removal_target& t) const {
    const kind& k = kind_of(t.which);
    const auto read = [&] {
      return arm::read_if_present(
          job_.cloud.arm(), job_.call, url_of(t.id, k), describe("look for", k, t.id)
      );
    };
    auto seen = read();
    if (!seen || *seen) {
      return seen;
    }
    // What is taken for gone by mistake goes on billing, and nothing knows it any more: a replica
    // that is behind is asked twice.
    if (auto slept = job_.call.wait(job_.cloud.arm().options().floor); !slept) {
      return slept.error();
    }
    return read();
  }

  void fail(const removal_target& t, base::error e, bool looked) {
    if (arm::is_stop(e) && !out_.stopped) {
      out_.stopped = e;
    }
    if (!looked && !job_.undoing && out_.released.empty() && out_.held.empty() && !out_.stopped) {
      out_.blind = std::move(e);
      return;
    }
    const auto kind_of_error = base::class_of(e.code);
    hold(
        t,
        e.message,
        kind_of_error == base::error_class::transient ||
            kind_of_error == base::error_class::outcome_unknown
    );
  }

  void release(const removal_target& t, bool was_there) {
    out_.released.push_back({t.which, t.id, was_there});
  }

  void learn_disk(const json& machine) {
    const auto disk = os_disk_of(machine);
    if (!disk) {
      return;
    }
    attached_disk_ = id_key(disk->text());
    const bool known = std::any_of(targets_.begin(), targets_.end(), [&](const auto& t) {
      return id_key(t.id.text()) == attached_disk_;
    });
    if (!known) {
      targets_.push_back({kind_id::disk, *disk});
    }
  }

  void remove(const removal_target& t) {
    if (std::string why = obstacle(t); !why.empty()) {
      hold(t, std::move(why), true); // as soon as the other is gone
      return;
    }
    auto seen = look(t);
    if (!seen) {
      fail(t, std::move(seen).error(), false);
      return;
    }
    const bool went_along = t.which == kind_id::disk && id_key(t.id.text()) == attached_disk_;
    if (!*seen) {
      release(t, went_along);
      return;
    }
    if (std::string why = job_.object(t, **seen); !why.empty() && !went_along) {
      hold(t, std::move(why), false);
      return;
    }
    if (t.which == kind_id::virtual_machine) {
      learn_disk(**seen);
    }
    if (job_.dry_run) {
      release(t, true);
      return;
    }
    auto done = remove_object(job_.cloud, job_.call, kind_of(t.which), t.id);
    if (!done) {
      fail(t, std::move(done).error(), true);
      return;
    }
    release(t, true);
  }

  const removal_job& job_;
  std::vector<removal_target> targets_;
  removal_outcome out_;
  bool machine_held_ = false;
  bool interface_held_ = false;
  std::string attached_disk_;
};

json to_json(const removal_outcome& outcome) {
  json released = json::array();
  for (const released_object& r : outcome.released) {
    json row = object_json(kind_of(r.which), r.id);
    row.set("outcome", r.was_there ? "deleted" : "already_gone");
    released.push_back(std::move(row));
  }
  json held = json::array();
  for (const held_object& h : outcome.held) {
    json row = object_json(kind_of(h.which), h.id);
    row.set("cause", h.cause);
    row.set("retryable", h.retryable);
    held.push_back(std::move(row));
  }
  return json::object({{"released", std::move(released)}, {"held", std::move(held)}});
}

// What may go: decided by the record, the machine's generation and the tags together.
class owner_check {
public:
  explicit owner_check(const deletion& d) : d_(d), who_{d.tag, d.name} {}

  std::string operator()(const removal_target& t, const json& seen) {
    return t.which == kind_id::virtual_machine ? of_machine(seen) : of_companion(t, seen);
  }

private:
  std::string of_machine(const json& seen) {
    const std::string id = seen.at({"properties", "vmId"}).string_or("");
    if (!d_.vm_id.empty()) {
      if (!base::equals_ignoring_case(id, d_.vm_id)) {
        return "another machine has this name: its id is " + id + ", the recorded one " + d_.vm_id;
      }
      recorded_machine_ = true;
      return "";
    }
    return of_tag(seen);
  }

  std::string of_companion(const removal_target& t, const json& seen) const {
    const std::string user = seen["managedBy"].string_or("");
    if (t.which == kind_id::disk && !user.empty() && holder_of(seen, who_) != holder::mine) {
      return "it is attached to " + user;
    }
    const bool recorded = d_.resources.is_object() && !d_.vm_id.empty();
    const bool untagged = holder_of(seen, who_) == holder::nobody;
    // A disk has tags only where Azure let us write them; others lose them by hands only.
    if (untagged && recorded && (recorded_machine_ || t.which == kind_id::disk)) {
      return "";
    }
    return of_tag(seen);
  }

  std::string of_tag(const json& seen) const {
    switch (holder_of(seen, who_)) {
    case holder::mine:
      return "";
    case holder::other:
      return "it belongs to another host: its tag " + d_.tag + " is " + tag_of(seen, d_.tag);
    case holder::nobody:
      break;
    }
    return "it does not carry the tag " + d_.tag + "=" + d_.name +
           "; set it, or remove the object yourself";
  }

  const deletion& d_;
  const owner who_;
  bool recorded_machine_ = false;
};

std::vector<removal_target> targets_of(const host_objects& objects) {
  std::vector<removal_target> out;
  for (const kind_id which : order_of_removal) {
    out.push_back({which, objects.of(which)});
  }
  return out;
}

// Lists by tag may be behind: what has the names of the scheme is looked at all the same.
base::result<void> add_tagged(const deletion& d, std::vector<removal_target>& targets) {
  auto all = d.cloud.resources().tagged_members(d.call, d.s.group, d.tag);
  if (!all) {
    return all.error();
  }
  for (const json& object : *all) {
    const auto id = resource_id::parse(object["id"].string_or(""));
    const kind* k = id && tag_of(object, d.tag) == d.name ? find_kind(id->type()) : nullptr;
    const bool ours =
        k != nullptr && std::find(host_kinds.begin(), host_kinds.end(), k->id) != host_kinds.end();
    const bool known = ours && std::any_of(targets.begin(), targets.end(), [&](const auto& t) {
                         return same_id(t.id.text(), id->text());
                       });
    if (ours && !known) {
      targets.push_back({k->id, *id});
    }
  }
  return {};
}

} // namespace

removal_outcome remove_in_order(const removal_job& job) {
  return remover(job).run();
}

base::result<json> delete_host(const deletion& d) {
  if (d.tag.empty() || d.name.empty()) {
    return make_error(
        reason::invalid,
        base::error_code::invalid,
        "delete a cloud host: the request names no host or no tag; nothing was changed"
    );
  }
  const auto objects = objects_of(d.s, d.name, d.resources);
  if (!objects) {
    return objects.error();
  }
  std::vector<removal_target> targets = targets_of(*objects);
  if (!d.resources.is_object()) {
    if (auto added = add_tagged(d, targets); !added) {
      return added.error();
    }
  }
  owner_check check(d);
  const removal_job job{
      d.cloud,
      d.call,
      std::move(targets),
      [&check](const removal_target& t, const json& seen) { return check(t, seen); },
      d.dry_run};
  removal_outcome outcome = remove_in_order(job);
  if (outcome.blind) {
    return std::move(*outcome.blind);
  }
  json out = to_json(outcome);
  if (outcome.stopped) {
    add_detail(*outcome.stopped, "not_removed", out["held"]);
    return std::move(*outcome.stopped);
  }
  return out;
}

} // namespace siteagent::azure::cloud_host
