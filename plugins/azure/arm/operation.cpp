// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/operation.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure::arm {

namespace {

constexpr unsigned lost_monitor = 2;        // 404 or 410 in a row: its record has expired
constexpr unsigned tolerated_lag = 4;       // reads after a write that do not see it yet
constexpr unsigned tolerated_presence = 20; // reads after a deletion that still see the object
constexpr unsigned unreadable_monitor = 3;  // other refusals in a row
constexpr unsigned trusted_lag = 120; // units a resource may lag behind the monitor's "Succeeded"

// Pauses between polls: Azure's own advice, else the usual one of the kind; "0" means a floor that
// grows.
class poll_timer {
public:
  poll_timer(const pipeline& arm, milliseconds usual)
      : floor_(arm.options().floor), cap_(std::max(arm.options().floor, arm.options().cap)),
        usual_(usual), next_(floor_) {}

  milliseconds after(const response* r, const base::clock& clock) {
    std::optional<milliseconds> advice;
    if (r != nullptr) {
      advice = retry_advice(r->headers, clock);
    }
    milliseconds pause = usual_;
    if (advice && *advice > milliseconds(0)) {
      pause = *advice;
    } else if (advice) {
      pause = next_;
      next_ = next_ * 3 / 2;
    }
    return std::clamp(pause, floor_, cap_);
  }

private:
  milliseconds floor_;
  milliseconds cap_;
  milliseconds usual_;
  milliseconds next_;
};

// The pauses of one operation, between checkpoints, up to its limit.
class pacer {
public:
  pacer(const pipeline& arm, const scope& call, const followed& f)
      : arm_(arm), call_(call), f_(f), timer_(arm, f.usual), began_(now()) {}

  base::steady_time now() const { return arm_.options().clock->steady(); }

  // After this answer; nullptr: after none.
  base::result<void> pause(const response* r, const base::json& percent = {}) {
    return sleep(timer_.after(r, *arm_.options().clock), percent);
  }

private:
  base::result<void> sleep(milliseconds time, const base::json& percent) {
    if (now() + time > began_ + f_.limit) {
      return make_error(
          reason::busy,
          base::error_code::transient,
          f_.what + ": Azure has not ended it within " +
              std::to_string(std::chrono::duration_cast<std::chrono::seconds>(f_.limit).count()) +
              " s; nothing is sent again, the object is looked at with the next try"
      );
    }
    if (auto slept = call_.wait(time); !slept) {
      return base::with_context(slept.error(), f_.what);
    }
    base::json note =
        base::json::object({{"phase", "poll"}, {"verb", f_.verb}, {"kind", f_.kind}, {"id", f_.id}}
        );
    if (percent.is_number()) {
      note.set("percent", percent);
    }
    if (auto go_on = call_.checkpoint(note); !go_on) {
      return base::with_context(go_on.error(), f_.what);
    }
    return {};
  }

  const pipeline& arm_;
  const scope& call_;
  const followed& f_;
  poll_timer timer_;
  base::steady_time began_;
};

struct monitor {
  std::string status_url; // Azure-AsyncOperation
  std::string location;

  // The newest links count; the old ones may be dead.
  void learn(const response& r) {
    if (const auto url = r.header("azure-asyncoperation"); url && !url->empty()) {
      status_url = *url;
    }
    if (const auto url = r.header("location"); url && !url->empty()) {
      location = *url;
    }
  }

  const std::string& url() const { return status_url.empty() ? location : status_url; }
};

enum class verdict : std::uint8_t { running, ended, look };

// What one answer of the monitor says. Failure of the operation itself is the error.
base::result<verdict> judge(const response& r, const monitor& m, const followed& f) {
  const bool status_document = !m.status_url.empty();
  if (!status_document) {
    return r.status == 202 ? verdict::running : verdict::ended;
  }
  const base::json& status = r.body["status"];
  if (!status.string()) {
    return r.status == 202 ? verdict::running : verdict::look;
  }
  switch (state_of(status)) {
  case run_state::running:
    return verdict::running;
  case run_state::succeeded:
    return verdict::ended;
  case run_state::failed:
    break;
  }
  error_body said = parse_error(200, r.body);
  const bool failed = base::equals_ignoring_case(*status.string(), "Failed");
  if (!failed && said.find("Canceled") == nullptr) {
    // Canceled without the word: the code inside says by whom, not that.
    if (said.root().code.empty()) {
      said.nodes.clear();
    }
    said.nodes.insert(said.nodes.begin(), {"Canceled", "the operation was canceled", ""});
  }
  base::error e = map_error(said, f.what);
  e.provider_request_id = r.request_id;
  return e;
}

// Is an error of reading a Location monitor the verdict on the operation?
bool is_verdict(const base::error& e, const monitor& m) {
  return m.status_url.empty() && e.http_status >= 400 && e.http_status != 401 &&
         e.http_status != 403 && e.http_status != 404 && e.http_status != 410 &&
         e.http_status != 408 && e.http_status != 429 && e.http_status < 500;
}

// Follows the monitor to its end. false: the monitor is of no use, the resource must tell.
base::result<bool> watch(
    const pipeline& arm,
    const scope& call,
    monitor m,
    const response& started,
    const followed& f,
    pacer& pace
) {
  unsigned lost = 0;
  unsigned unreadable = 0;
  auto paused = pace.pause(&started);
  while (paused) {
    auto r = arm.read(call, m.url(), f.what, patience::watching);
    if (r) {
      lost = 0;
      unreadable = 0;
      const auto v = judge(*r, m, f);
      if (!v) {
        return v.error();
      }
      if (*v != verdict::running) {
        return *v == verdict::ended;
      }
      m.learn(*r);
      paused = pace.pause(&*r, r->body["percentComplete"]);
      continue;
    }
    // A failed read says nothing about the operation, unless a Location answers with its result.
    const base::error& e = r.error();
    const bool final = is_stop(e) || e.code == base::error_code::auth ||
                       reason_of(e) == reason::throttled || is_verdict(e, m);
    if (final) {
      return e;
    }
    if (e.http_status == 404 || e.http_status == 410) {
      if (++lost >= lost_monitor) {
        return false;
      }
    } else if (++unreadable >= unreadable_monitor) {
      return false;
    }
    paused = pace.pause(nullptr);
  }
  return paused.error();
}

base::json resource_state(const base::json& resource) {
  return resource.at({"properties", "provisioningState"});
}

} // namespace

