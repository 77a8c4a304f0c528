// SPDX-License-Identifier: MIT
// Turns, and the offerings they are for.
#include "core/agent/scheduler.hpp"

#include "core/agent/board.hpp"

#include <algorithm>
#include <exception>
#include <set>
#include <utility>

namespace siteagent::agent {

namespace {

constexpr std::chrono::seconds tick{1};
constexpr std::size_t most_young_turns = 32;
constexpr std::chrono::seconds young{2};
// Threads for turns, should everybody wait for somebody at once; and for single passes.
constexpr unsigned most_turns = 8192;
constexpr unsigned most_single_passes = 64;
constexpr std::chrono::minutes longest_tick{2};

agent_settings settings_of(const config::agent_config& config) {
  return {config.timezone, config.reporting_periods, config.expose_backend_error_details};
}

} // namespace

agent::agent(
    const config::agent_config& config,
    agent_options options,
    agent_parts parts,
    const base::clock& clock,
    waiter& waits,
    const std::stop_token& stop
)
    : options_(std::move(options)), started_at_(base::to_rfc3339(clock.wall())), progress_(clock),
      pool_(options_.workers), upkeep_pool_(options_.workers),
      turn_pool_(options_.once ? most_single_passes : most_turns),
      env_{clock, waits, stop, progress_, locks_, pool_},
      upkeep_{clock, waits, stop, progress_, locks_, upkeep_pool_}, registrar_(env_) {
  for (const config::offering& offering : config.offerings) {
    base::error failure;
    std::unique_ptr<unit> made = make_unit(offering, config, parts, &failure);
    if (!made) {
      observe::logger("agent")
          .with("offering", offering.name)
          .failure(observe::level::error, "offering could not run", failure);
      fine_ = false;
      continue;
    }
    units_.push_back(std::move(made));
  }
}

agent::~agent() = default;

// Null: `failure` says why.
std::unique_ptr<agent::unit> agent::make_unit(
    const config::offering& offering,
    const config::agent_config& config,
    const agent_parts& parts,
    base::error* failure
) {
  auto made = std::make_unique<unit>();
  made->digest = offering.digest ^ (config.digest * 31U);
  made->offering =
      std::make_unique<offering_context>(offering, settings_of(config), parts.backends, env_);
  for (const mode m : options_.modes) {
    if (!takes_part(*made->offering, m)) {
      continue;
    }
    base::result<std::unique_ptr<portal>> waldur = parts.portals(offering, m);
    if (!waldur) {
      *failure = std::move(waldur).error();
      return nullptr;
    }
    worker_extras extras{.timers = options_.periods.events, .once = options_.once};
    if (m == mode::event_process) {
      if (!parts.sessions || (*waldur)->find_events() == nullptr) {
        *failure = {base::error_code::unsupported, "events cannot be followed from here"};
        return nullptr;
      }
      extras.sessions = parts.sessions(offering);
    }
    auto s = std::make_unique<slot>();
    s->job = std::make_unique<track>(
        *made->offering,
        m,
        options_.periods,
        *std::move(waldur),
        env_,
        upkeep_,
        started_at_,
        std::move(extras)
    );
    made->slots.push_back(std::move(s));
  }
  const bool needs_lease = std::any_of(made->slots.begin(), made->slots.end(), [](const auto& s) {
    return s->job->worker().needs_lease();
  });
  if (parts.leases && needs_lease) {
    made->lease = parts.leases(offering);
    made->offering->set_lease([lease = made->lease] { return lease->is_held(); });
  }
  return made;
}

base::result<void> agent::open_plugins(const unit& u) const {
  for (const std::unique_ptr<slot>& s : u.slots) {
    const auto opened = u.offering->backend_for(s->job->worker().plugin_id());
    if (!opened) {
      return opened.error();
    }
  }
  return {};
}

bool agent::run() {
  try {
    if (options_.once) {
      return run_once();
    }
    run_on();
  } catch (const std::exception& e) {
    observe::logger("agent").error(
        "the scheduler ended with an exception; this is a bug", {{"error", e.what()}}
    );
    fine_ = false;
  }
  return fine_;
}

bool agent::run_once() {
  for (const std::unique_ptr<unit>& u : units_) {
    // The modes of an offering one after the other: what the orders made is there when it is
    // metered.
    turn_pool_.submit(turns_, [this, &u] {
      for (const std::unique_ptr<slot>& s : u->slots) {
        const bool fine = s->job->run_once();
        const std::lock_guard lock(mutex_);
        fine_ = fine_ && fine;
      }
    });
  }
  turns_.wait();
  return fine_;
}

void agent::run_on() {
  {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<unit>& u : units_) {
      start(*u);
    }
  }
  {
    progress_board::activity alive = progress_.begin("scheduler", longest_tick);
    while (!env_.stop.stop_requested()) {
      alive.touch();
      let_go();
      find_due();
      hand_out();
      registrar_.tick();
      env_.pause(tick);
    }
  }
  turns_.wait();
  std::vector<std::unique_ptr<unit>> last;
  {
    const std::lock_guard lock(mutex_);
    ready_.clear();
    last.swap(units_);
  }
  for (const std::unique_ptr<unit>& u : last) {
    close(*u);
  }
  farewells_.wait();
}

void agent::start(const unit& u) {
  for (const std::unique_ptr<slot>& s : u.slots) {
    if (registration* r = s->job->find_registration()) {
      registrar_.add(*r);
    }
  }
}

