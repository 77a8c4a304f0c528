// SPDX-License-Identifier: MIT
// What a request may look like and where it may go, decided before anything is sent. Pure
// functions.
#pragma once

#include "core/base/result.hpp"
#include "core/net/transport.hpp"
#include "core/net/url.hpp"

#include <string>
#include <string_view>

namespace siteagent::net {

// GET and HEAD: repeating them changes nothing, whatever happened to the first.
bool is_read(std::string_view method);
// These and PUT and DELETE.
bool is_idempotent(std::string_view method);

// No line break and no zero byte.
bool is_header_value(std::string_view text);

// Where the request goes. `permanent` with the reason: URL, method, origin not allowed, plain http
// beyond loopback, a header that is malformed or the transport's own.
base::result<url> check_request(const request& r, const transport_options& options);

// The target with the characters escaped that no URL may have.
std::string escaped_target(std::string_view target);

// Value of the Host header. Without the port on TLS: the library takes the name for SNI and for the
// certificate check from there, and would fail with a port in it.
std::string host_header(const origin& to);

} // namespace siteagent::net
