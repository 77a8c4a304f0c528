// SPDX-License-Identifier: MIT
// The Authorization header: a token, or an OIDC access token by client credentials, cached until
// 30 s before it expires. A refused token or secret is read again where it lies. Internal to
// core/waldur. [any thread]
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/net/transport.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <string_view>

namespace siteagent::waldur {

struct client_options;

class authorizer {
public:
  // Both must outlive this.
  authorizer(const client_options& options, net::transport& transport);

  // "Token ..." or "Bearer ...". With OIDC it may block for one exchange; callers that come
  // meanwhile wait for its answer. `auth`: refused by the token endpoint; transient or throttled:
  // no answer. Nothing was sent to Waldur in either case.
  base::result<base::secret> header();
  // After a 401 to `used`. True: another header() may help.
  bool renew(const base::secret& used);
  // Current tokens and secrets replaced by "***".
  std::string scrub(std::string_view text) const;

private:
  bool is_oidc() const;
  base::result<void> fetch(); // needs the lock, as the next ones
  bool is_secret_new();
  base::result<void> take(const net::response& r);
  net::request token_request() const;

  const client_options& options_;
  net::transport& transport_;
  mutable std::mutex mutex_; // held while a token is fetched: one flight
  mutable std::mutex token_mutex_;
  base::secret secret_; // the token or the OIDC secret
  base::secret header_;
  base::secret access_token_;
  base::steady_time expires_{};
};

} // namespace siteagent::waldur
