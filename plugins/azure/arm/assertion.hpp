// SPDX-License-Identifier: MIT
// Client assertions: a short-lived JWT signed with the key of a certificate that is registered with
// the application.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"

#include <openssl/evp.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::arm {

struct free_key {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

struct signing_certificate {
  std::unique_ptr<EVP_PKEY, free_key> key;
  std::string certificate;        // DER
  std::vector<std::string> chain; // DER of the issuers that came along, in their order
  std::string subject;            // for messages
  base::wall_time not_before;
  base::wall_time not_after;
};

// `bytes`: PEM with the certificate and its RSA key (the key may be encrypted), or PKCS#12, also as
// base64 text. Errors: auth, saying what is missing or does not fit.
base::result<signing_certificate>
load_certificate(std::string_view bytes, std::string_view password);

struct assertion_claims {
  std::string client_id;
  std::string audience; // the token endpoint's URL
  base::wall_time now;
  bool rs256 = false;      // AD FS; Entra ID prefers PS256
  bool with_chain = false; // x5c
};

// Valid for ten minutes; its start lies five minutes back, for clocks that differ. Errors: auth
// (the certificate's time is over or yet to come).
base::result<base::secret>
sign_assertion(const signing_certificate& with, const assertion_claims& claims);

} // namespace siteagent::azure::arm