run_state state_of(const base::json& state) {
  const auto text = state.string();
  if (!text || base::equals_ignoring_case(*text, "Succeeded")) {
    return run_state::succeeded;
  }
  const bool failed = base::equals_ignoring_case(*text, "Failed") ||
                      base::equals_ignoring_case(*text, "Canceled") ||
                      base::equals_ignoring_case(*text, "Cancelled");
  return failed ? run_state::failed : run_state::running;
}

namespace {

// One object. JSON that is no object of Azure's, a gateway's say, tells nothing about it.
base::result<response> read_object(
    const pipeline& arm,
    const scope& call,
    const std::string& path,
    std::string_view what,
    patience p
) {
  auto r = arm.read(call, path, what, p);
  if (r && !r->body["id"].string()) {
    return make_error(
        reason::ambiguous,
        base::error_code::transient,
        std::string(what) + ": the answer is not the object that was asked for"
    );
  }
  return r;
}

} // namespace

base::result<std::optional<base::json>> read_if_present(
    const pipeline& arm,
    const scope& call,
    const std::string& path,
    std::string_view what,
    patience p
) {
  auto r = read_object(arm, call, path, what, p);
  if (r) {
    return std::optional<base::json>(std::move(r->body));
  }
  if (r.error().code == base::error_code::not_found) {
    return std::optional<base::json>();
  }
  return r.error();
}

namespace {

// `vouched`: the monitor reported success; then a state that stays behind is believed only so long.
base::result<base::json>
settle_paced(const pipeline& arm, const scope& call, const followed& f, pacer& pace, bool vouched) {
  const base::steady_time began = pace.now();
  unsigned unseen = 0;
  for (;;) {
    auto r = read_object(arm, call, f.path, f.what, patience::lasting);
    // Reads may lag behind the write that made the object.
    const bool lagging = !r && f.verb == "put" && r.error().code == base::error_code::not_found &&
                         ++unseen <= tolerated_lag;
    if (!r && !lagging) {
      return r.error();
    }
    if (r && state_of(resource_state(r->body)) != run_state::running) {
      return std::move(r->body);
    }
    if (r && vouched && pace.now() - began > arm.options().floor * trusted_lag) {
      r->body.member_ref("properties").set("provisioningState", "Succeeded");
      return std::move(r->body);
    }
    if (auto paused = pace.pause(r ? &*r : nullptr); !paused) {
      return paused.error();
    }
  }
}

base::result<void>
await_absence_paced(const pipeline& arm, const scope& call, const followed& f, pacer& pace) {
  unsigned unmoved = 0;
  for (;;) {
    auto seen = read_if_present(arm, call, f.path, f.what, patience::lasting);
    if (!seen) {
      return seen.error();
    }
    if (!*seen) {
      return {};
    }
    if (state_of(resource_state(**seen)) != run_state::running && ++unmoved > tolerated_presence) {
      return make_error(
          reason::busy,
          base::error_code::transient,
          f.what + ": Azure reports the end of the deletion, but the object is still there"
      );
    }
    if (auto paused = pace.pause(nullptr); !paused) {
      return paused;
    }
  }
}

} // namespace

base::result<base::json> settle(const pipeline& arm, const scope& call, const followed& f) {
  pacer pace(arm, call, f);
  return settle_paced(arm, call, f, pace, false);
}

base::result<void> await_absence(const pipeline& arm, const scope& call, const followed& f) {
  pacer pace(arm, call, f);
  return await_absence_paced(arm, call, f, pace);
}

base::result<base::json>
follow(const pipeline& arm, const scope& call, const response& started, const followed& f) {
  monitor m;
  m.learn(started);
  const bool is_put = f.verb == "put";
  const bool open = !m.url().empty() && started.status != 204;
  if (is_put && !open && state_of(resource_state(started.body)) == run_state::succeeded &&
      started.body.is_object() && started.status != 202) {
    return started.body;
  }
  pacer pace(arm, call, f);
  bool vouched = false;
  if (open) {
    auto ended = watch(arm, call, m, started, f, pace);
    if (!ended) {
      return ended.error();
    }
    vouched = *ended;
    const bool complete = started.status == 201 && started.body.is_object();
    if (is_put && vouched && !f.read_back && complete) {
      base::json body = started.body;
      body.member_ref("properties").set("provisioningState", "Succeeded");
      return body;
    }
  } else if (f.verb == "post" && started.status == 202) {
    // Accepted without a monitor: the resource's own state is all there is.
    if (auto paused = pace.pause(&started); !paused) {
      return paused.error();
    }
  }
  if (f.verb == "delete") {
    if (auto gone = await_absence_paced(arm, call, f, pace); !gone) {
      return gone.error();
    }
    return base::json();
  }
  return settle_paced(arm, call, f, pace, vouched);
}

} // namespace siteagent::azure::arm
