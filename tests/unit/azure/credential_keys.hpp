// SPDX-License-Identifier: MIT
// Certificates for the tests of credentials, made while they run.
#pragma once

#include "core/base/clock.hpp"

#include <chrono>
#include <string>

namespace siteagent::azure::test {

struct test_certificate {
  std::string certificate; // PEM
  std::string key;         // PEM
  std::string locked_key;  // PEM, encrypted with "pass-word"
  std::string pkcs12;      // with both, locked with "pass-word"; its last byte is 0x0a
  std::string public_key;  // PEM
  std::string modulus;     // of the key, as base64url, for a JSON web key

  std::string both() const { return key + certificate; }
};

// Valid from `start` for `days`. Every call signs with a key of its own unless `same_key_as` names
// one made before.
test_certificate make_certificate(
    base::wall_time start, int days = 365, const test_certificate* same_key_as = nullptr
);
// A certificate with a key on an elliptic curve: key and certificate in PEM.
std::string make_curve_certificate(base::wall_time start);

// A JWT signed by RS256 with that certificate's key.
std::string
sign_jwt(const test_certificate& with, const std::string& header, const std::string& claims);

} // namespace siteagent::azure::test
