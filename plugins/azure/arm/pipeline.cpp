// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/pipeline.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/retry.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/arm/challenge.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure::arm {

namespace {

constexpr milliseconds one_exchange{60'000};
constexpr unsigned brief_attempts = 5;
constexpr unsigned write_attempts = 6;
constexpr unsigned connect_attempts = 4;

std::string request_id_of(const net::response& r) {
  return std::string(r.header("x-ms-request-id").value_or(""));
}

base::error failure_of(const net::response& r, std::string_view what, const base::clock& clock) {
  base::error e = map_error(parse_error(r.status, std::string_view(r.body)), what);
  if (r.status == 401) {
    e = explain(std::move(e), r);
  }
  e.provider_request_id = request_id_of(r);
  e.retry_after = retry_advice(r.headers, clock);
  e.may_have_been_sent = true;
  return e;
}

response to_response(const net::response& r, base::json body) {
  return response{r.status, r.headers, std::move(body), request_id_of(r)};
}

bool is_success(int status) {
  return status >= 200 && status < 300;
}

base::error throttled_for(milliseconds pause, const call_class& c, std::string_view by) {
  base::error e = make_error(
      reason::throttled,
      base::error_code::throttled,
      std::string(by) + " (" + c.text() + "); next try in " +
          std::to_string((pause.count() + 999) / 1000) + " s"
  );
  e.retry_after = pause;
  e.http_status = 429;
  return e;
}

// Not every fault of the transport is worth another try here.
bool worth_repeating(const base::error& e) {
  return e.code == base::error_code::transient || e.code == base::error_code::outcome_unknown ||
         e.code == base::error_code::deadline;
}

} // namespace

// Retry-After counts from the server's own clock when it tells it.
std::optional<milliseconds>
retry_advice(const net::header_list& headers, const base::clock& clock) {
  net::response r;
  r.headers = headers;
  const auto date = r.header("date");
  const auto server = date ? base::parse_http_date(*date) : std::nullopt;
  return net::retry_after(r, server ? *server : clock.wall());
}

std::optional<std::string> response::header(std::string_view lower_case_name) const {
  for (const auto& [name, value] : headers) {
    if (name == lower_case_name) {
      return value;
    }
  }
  return std::nullopt;
}

void pipeline::note_date(const net::response& answer) const {
  constexpr std::int64_t believable_s = 2; // whole seconds, and the answer's way here
  const auto date = answer.header("date");
  const auto server = date ? base::parse_http_date(*date) : std::nullopt;
  if (!server) {
    return;
  }
  const auto apart = std::chrono::round<std::chrono::seconds>(*server - o_.clock->wall()).count();
  skew_s_ = apart < -believable_s || apart > believable_s ? apart : 0;
}

base::wall_time pipeline::server_now() const {
  return o_.clock->wall() + std::chrono::seconds(skew_s_.load());
}

base::result<std::string> pipeline::absolute(std::string_view target) const {
  if (!target.empty() && target.front() == '/') {
    return o_.resource_manager + std::string(target);
  }
  const auto given = net::parse_url(target);
  const auto ours = net::parse_url(o_.resource_manager);
  if (!given || !ours || !(given->origin == ours->origin)) {
    return make_error(
        reason::invalid,
        base::error_code::permanent,
        "Azure handed out a link to another host; the token is not sent there"
    );
  }
  return std::string(target);
}

base::result<base::secret> pipeline::token(const scope& call) const {
  return o_.tokens->get(
      call, token_environment{*o_.transport, *o_.clock, *o_.proof, o_.protect, o_.floor}
  );
}

base::result<void> pipeline::authenticate(const scope& call) const {
  const auto got = token(call);
  if (!got) {
    return got.error();
  }
  return {};
}

// Pauses that Azure asked for, then the call's own turn, then whatever pause began meanwhile.
base::result<void>
pipeline::pass_throttle(const scope& call, const call_class& c, milliseconds longest) const {
  bool has_turn = false;
  for (;;) {
    const milliseconds left = o_.throttling->pause_left(c, o_.clock->steady());
    if (left <= milliseconds(0)) {
      if (has_turn) {
        return call.check();
      }
      if (auto ready = wait_for_turn(call, c, longest); !ready) {
        return ready;
      }
      has_turn = true;
      continue;
    }
    if (left > longest || left > call.remaining()) {
      return throttled_for(left, c, "Azure throttles this subscription");
    }
    // Spread the ones that wait together.
    const auto spread = milliseconds(
        static_cast<std::int64_t>(static_cast<double>(left.count()) * 0.2 * net::random_jitter())
    );
    if (auto slept = rest(call, c, left + spread); !slept) {
      return slept;
    }
  }
}

base::result<void> pipeline::rest(const scope& call, const call_class& c, milliseconds time) const {
  if (time >= o_.floor) { // a shorter one is over before anybody could see it
    if (auto go_on = call.checkpoint(base::json::object(
            {{"phase", "wait"},
             {"reason", "throttled"},
             {"class", c.text()},
             {"for_ms", static_cast<std::int64_t>(time.count())}}
        ));
        !go_on) {
      return go_on;
    }
  }
  return call.wait(time);
}

base::result<void>
pipeline::wait_for_turn(const scope& call, const call_class& c, milliseconds longest) const {
  if (call.can_wait() && c.kind == call_kind::read) {
    const milliseconds courtesy = o_.throttling->courtesy(c, o_.clock->steady());
    if (courtesy > milliseconds(0) && courtesy < call.remaining()) {
      if (auto slept = rest(call, c, std::min(courtesy, longest)); !slept) {
        return slept;
      }
    }
  }
  const milliseconds most = std::min(longest, call.remaining());
  const auto wait = o_.throttling->take_turn(c, o_.clock->steady(), o_.floor, most);
  if (!wait) {
    return throttled_for(o_.floor * 60, c, "this subscription's own call budget is used up");
  }
  if (*wait > milliseconds(0)) {
    if (auto slept = rest(call, c, *wait); !slept) {
      o_.throttling->give_back(c, o_.clock->steady());
      return slept;
    }
  }
  return {};
}

// One request with a token; a refused token is renewed once.
base::result<net::response> pipeline::authorised(const scope& call, net::request& r) const {
  const net::header_list conditions = r.headers;
  for (bool second = false;;) {
    const auto bearer = token(call);
    if (!bearer) {
      return bearer.error();
    }
    r.headers = {
        {"Authorization", "Bearer " + std::string(bearer->reveal())},
        {"Accept", "application/json"},
        {"Accept-Language", "en-US"},
        {"x-ms-client-request-id", base::uuid::random().dashed()},
        {"x-ms-correlation-request-id", call.correlation_id()},
        {"x-ms-return-client-request-id", "true"}};
    r.headers.insert(r.headers.end(), conditions.begin(), conditions.end());
    r.deadline = std::min(one_exchange, call.remaining());
    auto answer = o_.transport->perform(r);
    const bool refused = answer && answer->status == 401;
    if (refused && second) {
      o_.tokens->refused_again(*bearer, claims_of(*answer), o_.clock->steady());
    } else if (refused) {
      o_.tokens->invalidate(*bearer, claims_of(*answer), o_.clock->steady());
    }
    if (!refused || second) {
      return answer;
    }
    r.headers = conditions;
    second = true;
  }
}

base::result<net::response>
pipeline::exchange(const scope& call, net::request& r, const call_class& c) const {
  r.stop_requested = [&call] { return call.should_stop(); };
  auto answer = authorised(call, r);
  if (answer) {
    note_date(*answer);
  }
  if (answer && answer->status == 429) {
    const error_body body = parse_error(429, std::string_view(answer->body));
    if (reason_of(map_error(body, "")) == reason::throttled) {
      o_.throttling->refused(
          c, body, o_.clock->steady(), retry_advice(answer->headers, *o_.clock), o_.floor
      );
    }
  } else if (answer) {
    o_.throttling->answered(c, answer->headers, o_.clock->steady(), o_.floor);
  }
  return answer;
}

base::result<response> pipeline::read(
    const scope& call, std::string_view target, std::string_view what, patience p
) const {
  const auto url = absolute(target);
  if (!url) {
    return base::with_context(url.error(), what);
  }
  const bool lasting = p == patience::lasting;
  const milliseconds longest = p == patience::brief ? o_.floor * 60 : milliseconds::max();
  const net::backoff pause{o_.floor, std::max(o_.floor, o_.cap)};
  const call_class c = classify("GET", *url, call.region());
  for (unsigned attempt = 0;; ++attempt) {
    if (auto free = pass_throttle(call, c, longest); !free) {
      return base::with_context(free.error(), what);
    }
    net::request r;
    r.url = *url;
    auto answer = exchange(call, r, c);
    base::error failure;
    if (answer && is_success(answer->status)) {
      auto body = answer->body.empty() ? base::result<base::json>(base::json())
                                       : base::json::parse(answer->body);
      if (body) {
        return to_response(*answer, std::move(body).value());
      }
      failure = make_error(
          reason::ambiguous,
          base::error_code::transient,
          std::string(what) + ": the answer is not JSON (" + body.error().message + ")"
      );
    } else if (answer) {
      failure = failure_of(*answer, what, *o_.clock);
    } else {
      failure = base::with_context(answer.error(), what);
      if (is_stop(failure) || !worth_repeating(failure)) {
        return failure;
      }
      failure.code = base::error_code::transient;
      add_detail(failure, "reason", name_of(reason::ambiguous));
    }
    if (auto go_on = call.check(); !go_on) {
      return base::with_context(go_on.error(), what);
    }
    const reason why = reason_of(failure);
    const bool passing =
        why == reason::ambiguous || failure.http_status == 429 || why == reason::throttled;
    // A 404 without a meaningful code will not get better within seconds.
    const bool patient = lasting || (p == patience::watching && why == reason::throttled);
    const bool hopeless =
        !passing || failure.http_status == 404 || (!patient && attempt + 1 >= brief_attempts);
    if (hopeless) {
      return failure;
    }
    if (why == reason::throttled) {
      continue; // the class-wide pause does the waiting
    }
    const milliseconds delay =
        pause.delay(std::min(attempt, 10U), net::random_jitter(), failure.retry_after);
    if (delay > longest || delay > call.remaining()) {
      return failure;
    }
    if (auto slept = call.wait(delay); !slept) {
      return base::with_context(slept.error(), what);
    }
  }
}

// Was the write refused only because a resource provider was not registered, and is it now?
base::result<bool> pipeline::registered(
    const scope& call, const write_request& w, const net::response& answer, unsigned tries
) const {
  const std::string provider =
      answer.status == 409 && o_.providers
          ? missing_provider(parse_error(answer.status, std::string_view(answer.body)))
          : std::string();
  if (provider.empty() || tries + 1 >= write_attempts) {
    return false;
  }
  if (tries > 0) {
    // Registered, but not in this region yet.
    if (auto slept = call.wait(o_.floor * 10); !slept) {
      return slept.error();
    }
  }
  if (auto done = o_.providers->ensure(*this, call, w.path, provider); !done) {
    return done.error();
  }
  return true;
}

base::result<response> pipeline::write(const scope& call, const write_request& w) const {
  const auto url = absolute(w.path);
  if (!url) {
    return base::with_context(url.error(), w.what);
  }
  const net::backoff pause{o_.floor, std::max(o_.floor, o_.cap)};
  const call_class c = classify(w.method, *url, call.region());
  for (unsigned attempt = 0;; ++attempt) {
    if (auto free = pass_throttle(call, c, o_.floor * 300); !free) {
      return base::with_context(free.error(), w.what);
    }
    net::request r;
    r.method = w.method;
    r.url = *url;
    r.fresh_connection = w.fresh;
    if (w.body) {
      r.body = w.body->dump();
    }
    if (w.create_only) {
      r.headers = {{"If-None-Match", "*"}};
    }
    auto answer = exchange(call, r, c);
    if (answer && is_success(answer->status)) {
      auto body = base::json::parse(answer->body);
      return to_response(*answer, body ? std::move(body).value() : base::json());
    }
    if (answer) {
      auto repeat = registered(call, w, *answer, attempt);
      if (!repeat) {
        return base::with_context(repeat.error(), w.what);
      }
      base::error failure = failure_of(*answer, w.what, *o_.clock);
      const bool passing = *repeat || reason_of(failure) == reason::throttled;
      if (!passing || attempt + 1 >= write_attempts) {
        return failure;
      }
      continue;
    }
    base::error failure = base::with_context(answer.error(), w.what);
    if (is_stop(failure) || failure.code == base::error_code::auth) {
      return failure;
    }
    const bool not_sent =
        failure.code == base::error_code::transient && !failure.may_have_been_sent;
    if (!not_sent || attempt + 1 >= connect_attempts) {
      if (worth_repeating(failure)) {
        add_detail(failure, "reason", name_of(reason::ambiguous));
      }
      return failure;
    }
    if (auto slept = call.wait(pause.delay(attempt, net::random_jitter())); !slept) {
      return base::with_context(slept.error(), w.what);
    }
  }
}

} // namespace siteagent::azure::arm
