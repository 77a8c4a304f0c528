// SPDX-License-Identifier: MIT
// The Authorization header: a token, or an OIDC access token by client credentials, cached until
// 30 s before it expires. A refused token or secret is read again where it lies. Internal to
// core/waldur. [any thread]
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/net/transport.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::waldur {

struct client_options;

// What is known of one token, or of one OIDC client.
struct credentials {
  std::mutex mutex;    // held while a token is fetched: one flight
  base::secret secret; // the token or the OIDC secret
  base::secret header;
  base::steady_time expires{};
  std::mutex token_mutex; // of what follows; the writer holds both
  base::secret access_token;
};

// OIDC clients, by token endpoint, client id and secret, as long as somebody uses them. [any
// thread]
class token_cache {
public:
  std::shared_ptr<credentials> find_or_make(const client_options& options);

private:
  struct entry {
    std::string url;
    std::string client_id;
    base::secret secret; // as configured
    std::weak_ptr<credentials> shared;
  };

  std::mutex mutex_;
  std::vector<entry> entries_;
};

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
  const std::shared_ptr<credentials> credentials_; // with other clients of the same OIDC client
};

} // namespace siteagent::waldur
