// SPDX-License-Identifier: MIT
// Access tokens: cached per principal, shared by all threads and instances, fetched by one thread
// at a time, renewed early.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/net/transport.hpp"
#include "plugins/azure/arm/credential.hpp"
#include "plugins/azure/arm/scope.hpp"
#include "plugins/azure/arm/token_answer.hpp"

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace siteagent::azure::arm {

// Everything a fetch needs that belongs to the caller's instance.
struct token_environment {
  net::transport& transport;
  const base::clock& clock;
  const credential& proof;
  std::function<void(std::string_view)> protect; // told every new token and assertion
  milliseconds unit{1'000};                      // of the pauses between attempts
};

// [any thread]
class token_source {
public:
  explicit token_source(principal who) : who_(std::move(who)) {}

  // The cached token while it is good. In the last minutes of its life (or past "refresh_in") one
  // caller tries once to renew it while all others go on with the old one, and so does that caller
  // when the endpoint is in passing trouble. Without a usable token everybody waits for the one
  // fetch, with retries, and shares its failure. Errors: auth (remembered for a minute for the same
  // credential, so that a wrong one locks nobody out), transient, stopped.
  base::result<base::secret> get(const scope& call, const token_environment& env);

  // Azure refused this token. `claims`: JSON a new token must satisfy, or "".
  void invalidate(const base::secret& token, std::string claims, base::steady_time now);
  // Azure refused this token too, fetched a moment ago because the one before was refused: it is
  // kept for half a minute, since a third would fare no better.
  void refused_again(const base::secret& token, std::string claims, base::steady_time now);

  const principal& who() const { return who_; }

private:
  struct held {
    base::secret token;
    base::steady_time refresh_at;
    base::steady_time unusable_at;
    base::steady_time kept_until = {}; // refused, and of no use to fetch another before
  };

  struct refusal {
    base::error error;
    base::secret material;
    base::steady_time until;
  };

  base::result<base::secret> fetch_locked(
      std::unique_lock<std::mutex>& lock,
      const scope& call,
      const token_environment& env,
      bool patient
  );
  base::result<token_answer>
  obtain(const scope& call, const token_environment& env, const std::string& claims, bool patient);
  base::result<token_answer>
  send(const scope& call, const token_environment& env, token_request& r, bool patient) const;
  void keep(const token_answer& answer, base::steady_time now);

  const principal who_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool fetching_ = false;
  std::uint64_t fetches_ = 0;          // ended ones
  std::optional<base::error> failure_; // of the last ended fetch, for those that waited for it
  std::optional<held> held_;
  std::optional<refusal> refusal_;
  base::steady_time no_refresh_before_{};
  std::string claims_;
};

} // namespace siteagent::azure::arm
