// SPDX-License-Identifier: MIT
// create, steps 6 to 9: from here on something bills.
#include "core/base/text.hpp"
#include "core/fleet/cloud_host/admission.hpp"
#include "core/fleet/cloud_host/create_rules.hpp"
#include "core/fleet/cloud_host/creation.hpp"

namespace siteagent::fleet::cloud_host {

base::result<void> creation::make_resources() {
  if (auto allowed = gate_again(); !allowed) {
    return allowed;
  }
  create_host_request r = host_request(at_, wanted_, report_.egress, group_id_, started_at_);
  r.public_key = key_.public_key;
  r.user_data = render_user_data(at_.bound.login, key_.public_key);
  if (auto written = write_journal(6); !written) {
    return written;
  }
  at_.talk->waiting("the cloud's objects");
  is_making_begun_ = true;
  auto made = at_.cloud->create_host(
      r, [this](const base::json& what) { return note_progress(what); }, at_.stop
  );
  if (!made) {
    return made.error();
  }
  is_made_ = true;
  report_.made = std::move(*made);
  if (report_.made.created_at.empty()) {
    report_.made.created_at = at_.now();
  }
  // The machine is made last: it needs all the others.
  report_.resource_id = made_.empty() ? std::string() : made_.back().id;
  journal_.created = base::json::object(
      {{"address", report_.made.address},
       {"ssh_port", report_.made.ssh_port},
       {"vm_id", report_.made.vm_id},
       {"created_at", report_.made.created_at},
       {"resources", report_.made.resources}}
  );
  return write_journal(6);
}

// Another machine's host may have been declared since step 2.
base::result<void> creation::gate_again() {
  auto now = at_.registry->read();
  if (!now) {
    return now.error();
  }
  registry_ = std::move(now->document);
  const auto hours = projected_burn(registry_, at_.id(), report_.cost.price.hour, wanted_.name);
  if (!hours) {
    return hours.error();
  }
  const auto judged = judge_credit(
      *balance_,
      report_.cost.floor,
      *hours,
      report_.cost.price,
      wanted_.name,
      wanted_.location,
      at_.cloud->description()
  );
  if (!judged) {
    return judged.error();
  }
  report_.cost.hours = *hours;
  report_.cost.credit = *judged;
  if (!judged->allowed) {
    return refused_by_gate();
  }
  return {};
}

base::result<void> creation::enroll_host() {
  if (auto written = write_journal(7); !written) {
    return written;
  }
  const destination where{
      .user = at_.bound.login, .host = report_.made.address, .port = report_.made.ssh_port};
  auto now = at_.registry->read();
  if (!now) {
    return now.error();
  }
  registry_ = std::move(now->document);
  const std::vector<std::string> identities{computer_name_of(wanted_.name), where.host};
  if (auto free = check_enrollable(registry_, wanted_.name, identities); !free) {
    return free.error();
  }
  // A pin of an earlier host of this name would refuse the new one.
  if (auto forgotten = at_.hosts->forget_host_key(wanted_.name); !forgotten) {
    return forgotten.error();
  }
  probe_patience patience;
  patience.longest = at_.limits.ssh_up;
  patience.every = at_.limits.probe;
  patience.waiting = [&](const std::string& cause) {
    at_.talk->waiting("ssh to " + where.text() + " (" + cause + ")");
  };
  at_.talk->waiting("ssh to " + where.text());
  auto probed = probe_host_patiently(
      *at_.hosts, host_at(wanted_.name, where), patience, *at_.clock, at_.stop
  );
  if (!probed) {
    return with_context(
        std::move(probed).error(), "cloud host " + wanted_.name + " could not be enrolled"
    );
  }
  report_.probed = std::move(*probed);
  return {};
}

// Entry and `cloud` in one edit: no moment at which a host is registered and nothing returns it.
base::result<void> creation::record_host() {
  if (auto written = write_journal(8); !written) {
    return written;
  }
  const destination where{
      .user = at_.bound.login, .host = report_.made.address, .port = report_.made.ssh_port};
  const auto pinned = at_.hosts->pinned_host_key(host_at(wanted_.name, where));
  if (!pinned) {
    return pinned.error();
  }
  base::json entry =
      entry_for(wanted_.name, where, report_.probed, "rented by stado cloud host create");
  entry.set(
      "cloud",
      to_json(cloud_declaration{
          .provider = at_.id(),
          .location = wanted_.location,
          .size = wanted_.size,
          .disk_gb = wanted_.disk_gb,
          .hourly = report_.cost.price.hour,
          .priced_where = report_.cost.price.where,
          .idle_minutes = wanted_.idle_minutes,
          .address = report_.made.address,
          .vm_id = report_.made.vm_id,
          .created_at = report_.made.created_at,
          .resources = report_.made.resources,
          .host_key = *pinned})
  );
  is_recording_begun_ = true;
  const auto written = at_.registry->change([&](base::json& document) -> base::result<bool> {
    if (auto free =
            check_enrollable(document, wanted_.name, {computer_name_of(wanted_.name), where.host});
        !free) {
      return free.error();
    }
    document.member_ref("targets").push_back(entry);
    clear_creating(document, wanted_.name);
    return true;
  });
  if (!written) {
    return with_context(
        after_retries(written.error()), "cloud host " + wanted_.name + " could not be recorded"
    );
  }
  registry_ = written->document;
  report_.generation = written->generation;
  is_marked_ = false;
  if (auto removed = at_.journals().remove(wanted_.name); !removed) {
    at_.talk->warn(removed.error().message);
  }
  is_journaled_ = false;
  return {};
}

base::result<void> creation::check_first_boot() {
  const auto host = find_target(registry_, wanted_.name);
  if (!host) {
    return base::error{
        .code = base::error_code::refused,
        .message = "target " + wanted_.name + " left the registry meanwhile"};
  }
  boot_patience patience;
  patience.longest = at_.limits.boot;
  patience.every = at_.limits.probe;
  patience.waiting = [&](const std::string& what) { at_.talk->waiting(what); };
  at_.talk->waiting("cloud-init on " + wanted_.name);
  auto boot = check_boot(*at_.hosts, *host, patience, *at_.clock, at_.stop);
  if (!boot) {
    return boot.error();
  }
  report_.boot = std::move(*boot);
  return {};
}

} // namespace siteagent::fleet::cloud_host
