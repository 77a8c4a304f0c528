// SPDX-License-Identifier: MIT
// create: taking back what a failed or interrupted one made, and saying what is left.
#include "core/base/text.hpp"
#include "core/fleet/cloud_host/creation.hpp"
#include "core/fleet/cloud_host/unfinished.hpp"

#include <array>

namespace siteagent::fleet::cloud_host {

namespace {

constexpr std::array<std::string_view, 10> step_names{
    "preconditions",
    "name",
    "price and credit",
    "fleet addresses",
    "admission",
    "key",
    "resources",
    "enrolling",
    "recording",
    "first boot"};

// After these the plugin may not have had the last word on its own objects.
bool is_undo_ours(const base::error& e) {
  switch (e.code) {
  case base::error_code::cancelled:
  case base::error_code::deadline:
  case base::error_code::outcome_unknown:
  case base::error_code::plugin_bug:
  case base::error_code::plugin_lost:
    return true;
  default:
    return false;
  }
}

std::vector<held_object> not_removed_of(const base::error& e) {
  std::vector<held_object> out;
  const base::json detail = detail_of(e);
  for (const base::json& o : detail["not_removed"].items()) {
    out.push_back(
        {.kind = o["kind"].string_or(""),
         .id = o["id"].string_or(""),
         .cause = o["cause"].string_or("")}
    );
  }
  return out;
}

} // namespace

std::string_view step_name(int step) {
  return step_names.at(static_cast<std::size_t>(step));
}

base::error creation::failed(int step, base::error cause) {
  constexpr int last = 9;
  const bool is_interrupted =
      cause.code == base::error_code::cancelled && at_.stop.stop_requested();
  std::vector<held_object> left;
  if (step < last) {
    left = undo(step, cause);
  }
  if (progress_refused_ && !is_interrupted) {
    cause.message =
        std::move(progress_refused_->message); // the plugin only knows that it was told to stop
  }
  base::error e = is_interrupted ? interrupted(step, std::move(cause)) : std::move(cause);
  if (step == last) {
    // The log is on the host, and a reaper returns it: a later try of the same command would not.
    if (!is_interrupted) {
      e.code = base::error_code::refused;
    }
    e.message += "; the host stays registered, and stado cloud host delete " + wanted_.name +
                 " --provider " + at_.id() + " returns it";
  }
  if (!left.empty()) {
    e.message += "; not removed, and billing until it is: " + text_of(left) +
                 "; stado cloud host delete " + wanted_.name + " --provider " + at_.id() +
                 " tries again";
  }
  e = with_detail(std::move(e), "step", step);
  if (step == 2 && is_priced_) {
    e = with_detail(std::move(e), "projected", projected_json(report_.cost.hours));
  }
  if ((step == 2 || step == 6) && is_judged_ && !report_.cost.credit.allowed) {
    e = with_detail(std::move(e), "credit", credit_json(report_.cost.credit, report_.cost.floor));
  }
  if (is_making_begun_ && step < last) {
    if (detail_of(e).find("created") == nullptr) {
      e = with_detail(std::move(e), "created", to_json(made_));
    }
    e = with_detail(std::move(e), "not_removed", to_json(left));
  }
  return e;
}

base::error creation::interrupted(int step, base::error cause) const {
  base::error e{
      .code = base::error_code::cancelled,
      .message = "interrupted in step " + std::to_string(step) + " (" +
                 std::string(step_name(step)) + ") of creating " + wanted_.name};
  e.detail = std::move(cause.detail);
  return e;
}

// Strictly backwards; one that fails does not keep the others.
std::vector<held_object> creation::undo(int step, const base::error& cause) {
  is_undoing_ = true;
  at_.cloud->listen_to(at_.give_up); // the signal that ended the create must not end its undoing
  if (step > 1 && (is_making_begun_ || is_key_minted_)) {
    at_.talk->step("undoing what was made");
  }
  std::vector<held_object> left;
  if (is_making_begun_) {
    left = undo_resources(cause);
  }
  if (is_recording_begun_) {
    undo_entry();
  }
  undo_key();
  if (left.empty()) {
    forget_marks();
  }
  return left;
}

std::vector<held_object> creation::undo_resources(const base::error& cause) {
  if (!is_made_ && !progress_refused_ && !is_undo_ours(cause)) {
    return not_removed_of(cause); // the plugin undid its own
  }
  if (at_.give_up.stop_requested()) {
    return still_there("not tried: interrupted twice");
  }
  unfinished own;
  own.name = wanted_.name;
  own.provider = at_.id();
  own.location = wanted_.location;
  own.started_at = started_at_;
  own.journal = journal_;
  const auto removed = release_unfinished(
      at_, own, [this](const base::json& what) { return note_progress(what); }, at_.give_up
  );
  if (!removed) {
    return still_there(removed.error().message);
  }
  return removed->held;
}

// What the journal still names; when it names nothing, whatever may carry the host's tag.
std::vector<held_object> creation::still_there(std::string_view cause) const {
  std::vector<held_object> out;
  for (const host_object& o : journal_.objects) {
    out.push_back({.kind = o.kind, .id = o.id, .cause = std::string(cause)});
  }
  if (out.empty()) {
    out.push_back(
        {.kind = "object",
         .id = std::string(host_tag) + "=" + wanted_.name,
         .cause = std::string(cause)}
    );
  }
  return out;
}

void creation::undo_entry() {
  const auto written = at_.registry->change([&](base::json& document) -> base::result<bool> {
    const auto t = find_target(document, wanted_.name);
    return t && t->cloud && t->cloud->vm_id == report_.made.vm_id &&
           remove_target(document, wanted_.name);
  });
  if (!written) {
    at_.talk->warn(
        "the entry of " + wanted_.name +
        " may have been written and could not be taken back: " + written.error().message
    );
  }
}

void creation::undo_key() {
  if (!is_key_minted_) {
    return;
  }
  if (auto restored = at_.keys->restore(wanted_.name, old_key_); !restored) {
    at_.talk->warn(
        "credential item " + key_item_of(wanted_.name) +
        " could not be taken back (stado fleet key rm " + wanted_.name +
        " removes it): " + restored.error().message
    );
  }
  if (auto forgotten = at_.hosts->forget_host_key(wanted_.name); !forgotten) {
    at_.talk->warn(forgotten.error().message);
  }
}

void creation::forget_marks() {
  if (is_journaled_) {
    if (auto removed = at_.journals().remove(wanted_.name); !removed) {
      at_.talk->warn(removed.error().message);
    }
  }
  if (!is_marked_) {
    return;
  }
  const auto written = at_.registry->change([&](base::json& document) -> base::result<bool> {
    clear_creating(document, wanted_.name);
    return true;
  });
  if (!written) {
    at_.talk->warn(
        "cloud_hosts_creating." + wanted_.name + " still counts its hour (" +
        written.error().message + "); stado cloud host delete " + wanted_.name + " --provider " +
        at_.id() + " clears it"
    );
  }
}

} // namespace siteagent::fleet::cloud_host
