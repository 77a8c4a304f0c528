// SPDX-License-Identifier: MIT
// --tls-auto: a throw-away authority and a certificate for loopback, signed by it.
#pragma once

#include "core/base/result.hpp"

#include <string>

namespace siteagent::emulators {

struct tls_files {
  std::string authority;   // DIR/ca.pem
  std::string certificate; // DIR/server.pem
  std::string key;         // DIR/server.key, mode 0600
};

// Makes the three files in `directory` (created when missing) for localhost, 127.0.0.1 and ::1. A
// complete set from an earlier start is used again, so that clients which trust it go on working.
base::result<tls_files> make_loopback_certificate(const std::string& directory);

} // namespace siteagent::emulators
