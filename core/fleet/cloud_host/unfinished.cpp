// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/unfinished.hpp"

#include "core/base/text.hpp"
#include "core/fleet/money.hpp"
#include "core/fleet/pause.hpp"

#include <algorithm>
#include <chrono>

namespace siteagent::fleet::cloud_host {

namespace {

// Longer than addresses, admission, resources and enrolling may take together.
constexpr std::chrono::hours longest_create{2};

// "build-1 pid 123 start ..." without what only tells processes of one number apart.
std::string for_people(std::string_view owner) {
  const auto words = base::split(owner, ' ');
  return words.size() < 3
             ? std::string(owner)
             : base::join(
                   {std::string(words[0]), std::string(words[1]), std::string(words[2])}, " "
               );
}

unfinished::life life_of(const context& c, const creating_host& marker) {
  const std::size_t end_of_host = marker.by.find(' ');
  if (marker.by.substr(0, end_of_host) == c.local_hostname) {
    const bool alive = end_of_host != std::string::npos &&
                       is_alive(std::string_view(marker.by).substr(end_of_host + 1));
    return alive ? unfinished::life::running : unfinished::life::dead;
  }
  const auto started = base::parse_rfc3339(marker.started_at);
  return started && c.clock->wall() - *started < longest_create ? unfinished::life::elsewhere
                                                                : unfinished::life::dead;
}

bool is_recorded(const base::json& registry, const journal_entry& e) {
  const auto t = find_target(registry, e.name);
  return t && t->cloud && !t->cloud->vm_id.empty() &&
         e.created["vm_id"].string_or("") == t->cloud->vm_id;
}

unfinished from_journal(const context& c, journal_entry e) {
  unfinished u;
  u.name = e.name;
  u.provider = e.provider;
  u.location = e.request["location"].string_or("");
  u.size = e.request["size"].string_or("");
  if (const auto text = e.request["hourly_usd"].number_text()) {
    u.hourly = parse_money(*text, rounding::up);
  }
  u.started_at = e.started_at;
  u.by = for_people(c.local_hostname + " " + e.owner);
  u.state = e.owner_is_alive() ? unfinished::life::running : unfinished::life::dead;
  u.journal = std::move(e);
  return u;
}

// Does something carry the tags of this create? A cloud's lists may be behind, and a write whose
// sender is gone may take effect late: where the journal names objects, it is looked for again.
base::result<bool> find_ours(const context& c, const unfinished& u, const std::stop_token& stop) {
  constexpr int most_looks = 4;
  if (u.started_at.empty()) {
    return false;
  }
  const bool is_expected = u.journal && !u.journal->objects.empty();
  for (int look = 1;; ++look) {
    const auto tagged = c.cloud->list_hosts();
    if (!tagged) {
      return tagged.error();
    }
    const auto found = std::find_if(tagged->begin(), tagged->end(), [&](const listed_host& l) {
      return l.name == u.name;
    });
    if (found != tagged->end()) {
      return found->tags[created_tag].string_or("") == u.started_at;
    }
    if (!is_expected || look == most_looks) {
      return false;
    }
    c.talk->waiting("objects of " + u.name + " that the cloud may not show yet");
    if (!pause_for(c.limits.probe, stop)) {
      return base::error{
          .code = base::error_code::cancelled,
          .message = "stopped while looking for what the create of " + u.name + " made"};
    }
  }
}

} // namespace

std::string unfinished::text() const {
  const std::string where = location.empty() ? "" : location + ", ";
  const std::string since = started_at.empty() ? "" : " since " + started_at;
  return name + " (" + where + "by " + by + since + ")";
}

base::result<std::vector<unfinished>>
unfinished_creates(const context& c, const base::json& registry) {
  std::vector<unfinished> out;
  for (const creating_host& m : creating_of(registry, c.id())) {
    unfinished u;
    u.name = m.name;
    u.provider = m.provider;
    u.location = m.location;
    u.size = m.size;
    u.hourly = m.hourly;
    u.started_at = m.started_at;
    u.by = for_people(m.by);
    u.state = life_of(c, m);
    u.is_marked = true;
    out.push_back(std::move(u));
  }
  auto journals = c.journals().all();
  if (!journals) {
    return journals.error();
  }
  for (journal_entry& e : *journals) {
    if ((!e.provider.empty() && e.provider != c.id()) || is_recorded(registry, e)) {
      continue;
    }
    const auto same =
        std::find_if(out.begin(), out.end(), [&](const unfinished& u) { return u.name == e.name; });
    // Two machines may have begun the same name one after the other: each has its own traces.
    if (same != out.end() && (e.started_at.empty() || same->started_at == e.started_at)) {
      same->journal = std::move(e);
    } else {
      out.push_back(from_journal(c, std::move(e)));
    }
  }
  return out;
}

base::result<std::optional<unfinished>>
find_unfinished(const context& c, const base::json& registry, std::string_view name) {
  auto every = unfinished_creates(c, registry);
  if (!every) {
    return every.error();
  }
  for (unfinished& u : *every) {
    if (u.name == name) {
      return std::optional(std::move(u));
    }
  }
  return std::optional<unfinished>{};
}

void warn_of_leftovers(const context& c, const base::json& registry) {
  const auto every = unfinished_creates(c, registry);
  if (!every) {
    c.talk->warn(every.error().message);
    return;
  }
  for (const unfinished& u : *every) {
    if (u.state != unfinished::life::dead) {
      continue;
    }
    const int step = u.journal ? u.journal->step : 0;
    c.talk->warn(
        "the create of " + u.text() + " was interrupted" +
        (step > 0 ? " in step " + std::to_string(step) : std::string()) +
        " and may have left objects that bill; stado cloud host delete " + u.name + " --provider " +
        c.id() + " returns them"
    );
  }
}

base::result<removal> release_unfinished(
    const context& c, const unfinished& u, const progress_function& progress, std::stop_token stop
) {
  known_host h{.name = u.name, .location = u.location, .vm_id = {}, .resources = {}};
  if (u.journal && u.journal->created.is_object()) {
    h.vm_id = u.journal->created["vm_id"].string_or("");
    h.resources = u.journal->created["resources"];
    return c.cloud->delete_host(h, progress, std::move(stop));
  }
  const auto is_ours = find_ours(c, u, stop);
  if (!is_ours) {
    return is_ours.error();
  }
  if (!*is_ours) {
    return removal{};
  }
  return c.cloud->delete_host(h, progress, std::move(stop));
}

} // namespace siteagent::fleet::cloud_host
