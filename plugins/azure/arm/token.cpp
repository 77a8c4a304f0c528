// SPDX-License-Identifier: MIT
#include "plugins/azure/arm/token.hpp"

#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/net/retry.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/error_map.hpp"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>

namespace siteagent::azure::arm {

namespace {

using std::chrono::seconds;

constexpr seconds fallback_lifetime{300};
constexpr seconds refresh_margin{120};
constexpr seconds last_margin{30};
constexpr milliseconds refresh_pause{3'000};
constexpr milliseconds refusal_memory{60'000};
constexpr unsigned attempts = 4;

// The one place where the secret stands in plain text longer than a call.
struct wiped_body {
  std::string& text;

  ~wiped_body() { OPENSSL_cleanse(text.data(), text.size()); }
};

std::optional<std::int64_t> first_code(const base::json& body) {
  return body["error_codes"][0].integer();
}

struct advice {
  std::int64_t code;
  std::string_view text;
};

constexpr auto known_codes = std::to_array<advice>({
    {7000215, "the client secret is wrong; set client_secret to the secret's value, not its id"},
    {7000222, "the client secret has expired; make a new one and set client_secret"},
    {700016, "client_id is unknown in this tenant; check client_id and tenant_id"},
    {90002, "the tenant does not exist; check tenant_id"},
    {900023, "tenant_id is malformed"},
    {70011, "cloud.audience is not accepted"},
    {500011, "cloud.audience is unknown in this tenant"},
    {53003, "a conditional access policy blocks the service principal"},
});

} // namespace

base::result<token_answer> parse_token(std::string_view body, base::wall_time now) {
  const auto document = base::json::parse(body);
  const auto token = document ? (*document)["access_token"].string() : std::nullopt;
  if (!token || token->empty()) {
    return make_error(
        reason::ambiguous,
        base::error_code::transient,
        "get an Azure token: the answer holds no access_token; check cloud.authority"
    );
  }
  token_answer out;
  out.token = base::secret(*token);
  std::optional<std::int64_t> lifetime = (*document)["expires_in"].integer();
  if (!lifetime) {
    if (const auto at = (*document)["expires_on"].integer()) {
      lifetime = *at - std::chrono::duration_cast<seconds>(now.time_since_epoch()).count();
    }
  }
  out.lifetime = lifetime && *lifetime > 0 ? seconds(*lifetime) : fallback_lifetime;
  if (const auto refresh = (*document)["refresh_in"].integer(); refresh && *refresh > 0) {
    out.refresh_in = seconds(*refresh);
  }
  return out;
}

base::error token_error(const net::response& answer, const principal& who) {
  const auto document = base::json::parse(answer.body);
  const base::json body = document ? *document : base::json();
  const auto code = first_code(body);
  const std::string name = body["error"].string_or("HTTP " + std::to_string(answer.status));
  const bool passing = answer.status == 429 || answer.status == 408 || answer.status >= 500 ||
                       code == 90033 || code == 50196 || name == "temporarily_unavailable" ||
                       name == "server_error";
  std::string message = "get an Azure token for client " + who.client_id + " in tenant " +
                        who.tenant + ": HTTP " + std::to_string(answer.status) + " " + name;
  if (code) {
    message += " AADSTS" + std::to_string(*code);
  }
  for (const advice& a : known_codes) {
    if (code == a.code) {
      message += "; " + std::string(a.text);
    }
  }
  base::error e = make_error(
      passing ? reason::ambiguous : reason::credentials,
      passing ? base::error_code::transient : base::error_code::auth,
      std::move(message)
  );
  e.http_status = answer.status;
  e.provider_code = code ? "AADSTS" + std::to_string(*code) : name;
  return e;
}

base::result<base::secret> token_source::get(const scope& call, const token_environment& env) {
  std::unique_lock lock(mutex_);
  for (;;) {
    const base::steady_time now = env.clock.steady();
    const bool usable = held_ && now < held_->unusable_at;
    const bool due = !held_ || now >= held_->refresh_at;
    if (usable && (!due || fetching_ || now < no_refresh_before_)) {
      return held_->token;
    }
    if (!fetching_) {
      auto fresh = fetch_locked(lock, call, env);
      // The old token still works: a passing failure of the token endpoint harms nobody.
      if (!fresh && usable && held_ && fresh.error().code == base::error_code::transient) {
        return held_->token;
      }
      return fresh;
    }
    changed_.wait_for(lock, milliseconds(50));
    if (auto go_on = call.check(); !go_on) {
      return go_on.error();
    }
  }
}

base::result<base::secret> token_source::fetch_locked(
    std::unique_lock<std::mutex>& lock, const scope& call, const token_environment& env
) {
  fetching_ = true;
  const std::string claims = claims_;
  const std::optional<refusal> refused = refusal_;
  lock.unlock();
  const auto obtain = [&]() -> base::result<token_answer> {
    auto secret = env.read_secret();
    if (!secret) {
      return secret.error();
    }
    if (refused && env.clock.steady() < refused->until && refused->secret == *secret) {
      return refused->error;
    }
    auto got = request(call, env, *secret, claims);
    if (!got && got.error().code == base::error_code::auth) {
      const std::lock_guard guard(mutex_);
      refusal_ = refusal{got.error(), *secret, env.clock.steady() + refusal_memory};
    }
    if (got) {
      env.protect(got->token.reveal());
    }
    return got;
  };
  // Whatever happens, the others must not wait for this fetch for ever.
  base::result<token_answer> answer =
      make_error(reason::ambiguous, base::error_code::transient, "");
  try {
    answer = obtain();
  } catch (...) {
    lock.lock();
    fetching_ = false;
    changed_.notify_all();
    throw;
  }
  lock.lock();
  fetching_ = false;
  no_refresh_before_ = env.clock.steady() + refresh_pause;
  changed_.notify_all();
  if (!answer) {
    return answer.error();
  }
  refusal_.reset();
  if (claims_ == claims) {
    claims_.clear();
  }
  keep(*answer, env.clock.steady());
  return answer->token;
}

base::result<token_answer> token_source::request(
    const scope& call,
    const token_environment& env,
    const base::secret& secret,
    const std::string& claims
) {
  net::query_list form{
      {"grant_type", "client_credentials"},
      {"client_id", who_.client_id},
      {"client_secret", std::string(secret.reveal())},
      {"scope", who_.audience + "/.default"}};
  if (!claims.empty()) {
    form.emplace_back("claims", claims);
  }
  net::request r;
  r.method = "POST";
  r.url = who_.authority + "/" + net::encode(who_.tenant) + "/oauth2/v2.0/token";
  r.headers = {{"Accept", "application/json"}};
  r.content_type = "application/x-www-form-urlencoded";
  r.body = net::build_query(form);
  OPENSSL_cleanse(form[2].second.data(), form[2].second.size());
  const wiped_body wipe{r.body};
  r.stop_requested = [&call] { return call.should_stop(); };
  const net::backoff pause{env.retry_first, milliseconds(30'000)};
  for (unsigned attempt = 0;; ++attempt) {
    if (auto go_on = call.check(); !go_on) {
      return go_on.error();
    }
    r.deadline = std::min(milliseconds(30'000), call.remaining());
    auto sent = env.transport.perform(r);
    std::optional<milliseconds> advised;
    base::error failure;
    if (sent && sent->status == 200) {
      return parse_token(sent->body, env.clock.wall());
    }
    if (sent) {
      failure = token_error(*sent, who_);
      advised = net::retry_after(*sent, env.clock.wall());
      failure.retry_after = advised;
    } else {
      // A token request changes nothing: a lost answer is only a failed read.
      failure = base::with_context(std::move(sent).error(), "get an Azure token");
      failure.code = base::error_code::transient;
    }
    if (auto go_on = call.check(); !go_on) {
      return go_on.error();
    }
    const milliseconds delay = pause.delay(attempt, net::random_jitter(), advised);
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
  const auto life = std::chrono::duration_cast<milliseconds>(answer.lifetime);
  // Some minutes early, but never before four fifths of a short life: a ten-second token must not
  // mean a request per call.
  const auto refresh = std::max<milliseconds>(life - refresh_margin, life * 4 / 5);
  const auto last = std::max<milliseconds>(life - last_margin, life * 9 / 10);
  held_ = held{answer.token, now + refresh, now + last};
  if (answer.refresh_in && *answer.refresh_in < answer.lifetime) {
    held_->refresh_at = std::min(
        held_->refresh_at, now + std::chrono::duration_cast<milliseconds>(*answer.refresh_in)
    );
  }
  no_refresh_before_ = {};
}

void token_source::invalidate(const base::secret& token, std::string claims) {
  const std::lock_guard guard(mutex_);
  if (held_ && held_->token == token) {
    held_.reset();
  }
  if (!claims.empty()) {
    claims_ = std::move(claims);
  }
}

} // namespace siteagent::azure::arm
