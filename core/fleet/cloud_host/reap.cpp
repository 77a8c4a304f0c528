// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/reap.hpp"

#include "core/base/text.hpp"
#include "core/fleet/cloud_host/admission.hpp"
#include "core/fleet/cloud_host/readings.hpp"
#include "core/fleet/cloud_host/remove.hpp"
#include "core/fleet/cloud_host/unfinished.hpp"
#include "core/fleet/money.hpp"

#include <algorithm>
#include <atomic>
#include <thread>

namespace siteagent::fleet::cloud_host {

namespace {

constexpr std::size_t most_at_once = 8;
// A coordinator ticks every few seconds; the record need not move as often.
constexpr std::chrono::minutes record_every{5};

std::vector<base::result<host_reading>>
read_all(const context& c, const std::vector<target>& hosts) {
  std::vector<base::result<host_reading>> out(
      hosts.size(), base::error{.code = base::error_code::cancelled, .message = "not read"}
  );
  std::atomic<std::size_t> next{0};
  channel_options options;
  options.cap = c.limits.channel_read;
  options.stop = c.stop;
  const auto work = [&] {
    for (std::size_t i = next++; i < hosts.size() && !c.stop.stop_requested(); i = next++) {
      out[i] = read_host(*c.hosts, hosts[i], options);
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min(most_at_once, hosts.size()); ++i) {
    helpers.emplace_back(work);
  }
  work();
  helpers.clear();
  return out;
}

class pass {
public:
  pass(const context& c, bool apply) : at_(c), seen_(c.where) {
    report_.provider = c.id();
    report_.applied = apply;
  }

  base::result<reap_report> run(bool wait);

private:
  void readmit();
  void judge_all();
  reaped_host row_of(const target& t, const base::result<host_reading>& reading);
  void explain_unread(reaped_host& row, const target& t) const;
  void add_cost(reaped_host& row, const target& t, std::optional<base::wall_time> since) const;
  void add_creating(const std::vector<unfinished>& begun);
  void apply();
  void take_back(reaped_host& row, const target& t);
  void record_pass() const;

  const context& at_;
  readings seen_;
  reap_report report_;
  base::json registry_;
  std::vector<target> hosts_;
  std::vector<unfinished> begun_;
};

base::result<reap_report> pass::run(bool wait) {
  at_.talk->step("reading the registry");
  auto first = at_.registry->read();
  if (!first) {
    return first.error();
  }
  registry_ = std::move(first->document);
  report_.read_at = at_.now();
  hosts_ = cloud_hosts_of(registry_, at_.id());
  report_.is_any_declared = !hosts_.empty();
  warn_of_leftovers(at_, registry_);
  if (auto begun = unfinished_creates(at_, registry_)) {
    begun_ = std::move(*begun);
  }
  if (hosts_.empty()) {
    report_.egress = egress_of(registry_);
    add_creating(begun_);
    record_pass();
    return std::move(report_);
  }
  if (auto admit_from = admit_from_of(registry_); !admit_from) {
    return admit_from.error();
  }
  auto lock = take_lock(at_, "a reap pass", wait);
  if (!lock) {
    return lock.error();
  }
  // A create or delete may have ended while the lock was waited for.
  auto now = at_.registry->read();
  if (!now) {
    return now.error();
  }
  registry_ = std::move(now->document);
  hosts_ = cloud_hosts_of(registry_, at_.id());
  readmit();
  judge_all();
  if (report_.applied) {
    apply();
  }
  add_creating(begun_);
  record_pass();
  report_.was_cut_short = at_.stop.stop_requested();
  return std::move(report_);
}

// A fleet host that cannot be asked must not keep idle cloud hosts billing: the pass goes on with
// what is recorded of it.
void pass::readmit() {
  at_.talk->step("measuring the fleet's addresses");
  report_.egress = egress_of(registry_);
  auto measured = measure_fleet(at_, registry_);
  if (!measured) {
    report_.admission_error = std::move(measured).error();
    return;
  }
  report_.egress_errors = std::move(measured->failures);
  const auto admit_from = admit_from_of(registry_);
  if (!admit_from) {
    report_.admission_error = admit_from.error();
    return;
  }
  const auto records = merged_records(registry_, *admit_from, measured->records);
  if (records.empty()) {
    return; // nothing is known; locking everybody out would help nobody
  }
  report_.egress = records;
  if (auto written = record_egress(at_, records)) {
    registry_ = std::move(written->document);
  } else {
    report_.admission_error = std::move(written).error();
  }
  at_.talk->step("admitting the fleet's addresses");
  const auto admitted = at_.cloud->admit_addresses(
      admission_for(at_, registry_, records),
      false,
      [](const base::json&) { return base::result<void>(); },
      at_.stop
  );
  if (!admitted) {
    report_.admission_error = admitted.error();
    return;
  }
  for (const std::string& warning : admitted->warnings) {
    at_.talk->warn(warning);
  }
}

void pass::judge_all() {
  at_.talk->step("reading the hosts");
  const auto answers = read_all(at_, hosts_);
  std::vector<std::string> machines;
  for (std::size_t i = 0; i < hosts_.size(); ++i) {
    const target& t = hosts_[i];
    machines.push_back(t.cloud->vm_id);
    reaped_host row = row_of(t, answers[i]);
    if (row.state == "unread") {
      const auto created = base::parse_rfc3339(t.cloud->created_at);
      const auto last = seen_.last_of(t.cloud->vm_id);
      add_cost(row, t, last ? last : created);
    } else {
      seen_.note(t.cloud->vm_id, at_.clock->wall());
    }
    report_.hosts.push_back(std::move(row));
  }
  seen_.save(machines);
}

reaped_host pass::row_of(const target& t, const base::result<host_reading>& reading) {
  reaped_host row;
  row.name = t.name;
  row.idle_minutes = t.cloud->idle_minutes;
  const bool is_begun = std::any_of(begun_.begin(), begun_.end(), [&](const unfinished& u) {
    return u.name == t.name && u.state != unfinished::life::dead;
  });
  if (is_begun) {
    row.state = "busy";
    row.cause = "its create is not finished";
    return row;
  }
  if (!reading) {
    row.state = "unread";
    row.cause = reading.error().message;
    explain_unread(row, t);
    return row;
  }
  if (reading->changed) {
    seen_.note_area(t.cloud->vm_id, at_.clock->wall());
  } else if (seen_.has_had_area(t.cloud->vm_id)) {
    row.state = "unread";
    row.cause = "its run area is gone, so what ran there last cannot be told";
    return row;
  }
  const judgement j = judge(*t.cloud, *reading, at_.clock->wall(), at_.limits.boot);
  row.state = j.state;
  row.cause = j.cause;
  row.idle_seconds = j.idle_seconds;
  row.since = j.since;
  row.runs = reading->runs;
  row.cargo = reading->cargo;
  row.rustc = reading->rustc;
  const bool is_only_kept =
      row.cargo == 0 && row.rustc == 0 && !reading->is_booting && reading->changed &&
      std::all_of(row.runs.begin(), row.runs.end(), [](const standing_run& r) {
        return r.state == "kept" || r.state == "dead";
      });
  if (row.state == "busy" && is_only_kept) {
    add_cost(row, t, base::wall_time{std::chrono::seconds(*reading->changed)});
  }
  return row;
}

// A machine that is off or gone cannot answer: the provider knows.
void pass::explain_unread(reaped_host& row, const target& t) const {
  if (at_.stop.stop_requested()) {
    return;
  }
  const auto state = at_.cloud->host_state(known_host_of(t));
  if (!state || *state == "running") {
    return;
  }
  row.cause = "the VM is " + *state;
  if (*state == "absent") {
    row.cause +=
        "; stado cloud host delete " + t.name + " --provider " + at_.id() + " removes the entry";
  }
}

void pass::add_cost(reaped_host& row, const target& t, std::optional<base::wall_time> since) const {
  if (!since) {
    return;
  }
  const auto past = std::chrono::duration_cast<std::chrono::hours>(at_.clock->wall() - *since);
  const std::int64_t hours = std::max<std::int64_t>(past.count(), 0);
  row.standing_since = base::to_rfc3339(*since);
  row.standing_hours = hours;
  if (t.cloud->hourly) {
    row.standing_usd = t.cloud->hourly->times(base::decimal(hours));
  }
}

// Busy, wherever they are being made: nobody returns what is not finished.
void pass::add_creating(const std::vector<unfinished>& begun) {
  for (const unfinished& u : begun) {
    const bool is_shown =
        std::any_of(report_.hosts.begin(), report_.hosts.end(), [&](const reaped_host& h) {
          return h.name == u.name;
        });
    if (is_shown || u.state == unfinished::life::dead || find_target(registry_, u.name)) {
      continue;
    }
    reaped_host row;
    row.name = u.name;
    row.state = "busy";
    row.cause = "being created by " + u.by;
    report_.hosts.push_back(std::move(row));
  }
}

void pass::apply() {
  for (std::size_t i = 0; i < hosts_.size() && !at_.stop.stop_requested(); ++i) {
    if (report_.hosts[i].state == "reapable") {
      at_.talk->step("returning " + hosts_[i].name);
      take_back(report_.hosts[i], hosts_[i]);
    }
  }
}

// Marker first, then the second look: a run that begins meanwhile makes its directory first and
// then looks for the marker, so at least one of the two sees the other.
void pass::take_back(reaped_host& row, const target& t) {
  const auto marked =
      set_returning_marker(*at_.hosts, t, at_.local_hostname, at_.limits.marker_stale, at_.stop);
  if (!marked) {
    if (marked.error().code != base::error_code::conflict) {
      row.state = "unread";
    }
    row.cause = marked.error().message;
    return;
  }
  channel_options options;
  options.cap = at_.limits.channel_read;
  options.stop = at_.stop;
  reaped_host again = row_of(t, read_host(*at_.hosts, t, options));
  if (again.state != "reapable") {
    row = std::move(again);
    // Also after a stop: a marker that stays refuses every run.
    (void)clear_returning_marker(*at_.hosts, t, at_.give_up).has_value();
    return;
  }
  row = std::move(again);
  const auto removed = remove_declared(at_, t);
  if (removed) {
    row.state = "reaped";
    row.released = removed->released;
    return;
  }
  row.state = "reap_failed";
  row.cause = removed.error().message;
  at_.cloud->listen_to(at_.give_up);
  const auto power = at_.cloud->host_state(known_host_of(t));
  if (power && *power == "running") {
    (void)clear_returning_marker(*at_.hosts, t, at_.give_up).has_value();
  }
}

void pass::record_pass() const {
  if (!report_.applied || at_.stop.stop_requested()) {
    return;
  }
  const auto last = last_applied_pass(registry_, at_.id());
  if (last && at_.clock->wall() - *last < record_every) {
    return;
  }
  const auto written = at_.registry->change([&](base::json& document) -> base::result<bool> {
    document.member_ref("cloud_hosts_reaped")
        .set(at_.id(), base::json::object({{"at", at_.now()}, {"by", at_.local_hostname}}));
    return true;
  });
  if (!written) {
    at_.talk->warn("that this pass ran was not recorded: " + written.error().message);
  }
}

} // namespace

bool reap_report::is_clean() const {
  return egress_errors.empty() && !admission_error &&
         std::none_of(hosts.begin(), hosts.end(), [](const reaped_host& h) {
           return h.state == "reap_failed";
         });
}

base::json to_json(const reap_report& r) {
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? base::json() : base::json(text);
  };
  base::json errors = base::json::array();
  for (const egress_failure& f : r.egress_errors) {
    errors.push_back(base::json::object({{"host", f.host}, {"cause", f.cause.message}}));
  }
  base::json hosts = base::json::array();
  for (const reaped_host& h : r.hosts) {
    base::json runs = base::json::array();
    for (const standing_run& run : h.runs) {
      runs.push_back(base::json::object({{"name", run.name}, {"state", run.state}}));
    }
    base::json standing;
    if (h.standing_hours) {
      standing = base::json::object(
          {{"since", h.standing_since},
           {"hours", *h.standing_hours},
           {"usd",
            h.standing_usd ? base::json::number(format_money(*h.standing_usd)) : base::json()}}
      );
    }
    hosts.push_back(base::json::object(
        {{"name", h.name},
         {"state", h.state},
         {"cause", text_or_null(h.cause)},
         {"idle_seconds", h.idle_seconds ? base::json(*h.idle_seconds) : base::json()},
         {"idle_minutes", h.idle_minutes > 0 ? base::json(h.idle_minutes) : base::json()},
         {"since", text_or_null(h.since)},
         {"runs", std::move(runs)},
         {"processes", base::json::object({{"cargo", h.cargo}, {"rustc", h.rustc}})},
         {"standing", std::move(standing)},
         {"released", to_json(h.released)}}
    ));
  }
  return base::json::object(
      {{"provider", r.provider},
       {"applied", r.applied},
       {"read_at", r.read_at},
       {"egress", to_json(r.egress)},
       {"egress_errors", std::move(errors)},
       {"admission_error",
        r.admission_error ? base::json(r.admission_error->message) : base::json()},
       {"hosts", std::move(hosts)}}
  );
}

base::result<reap_report> reap(const context& c, bool apply, bool wait) {
  return pass(c, apply).run(wait);
}

std::optional<base::wall_time>
last_applied_pass(const base::json& registry, std::string_view provider) {
  return base::parse_rfc3339(registry.at({"cloud_hosts_reaped", provider, "at"}).string_or(""));
}

} // namespace siteagent::fleet::cloud_host
