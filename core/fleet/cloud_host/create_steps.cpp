// SPDX-License-Identifier: MIT
// create, steps 1 to 5: up to here nothing bills.
#include "core/base/text.hpp"
#include "core/fleet/cloud_host/admission.hpp"
#include "core/fleet/cloud_host/create_rules.hpp"
#include "core/fleet/cloud_host/creation.hpp"
#include "core/fleet/cloud_host/unfinished.hpp"

namespace siteagent::fleet::cloud_host {

base::result<void> creation::check_name() {
  auto size = check_request(at_, registry_, wanted_);
  if (!size) {
    return size.error();
  }
  wanted_.size = *size;
  report_.request = wanted_;
  return {};
}

base::result<void> creation::price_and_gate() {
  const auto price = price_of(at_, wanted_);
  if (!price) {
    return price.error();
  }
  report_.cost.price = *price;
  wanted_.size = price->size;
  report_.request.size = price->size;
  const auto now = at_.registry->read();
  if (!now) {
    return now.error();
  }
  // The first look may be half an hour old: the lock was waited for.
  if (auto still = check_free(at_, now->document, wanted_); !still) {
    return still.error();
  }
  const auto hours = projected_burn(now->document, at_.id(), price->hour);
  if (!hours) {
    return hours.error();
  }
  report_.cost.hours = *hours;
  is_priced_ = true;
  at_.talk->say(burn_line(*hours, wanted_.name, *price));
  const auto floor = credit_floor_of(*at_.settings, at_.id());
  if (!floor) {
    return floor.error();
  }
  report_.cost.floor = *floor;
  at_.talk->waiting("the credit balance");
  const auto credit = at_.cloud->credit_balance();
  if (!credit) {
    return credit.error();
  }
  balance_ = *credit;
  if (auto marked = mark(*floor, *credit); !marked) {
    return marked.error();
  }
  at_.talk->say(report_.cost.credit.line);
  return {};
}

// The gate is judged inside the edit that claims this host's hour, so that of two creates sharing
// the registry one sees the other's.
base::result<void> creation::mark(const credit_floor& floor, const credit_answer& credit) {
  const priced_size& price = report_.cost.price;
  started_at_ = base::to_rfc3339(at_.clock->wall(), true);
  bool was_counted_anew = false;
  const auto written = at_.registry->change([&](base::json& document) -> base::result<bool> {
    if (auto still = check_free(at_, document, wanted_); !still) {
      return still.error();
    }
    const auto hours = projected_burn(document, at_.id(), price.hour);
    if (!hours) {
      return hours.error();
    }
    was_counted_anew = hours->total != report_.cost.hours.total;
    report_.cost.hours = *hours;
    const auto judged = judge_credit(
        credit, floor, *hours, price, wanted_.name, wanted_.location, at_.cloud->description()
    );
    if (!judged) {
      return judged.error();
    }
    report_.cost.credit = *judged;
    is_judged_ = true;
    if (!judged->allowed) {
      return refused_by_gate();
    }
    set_creating(
        document,
        {.name = wanted_.name,
         .provider = at_.id(),
         .location = wanted_.location,
         .size = price.size,
         .hourly = price.hour,
         .started_at = started_at_,
         .by = at_.owner()}
    );
    return true;
  });
  if (was_counted_anew) {
    at_.talk->say(burn_line(report_.cost.hours, wanted_.name, price));
  }
  if (!written) {
    return after_retries(written.error());
  }
  is_marked_ = true;
  registry_ = written->document;
  return {};
}

base::error creation::refused_by_gate() const {
  return {.code = base::error_code::refused, .message = report_.cost.credit.line};
}

base::result<void> creation::measure_addresses() {
  auto measured = measure_fleet(at_, registry_);
  if (!measured) {
    return measured.error();
  }
  if (!measured->failures.empty()) {
    return unmeasured(measured->failures);
  }
  auto written = record_egress(at_, measured->records);
  if (!written) {
    return written.error();
  }
  registry_ = written->document;
  report_.egress = std::move(measured->records);
  return {};
}

base::result<void> creation::admit_addresses() {
  at_.talk->waiting("the network rules");
  const auto admitted = at_.cloud->admit_addresses(
      admission_for(at_, registry_, report_.egress, wanted_.location),
      false,
      [this](const base::json& what) { return note_progress(what); },
      at_.stop
  );
  if (!admitted) {
    return admitted.error();
  }
  for (const std::string& warning : admitted->warnings) {
    at_.talk->warn(warning);
  }
  const auto place = place_in(*admitted, wanted_.location);
  if (!place) {
    return place.error();
  }
  group_id_ = place->group_id;
  return {};
}

base::result<void> creation::mint_key() {
  if (auto written = write_journal(5); !written) {
    return written;
  }
  auto old = at_.keys->stored(wanted_.name);
  if (!old) {
    return old.error();
  }
  old_key_ = std::move(*old);
  if (old_key_) {
    at_.talk->warn(
        "credential item " + key_item_of(wanted_.name) +
        " exists and is replaced; it is put back if the host cannot be created"
    );
  }
  auto minted = at_.keys->generate(wanted_.name);
  if (!minted) {
    return minted.error();
  }
  is_key_minted_ = true;
  key_ = std::move(*minted);
  return {};
}

base::result<void> creation::write_journal(int step) {
  journal_.step = step;
  if (!is_journaled_) {
    journal_.name = wanted_.name;
    journal_.provider = at_.id();
    journal_.request = base::json::object(
        {{"location", wanted_.location},
         {"size", wanted_.size},
         {"disk_gb", wanted_.disk_gb},
         {"idle_minutes", wanted_.idle_minutes},
         {"hourly_usd", base::json::number(report_.cost.price.hour.to_string())}}
    );
    journal_.started_at = started_at_;
    journal_.owner = process_owner();
  }
  is_journaled_ = true;
  return at_.journals().write(journal_);
}

// Every object reaches the journal before its write leaves: a write that nobody saw the end of may
// have taken effect. What is told is noted before a stop is heeded.
base::result<void> creation::note_progress(const base::json& what) {
  const bool is_stopped = at_.stop.stop_requested() && !is_undoing_;
  const base::error stopped{.code = base::error_code::cancelled, .message = "stopped"};
  const std::string phase = what["phase"].string_or("");
  const std::string verb = what["verb"].string_or("");
  const host_object object{.kind = what["kind"].string_or(""), .id = what["id"].string_or("")};
  if (phase != "after") {
    at_.talk->waiting(text_of_checkpoint(what));
  }
  const bool is_begun = phase == "before" && verb == "put" && !is_stopped;
  const bool is_ended = phase == "after" && (verb == "put" || verb == "delete");
  if (is_journaled_ && !object.id.empty() && (is_begun || is_ended)) {
    if (auto noted = note_object(object, verb == "put"); !noted) {
      progress_refused_ = noted.error();
      return noted;
    }
    if (is_ended && verb == "put") {
      made_.push_back(object);
    }
  }
  return is_stopped ? base::result<void>(stopped) : base::result<void>();
}

base::result<void> creation::note_object(const host_object& object, bool is_there) {
  const std::size_t before = journal_.objects.size();
  const auto removed =
      std::erase_if(journal_.objects, [&](const host_object& o) { return o.id == object.id; });
  if (is_there) {
    journal_.objects.push_back(object);
  }
  if (is_there ? removed > 0 : before == journal_.objects.size()) {
    return {}; // as it stands in the file
  }
  auto written = at_.journals().write(journal_);
  return written || is_undoing_ ? base::result<void>() : written;
}

} // namespace siteagent::fleet::cloud_host