void agent::close(unit& u) {
  for (const std::unique_ptr<slot>& s : u.slots) {
    s->job->wait();
    if (registration* r = s->job->find_registration()) {
      registrar_.remove(*r);
    }
  }
}

void agent::find_due() {
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<unit>& u : units_) {
    for (const std::unique_ptr<slot>& s : u->slots) {
      if (s->at == slot::state::idle && s->job->is_due()) {
        s->at = slot::state::ready;
        ready_.push_back(s.get());
      }
    }
  }
}

void agent::hand_out() {
  const base::steady_time now = env_.clock.steady();
  const std::lock_guard lock(mutex_);
  auto young_turns =
      static_cast<std::size_t>(std::count_if(running_.begin(), running_.end(), [&](const slot* s) {
        return now - s->started < young;
      }));
  for (; !ready_.empty() && young_turns < most_young_turns; ++young_turns) {
    slot* const next = ready_.front();
    ready_.pop_front();
    next->at = slot::state::running;
    next->started = now;
    running_.push_back(next);
    turn_pool_.submit(turns_, [this, next] { turn(*next); });
  }
}

void agent::turn(slot& s) {
  try {
    if (s.job->is_due()) { // a retired offering is not
      s.job->turn();
    }
  } catch (const std::exception& e) {
    observe::logger("agent").error(
        "a pass ended with an exception; this is a bug", {{"error", e.what()}}
    );
  }
  {
    const std::lock_guard lock(mutex_);
    s.at = slot::state::idle;
    std::erase(running_, &s);
  }
  hand_out(); // `s` may be gone
}

void agent::let_go() {
  std::vector<std::shared_ptr<unit>> gone;
  {
    const std::lock_guard lock(mutex_);
    for (std::unique_ptr<unit>& u : units_) {
      const bool is_over =
          u->is_retired && std::all_of(u->slots.begin(), u->slots.end(), [](const auto& s) {
            return s->at == slot::state::idle && s->job->is_idle();
          });
      if (is_over) {
        gone.push_back(std::move(u));
      }
    }
    std::erase(units_, nullptr);
    // What the new settings had to leave alone, because the old ones were at work, is theirs now.
    for (const std::shared_ptr<unit>& old : gone) {
      for (const std::unique_ptr<unit>& u : units_) {
        if (!u->is_retired && u->offering->config().uuid == old->offering->config().uuid) {
          std::for_each(u->slots.begin(), u->slots.end(), [](const auto& s) { s->job->hurry(); });
        }
      }
    }
  }
  for (std::shared_ptr<unit>& u : gone) {
    // A plugin may take its time to close; shared because tasks are copied.
    upkeep_pool_.submit(farewells_, [this, u] {
      close(*u);
      u->offering->log().info("offering is closed; its old settings are used no more");
    });
  }
}

base::result<reload_summary>
agent::reconfigure(const config::agent_config& config, agent_parts parts) {
  reload_summary summary;
  std::multiset<std::size_t> running;
  {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<unit>& u : units_) {
      if (!u->is_retired) {
        running.insert(u->digest);
      }
    }
  }
  std::vector<std::unique_ptr<unit>> fresh;
  std::multiset<std::size_t> kept;
  for (const config::offering& offering : config.offerings) {
    const std::size_t digest = offering.digest ^ (config.digest * 31U);
    if (const auto same = running.find(digest); same != running.end()) {
      kept.insert(digest);
      running.erase(same);
      continue;
    }
    base::error failure;
    std::unique_ptr<unit> made = make_unit(offering, config, parts, &failure);
    base::result<void> opened = made ? open_plugins(*made) : base::result<void>(failure);
    if (!opened) {
      return base::with_context(std::move(opened).error(), "offering '" + offering.name + "'");
    }
    fresh.push_back(std::move(made));
  }
  summary.kept = kept.size();
  summary.added = fresh.size();
  const std::lock_guard lock(mutex_);
  for (const std::unique_ptr<unit>& u : units_) {
    if (u->is_retired) {
      continue;
    }
    if (const auto same = kept.find(u->digest); same != kept.end()) {
      kept.erase(same);
      continue;
    }
    ++summary.retired;
    u->is_retired = true;
    u->offering->retire();
    std::for_each(u->slots.begin(), u->slots.end(), [](const auto& s) { s->job->retire(); });
  }
  for (std::unique_ptr<unit>& u : fresh) {
    start(*u);
    units_.push_back(std::move(u));
  }
  return summary;
}

base::json agent::describe() const {
  base::json offerings = base::json::array();
  {
    const std::lock_guard lock(mutex_);
    for (const std::unique_ptr<unit>& u : units_) {
      std::vector<const track*> tracks;
      for (const std::unique_ptr<slot>& s : u->slots) {
        tracks.push_back(s->job.get());
      }
      offerings.push_back(describe_offering(*u->offering, tracks, u->lease.get(), env_.clock));
    }
  }
  return base::json::object(
      {{"started_at", started_at_},
       {"stuck",
        [&] {
          const auto stuck = progress_.find_stuck();
          return stuck ? base::json(*stuck) : base::json();
        }()},
       {"workers", describe_load(pool_.current_load())},
       {"upkeep", describe_load(upkeep_pool_.current_load())},
       {"offerings", std::move(offerings)}}
  );
}

bool agent::is_idle() const {
  return pool_.is_idle() && upkeep_pool_.is_idle() && turn_pool_.is_idle();
}

} // namespace siteagent::agent
