// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/token.hpp"

#include "core/net/retry.hpp"
#include "plugins/azure/error_map.hpp"

#include <openssl/crypto.h>

#include <algorithm>

namespace siteagent::azure::arm {

namespace {

using std::chrono::duration_cast;
using std::chrono::seconds;

constexpr seconds refresh_margin{120};
constexpr seconds refresh_spread{30}; // so that many agents do not renew in step
constexpr seconds last_margin{30};
constexpr milliseconds refresh_pause{3'000};
constexpr milliseconds refusal_memory{60'000};
constexpr milliseconds useless_memory{30'000};
constexpr milliseconds longest_pause{60'000};
constexpr milliseconds patient_exchange{30'000};
constexpr milliseconds brief_exchange{10'000}; // the old token still serves

// The one place where a secret stands in plain text longer than a call.
struct wiped_body {
  std::string& text;

  ~wiped_body() { OPENSSL_cleanse(text.data(), text.size()); }
};

bool is_shared_failure(const base::error& e) {
  return e.code == base::error_code::transient || e.code == base::error_code::auth;
}

} // namespace

base::result<base::secret> token_source::get(const scope& call, const token_environment& env) {
  std::unique_lock lock(mutex_);
  std::optional<std::uint64_t> waited_for;
  for (;;) {
    const base::steady_time now = env.clock.steady();
    const bool usable = held_ && now < held_->unusable_at;
    const bool due = !held_ || now >= held_->refresh_at;
    if (usable && (!due || fetching_ || now < no_refresh_before_)) {
      return held_->token;
    }
    if (waited_for && *waited_for != fetches_ && failure_) {
      return *failure_;
    }
    if (!fetching_) {
      auto fresh = fetch_locked(lock, call, env, !usable);
      // The old token still works: a passing failure of the token endpoint harms nobody.
      if (!fresh && usable && held_ && fresh.error().code == base::error_code::transient) {
        return held_->token;
      }
      return fresh;
    }
    if (!waited_for) {
      waited_for = fetches_;
    }
    changed_.wait_for(lock, milliseconds(50));
    if (auto go_on = call.check(); !go_on) {
      return go_on.error();
    }
  }
}

base::result<base::secret> token_source::fetch_locked(
    std::unique_lock<std::mutex>& lock,
    const scope& call,
    const token_environment& env,
    bool patient
) {
  fetching_ = true;
  failure_.reset();
  const std::string claims = claims_;
  lock.unlock();
  // Whatever happens, the others must not wait for this fetch for ever.
  base::result<token_answer> answer =
      make_error(reason::ambiguous, base::error_code::transient, "");
  const auto finish = [&] {
    lock.lock();
    fetching_ = false;
    ++fetches_;
    changed_.notify_all();
  };
  try {
    answer = obtain(call, env, claims, patient);
  } catch (...) {
    finish();
    throw;
  }
  finish();
  no_refresh_before_ = env.clock.steady() + refresh_pause;
  if (!answer) {
    if (is_shared_failure(answer.error())) {
      failure_ = answer.error();
    }
    return answer.error();
  }
  refusal_.reset();
  if (claims_ == claims) {
    claims_.clear();
  }
  keep(*answer, env.clock.steady());
  return answer->token;
}

base::result<token_answer> token_source::obtain(
    const scope& call, const token_environment& env, const std::string& claims, bool patient
) {
  auto material = env.proof.material();
  if (!material) {
    return material.error();
  }
  {
    const std::lock_guard guard(mutex_);
    if (refusal_ && env.clock.steady() < refusal_->until && refusal_->material == *material) {
      return refusal_->error;
    }
  }
  const auto attempt = [&]() -> base::result<token_answer> {
    if (auto ready = env.proof.look(env.transport, call); !ready) {
      return ready.error();
    }
    auto r = env.proof.compose(who_, *material, claims, env.clock.wall());
    if (!r) {
      return r.error();
    }
    env.protect(r->derived.reveal());
    return send(call, env, *r, patient);
  };
  auto got = attempt();
  if (!got && got.error().code == base::error_code::auth) {
    const std::lock_guard guard(mutex_);
    refusal_ = refusal{got.error(), *material, env.clock.steady() + refusal_memory};
  }
  if (got) {
    env.protect(got->token.reveal());
  }
  return got;
}

base::result<token_answer> token_source::send(
    const scope& call, const token_environment& env, token_request& r, bool patient
) const {
  const wiped_body wipe{r.http.body};
  r.http.stop_requested = [&call] { return call.should_stop(); };
  const unsigned attempts = patient ? env.proof.attempts() : 1;
  for (unsigned attempt = 0;; ++attempt) {
    if (auto go_on = call.check(); !go_on) {
      return go_on.error();
    }
    r.http.deadline = std::min(patient ? patient_exchange : brief_exchange, call.remaining());
    const auto sent = env.transport.perform(r.http);
    base::error failure;
    if (sent && sent->status == 200) {
      return env.proof.read(sent->body, env.clock.wall());
    }
    if (sent) {
      failure = env.proof.refusal(*sent, who_);
      failure.retry_after = net::retry_after(*sent, env.clock.wall());
    } else {
      // A token request changes nothing: a lost answer is only a failed read.
      failure = base::with_context(sent.error(), "get an Azure token for " + who_.name());
      failure.code = base::error_code::transient;
    }
    if (auto go_on = call.check(); !go_on) {
      return go_on.error();
    }
    const net::backoff pause{
        env.proof.first_pause(failure.http_status, env.unit), std::max(longest_pause, env.unit)};
    const milliseconds delay = pause.delay(attempt, net::random_jitter(), failure.retry_after);
    if (failure.code != base::error_code::transient || attempt + 1 >= attempts ||
        delay > call.remaining()) {
      return failure;
    }
    if (auto slept = call.wait(delay); !slept) {
      return slept.error();
    }
  }
}

void token_source::keep(const token_answer& answer, base::steady_time now) {
  const auto life = duration_cast<milliseconds>(answer.lifetime);
  // Some minutes early, but never before four fifths of a short life: a ten-second token must not
  // mean a request per call.
  const auto early = duration_cast<milliseconds>(refresh_margin) +
                     milliseconds(static_cast<std::int64_t>(
                         net::random_jitter() *
                         static_cast<double>(duration_cast<milliseconds>(refresh_spread).count())
                     ));
  const auto refresh = std::max<milliseconds>(life - early, life * 4 / 5);
  const auto last = std::max<milliseconds>(life - last_margin, life * 9 / 10);
  held_ = held{answer.token, now + refresh, now + last};
  if (answer.refresh_in && *answer.refresh_in < answer.lifetime) {
    held_->refresh_at =
        std::min(held_->refresh_at, now + duration_cast<milliseconds>(*answer.refresh_in));
  }
  no_refresh_before_ = {};
}

void token_source::invalidate(
    const base::secret& token, std::string claims, base::steady_time now
) {
  const std::lock_guard guard(mutex_);
  if (!claims.empty()) {
    claims_ = std::move(claims);
  }
  if (held_ && held_->token == token && now >= held_->kept_until) {
    held_.reset();
  }
}

void token_source::refused_again(
    const base::secret& token, std::string claims, base::steady_time now
) {
  const std::lock_guard guard(mutex_);
  if (!claims.empty()) {
    claims_ = std::move(claims);
  }
  if (held_ && held_->token == token && now >= held_->kept_until) {
    held_->kept_until = now + useless_memory;
  }
}

} // namespace siteagent::azure::arm
