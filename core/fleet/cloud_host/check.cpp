// SPDX-License-Identifier: MIT
#include "core/fleet/cloud_host/check.hpp"

#include "core/base/text.hpp"
#include "core/fleet/cloud_host/admission.hpp"
#include "core/fleet/cloud_host/reap.hpp"
#include "core/fleet/credit_gate.hpp"
#include "core/fleet/money.hpp"

#include <algorithm>

namespace siteagent::fleet::cloud_host {

namespace {

class questions {
public:
  questions(const workplace& w, std::string id) : at_(w) { report_.provider = std::move(id); }

  check_report ask() {
    if (auto enabled = check_enabled(*at_.settings, report_.provider)) {
      good("profile", report_.provider + " is enabled");
    } else {
      bad("profile", enabled.error());
    }
    ask_ruling();
    ask_registry();
    ask_provider();
    return std::move(report_);
  }

private:
  void good(std::string name, std::string detail) {
    report_.checks.push_back({.name = std::move(name), .ok = true, .detail = std::move(detail)});
  }

  void bad(std::string name, const base::error& e) {
    report_.checks.push_back({.name = std::move(name), .ok = false, .detail = e.message});
  }

  void ask_ruling() {
    if (const auto floor = credit_floor_of(*at_.settings, report_.provider)) {
      good(
          "credit floor",
          format_money(floor->amount) + " " + floor->currency + " (" + floor->id + ")"
      );
    } else {
      bad("credit floor", floor.error());
    }
  }

  void ask_registry() {
    const auto registry = at_.registry->read();
    if (!registry) {
      bad("registry", registry.error());
      return;
    }
    const auto hosts = cloud_hosts_of(registry->document, report_.provider);
    good("registry", std::to_string(hosts.size()) + " cloud host(s) declared");
    for (const target& t : hosts) {
      locations_.push_back(base::to_lower(t.cloud->location));
    }
    if (const auto admit_from = admit_from_of(registry->document)) {
      good("cloud_hosts.admit_from", base::join(*admit_from, ", "));
    } else {
      bad("cloud_hosts.admit_from", admit_from.error());
    }
    const auto last = last_applied_pass(registry->document, report_.provider);
    report_.checks.push_back(
        {.name = "reaper",
         .ok = last.has_value(),
         .needed = false,
         .detail = last ? "the last applied pass ran at " + base::to_rfc3339(*last)
                        : "no applied reap pass is known; run stado coordinator"}
    );
  }

  void ask_provider() {
    context url_only;
    static_cast<workplace&>(url_only) = at_;
    if (const auto url = api_url_of(url_only)) {
      good("api.url", *url);
    } else {
      bad("api.url", url.error());
    }
    auto opened = open_session_unchecked(at_, report_.provider);
    if (!opened) {
      bad("bindings", opened.error());
      return;
    }
    good("bindings", "all declared");
    at_.talk->waiting("the provider's answers");
    for (const std::string& configured : opened->at.bound.locations) {
      locations_.push_back(base::to_lower(base::trim(configured)));
    }
    std::sort(locations_.begin(), locations_.end());
    locations_.erase(std::unique(locations_.begin(), locations_.end()), locations_.end());
    if (const auto lines = opened->cloud->check(locations_)) {
      report_.checks.insert(report_.checks.end(), lines->begin(), lines->end());
    } else {
      bad("provider", lines.error());
    }
  }

  const workplace& at_;
  check_report report_;
  std::vector<std::string> locations_;
};

} // namespace

bool check_report::is_ready() const {
  return std::all_of(checks.begin(), checks.end(), [](const check_line& l) {
    return l.ok || !l.needed;
  });
}

base::json to_json(const check_report& r) {
  return base::json::object(
      {{"provider", r.provider}, {"ready", r.is_ready()}, {"checks", to_json(r.checks)}}
  );
}

base::result<check_report> check(const workplace& w, std::string_view provider) {
  const std::string id = provider_id_of(provider);
  if (const auto loaded = load_provider(id, w.plugins); !loaded) {
    return loaded.error();
  }
  w.talk->step("checking " + id);
  check_report out = questions(w, id).ask();
  if (w.stop.stop_requested()) {
    return base::error{.code = base::error_code::cancelled, .message = "interrupted"};
  }
  return out;
}

} // namespace siteagent::fleet::cloud_host
