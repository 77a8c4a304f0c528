// SPDX-License-Identifier: MIT
// Requests to Azure Resource Manager: token, correlation ids, throttling, retries of reads, errors
// as values. Writes are sent once: whoever writes decides what a lost answer means.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/net/transport.hpp"
#include "plugins/azure/arm/registration.hpp"
#include "plugins/azure/arm/scope.hpp"
#include "plugins/azure/arm/throttle.hpp"
#include "plugins/azure/arm/token.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::azure::arm {

struct response {
  int status = 0;
  net::header_list headers; // names in lower case
  base::json body;          // null: empty or, after a write, unreadable
  std::string request_id;

  std::optional<std::string> header(std::string_view lower_case_name) const;
};

// Retry-After in any of its forms; a date counts from the answer's own Date when it has one.
std::optional<milliseconds> retry_advice(const net::header_list& headers, const base::clock& clock);

// How long a read may wait for Azure to recover.
enum class patience : std::uint8_t {
  brief,    // a few tries, about a quarter of a minute: the caller can come back later
  watching, // the same tries, but throttling is waited out: a monitor is read
  lasting   // until the call's deadline: an operation's object is read
};

struct write_request {
  std::string method; // PUT, POST, DELETE
  std::string path;   // percent-encoded, with the query
  std::optional<base::json> body;
  bool create_only = false; // If-None-Match: *
  bool fresh = false;       // a connection of its own
  std::string what;         // for errors: "create network interface nicweb"
};

struct pipeline_options {
  std::string resource_manager; // origin
  net::transport* transport = nullptr;
  const base::clock* clock = nullptr;
  std::shared_ptr<token_source> tokens; // shared by the instances of one principal
  std::shared_ptr<throttle> throttling; // shared by the instances of one subscription
  std::shared_ptr<registrar> providers; // the same; empty: a missing registration is only reported
  credential_ptr proof;
  std::function<void(std::string_view)> protect;
  milliseconds floor{1'000}; // polling.min_ms: the unit of every pause
  milliseconds cap{60'000};  // polling.max_ms: the longest pause between two polls
};

// [any thread]
class pipeline {
public:
  explicit pipeline(pipeline_options options) : o_(std::move(options)) {}

  // GET. `target`: a path, or an absolute URL handed out by Azure, which must have our origin and
  // is sent byte for byte. 2xx only; everything else is an error of map_error.
  base::result<response> read(
      const scope& call,
      std::string_view target,
      std::string_view what,
      patience p = patience::brief
  ) const;

  // One write; repeated only when it certainly was not carried out (429, no connection, or a
  // resource provider that had to be registered first). 2xx only. An error with may_have_been_sent,
  // or reason ambiguous, wants a look before anything else.
  base::result<response> write(const scope& call, const write_request& w) const;

  // Proves that the credentials are accepted.
  base::result<void> authenticate(const scope& call) const;

  const pipeline_options& options() const { return o_; }

  // Azure's clock, as its answers tell it: ours, corrected when the two are more than two seconds
  // apart. Ours before the first answer.
  base::wall_time server_now() const;

private:
  base::result<net::response>
  exchange(const scope& call, net::request& r, const call_class& c) const;
  base::result<net::response> authorised(const scope& call, net::request& r) const;
  base::result<void>
  pass_throttle(const scope& call, const call_class& c, milliseconds longest) const;
  base::result<void>
  wait_for_turn(const scope& call, const call_class& c, milliseconds longest) const;
  // Sleeps; a wait that is worth telling is told to the host first.
  base::result<void> rest(const scope& call, const call_class& c, milliseconds time) const;
  base::result<bool> registered(
      const scope& call, const write_request& w, const net::response& answer, unsigned tries
  ) const;
  base::result<base::secret> token(const scope& call) const;
  base::result<std::string> absolute(std::string_view target) const;

  void note_date(const net::response& answer) const;

  pipeline_options o_;
  mutable std::atomic<std::int64_t> skew_s_{0}; // Azure's clock less ours
};

} // namespace siteagent::azure::arm
