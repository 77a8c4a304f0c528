// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/list.hpp"

#include "core/fleet/cloud_host/unfinished.hpp"
#include "core/fleet/money.hpp"

#include <algorithm>

namespace siteagent::fleet::cloud_host {

namespace {

base::json text_or_null(const std::string& text) {
  return text.empty() ? base::json() : base::json(text);
}

listed_row row_of(const context& c, const target& t) {
  listed_row row;
  row.name = t.name;
  row.location = t.cloud->location;
  row.size = t.cloud->size;
  row.address = t.cloud->address;
  row.hourly = t.cloud->hourly;
  row.idle_minutes = t.cloud->idle_minutes;
  row.created_at = t.cloud->created_at;
  c.talk->waiting("the state of " + t.name);
  const auto state = c.cloud->host_state(known_host_of(t));
  if (state) {
    row.state = *state;
  } else {
    row.state = "unread";
    row.cause = state.error().message;
  }
  return row;
}

// Whole seconds, as every time that is shown.
std::string whole_seconds(const std::string& text) {
  const auto t = base::parse_rfc3339(text);
  return t ? base::to_rfc3339(*t) : text;
}

listed_row row_of(const unfinished& u) {
  listed_row row;
  row.name = u.name;
  row.state = u.state == unfinished::life::dead ? "interrupted" : "creating";
  row.location = u.location;
  row.size = u.size;
  row.hourly = u.hourly;
  row.created_at = whole_seconds(u.started_at);
  row.is_registered = false;
  return row;
}

listed_row row_of(const listed_host& l) {
  listed_row row;
  row.name = l.name;
  row.state = "unregistered";
  row.power = l.state;
  row.location = l.location;
  row.created_at = whole_seconds(l.created_at);
  row.is_registered = false;
  return row;
}

// Tagged machines join the row of their create, or get one of their own.
void add_tagged(const context& c, list_report& report) {
  c.talk->waiting("tagged machines");
  const auto tagged = c.cloud->list_hosts();
  if (!tagged) {
    c.talk->warn("machines the registry lacks could not be looked for: " + tagged.error().message);
    return;
  }
  std::size_t strangers = 0;
  for (const listed_host& l : *tagged) {
    const auto same =
        std::find_if(report.hosts.begin(), report.hosts.end(), [&](const listed_row& r) {
          return r.name == l.name;
        });
    if (same == report.hosts.end()) {
      report.hosts.push_back(row_of(l));
      ++strangers;
    } else if (!same->is_registered) {
      same->power = l.state;
    }
  }
  if (strangers > 0) {
    c.talk->warn(
        std::to_string(strangers) + " name(s) carry the tag " + std::string(host_tag) +
        " and are in no registry of this fleet: another fleet's hosts, or forgotten ones that bill"
    );
  }
}

} // namespace

std::string listed_row::shown_state() const {
  if (state == "unread") {
    return "unread: " + printable(cause);
  }
  return power.empty() ? state : state + " (" + power + ")";
}

base::json to_json(const list_report& r) {
  base::json hosts = base::json::array();
  for (const listed_row& h : r.hosts) {
    base::json row = base::json::object(
        {{"name", h.name},
         {"state", h.state},
         {"cause", h.state == "unread" ? base::json(h.cause) : base::json()},
         {"location", text_or_null(h.location)},
         {"size", text_or_null(h.size)},
         {"address", text_or_null(h.address)},
         {"hourly_usd", h.hourly ? base::json::number(format_money(*h.hourly)) : base::json()},
         {"idle_minutes", h.idle_minutes ? base::json(*h.idle_minutes) : base::json()},
         {"created_at", text_or_null(h.created_at)}}
    );
    if (!h.is_registered) {
      row.set("power", text_or_null(h.power));
    }
    hosts.push_back(std::move(row));
  }
  return base::json::object(
      {{"provider", r.provider},
       {"hosts", std::move(hosts)},
       {"hourly_burn_usd", base::json::number(format_money(r.burn))},
       {"egress", to_json(r.egress)}}
  );
}

base::result<list_report> list(const context& c) {
  c.talk->step("reading the hosts");
  const auto registry = c.registry->read_or_last_good();
  if (!registry) {
    return registry.error();
  }
  if (registry->last_good_of) {
    const auto age =
        std::chrono::duration_cast<std::chrono::minutes>(c.clock->wall() - *registry->last_good_of);
    c.talk->warn(
        "the registry could not be read; shown is a copy that is " + std::to_string(age.count()) +
        " min old"
    );
  }
  list_report report;
  report.provider = c.id();
  report.egress = egress_of(registry->document);
  for (const target& t : cloud_hosts_of(registry->document, c.id())) {
    report.hosts.push_back(row_of(c, t));
    const listed_row& row = report.hosts.back();
    if (row.state != "running") {
      continue;
    }
    if (row.hourly && !row.hourly->is_negative()) {
      report.burn = report.burn.plus(*row.hourly).value_or(report.burn);
    } else {
      report.without_hour.push_back(row.name);
    }
  }
  const auto begun = unfinished_creates(c, registry->document);
  if (!begun) {
    c.talk->warn(begun.error().message);
  } else {
    for (const unfinished& u : *begun) {
      const bool is_shown =
          std::any_of(report.hosts.begin(), report.hosts.end(), [&](const listed_row& r) {
            return r.name == u.name;
          });
      if (!is_shown) {
        report.hosts.push_back(row_of(u));
      }
    }
  }
  add_tagged(c, report);
  warn_of_leftovers(c, registry->document);
  if (c.stop.stop_requested()) {
    return base::error{.code = base::error_code::cancelled, .message = "interrupted"};
  }
  return report;
}

} // namespace siteagent::fleet::cloud_host
