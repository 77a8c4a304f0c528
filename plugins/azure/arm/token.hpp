// SPDX-License-Identifier: MIT
// Access tokens by client secret: cached per principal, shared by all threads and instances,
// fetched by one thread at a time, renewed early.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/net/transport.hpp"
#include "plugins/azure/arm/scope.hpp"

#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>

namespace siteagent::azure::arm {

struct principal {
  std::string authority; // origin, "https://login.microsoftonline.com"
  std::string tenant;
  std::string client_id;
  std::string audience; // "https://management.azure.com"

  std::string key() const { return authority + "\n" + tenant + "\n" + client_id + "\n" + audience; }
};

// What a token answer holds, read defensively.
struct token_answer {
  base::secret token;
  std::chrono::seconds lifetime{300};
  std::optional<std::chrono::seconds> refresh_in;
};

// Lifetimes may be numbers, text, absolute ("expires_on") or missing.
base::result<token_answer> parse_token(std::string_view body, base::wall_time now);
// The words and class of a refused token request.
base::error token_error(const net::response& answer, const principal& who);

// Everything a fetch needs that belongs to the caller's instance.
struct token_environment {
  net::transport& transport;
  const base::clock& clock;
  std::function<base::result<base::secret>()>
      read_secret;                               // called per fetch: rotation needs no restart
  std::function<void(std::string_view)> protect; // told every new token
  milliseconds retry_first{1'000};
};

// [any thread]
class token_source {
public:
  explicit token_source(principal who) : who_(std::move(who)) {}

  // Blocks while another thread fetches or while fetching. Errors: auth (remembered for a minute
  // for the same secret, so that a wrong one locks nobody out), transient, stopped.
  base::result<base::secret> get(const scope& call, const token_environment& env);

  // Azure refused this token. `claims`: JSON a new token must satisfy, or "".
  void invalidate(const base::secret& token, std::string claims);

private:
  struct held {
    base::secret token;
    base::steady_time refresh_at;
    base::steady_time unusable_at;
  };

  struct refusal {
    base::error error;
    base::secret secret;
    base::steady_time until;
  };

  base::result<base::secret>
  fetch_locked(std::unique_lock<std::mutex>& lock, const scope& call, const token_environment& env);
  base::result<token_answer> request(
      const scope& call,
      const token_environment& env,
      const base::secret& secret,
      const std::string& claims
  );
  void keep(const token_answer& answer, base::steady_time now);

  const principal who_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool fetching_ = false;
  std::optional<held> held_;
  std::optional<refusal> refusal_;
  base::steady_time no_refresh_before_{};
  std::string claims_;
};

} // namespace siteagent::azure::arm
