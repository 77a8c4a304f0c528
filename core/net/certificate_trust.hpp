// SPDX-License-Identifier: MIT
// Which certificate authorities a connection trusts, and why a server's certificate was refused.
#pragma once

#include "core/base/result.hpp"

#include <openssl/ssl.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>

namespace siteagent::net {

// Parsed once and shared by every connection of a transport. [any thread]
using certificate_store = std::shared_ptr<X509_STORE>;

// `invalid`: not readable, or not one PEM certificate in it.
base::result<certificate_store> load_certificates(const std::string& file);

// Remembers why a server's certificate was refused; the HTTP library does not tell. [any thread]
class verification {
public:
  // TLS 1.2 or later, this store instead of the system's (unless null), and refusals noted here.
  // `this` must live as long as connections of the context.
  void apply(SSL_CTX* context, const certificate_store& store);

  // nullopt: no certificate was refused.
  std::optional<std::string> problem() const;

private:
  static int verify(X509_STORE_CTX* chain, void* self);

  std::atomic<bool> is_refused_{false};
  std::atomic<int> reason_{0};
};

} // namespace siteagent::net
