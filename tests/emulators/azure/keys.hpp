// SPDX-License-Identifier: MIT
// Public keys and certificates of those who sign assertions, and the check of a signature.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"

#include <openssl/evp.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure_emulator {

struct free_public_key {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};

using public_key_ptr = std::unique_ptr<EVP_PKEY, free_public_key>;

// From PEM, a public key or a certificate; nullptr: neither.
public_key_ptr public_key(std::string_view pem);
// The RSA key of a JSON web key; nullptr: none.
public_key_ptr web_key_of(const base::json& web_key);

struct certificate_facts {
  std::string sha1;   // of the DER, as base64url: the x5t of assertions
  std::string sha256; // likewise: x5t#S256
  base::wall_time not_after;
};

std::optional<certificate_facts> certificate_of(std::string_view pem);

// `algorithm`: RS256 or PS256.
bool is_signed_by(
    EVP_PKEY* key, std::string_view algorithm, std::string_view text, std::string_view signature
);

} // namespace siteagent::azure_emulator
