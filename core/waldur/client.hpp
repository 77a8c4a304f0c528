// SPDX-License-Identifier: MIT
// Waldur's REST API: one function per call of the contract (its numbers in brackets). All lists are
// read to their last page or are an error. GETs are retried here on transient failures (the one
// retry layer for reads: 3 attempts, back-off, Retry-After); writes are sent once.
//
// Errors: base::error with http_status; 401 -> auth; 403 -> forbidden; 404 -> not_found;
// 409 and 400 -> conflict / invalid; 405 -> unsupported; 3xx and other 4xx -> permanent;
// 408/5xx and network -> transient, 429 -> throttled; a write that may have happened (network, 408,
// 502, 504, an undocumented 2xx) -> outcome_unknown; an answer that is no JSON of the documented
// shape -> transient; stop_requested -> cancelled, or outcome_unknown for a write already sent.
// A message names the call, the object, the status and at most 500 bytes of the server's own words,
// and never a token. Only the documented code of a call is success.
// Blocking: a write for at most 60 s, one page of a read for at most three times that and two
// pauses of 60 s at most; a longer Retry-After is handed to the caller in error::retry_after. [any
// thread]
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/net/transport.hpp"
#include "core/waldur/people.hpp"
#include "core/waldur/types.hpp"
#include "core/waldur/usage.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::waldur {

class token_cache;
// For client_options::tokens.
std::shared_ptr<token_cache> make_token_cache();

struct client_options {
  std::string
      api_root; // "https://waldur.example.com" (no /api); requests go to api_root + "/api/..."
  base::secret token;         // "Token <token>"
  std::string oidc_token_url; // set: client credentials instead of the token
  std::string oidc_client_id;
  base::secret oidc_client_secret;
  // Clients with the same cache and the same OIDC client use one access token; null: its own.
  std::shared_ptr<token_cache> tokens;
  // Reads the token, or the OIDC secret, where it lies; asked once for each refusal, and a value
  // that is new is tried at once. Empty: it lies nowhere else. [any thread]
  std::function<base::result<base::secret>()> read_secret_again;
  std::string user_agent;               // "waldur-site-agent-<mode>/<version>"
  std::function<bool()> stop_requested; // [any thread]; may be empty
  // What was tolerated: a row of a list that could not be read and was left out. [any thread]
  std::function<void(std::string)> on_warning;
  // The pause before a read is repeated; empty = a real one that ends early at stop_requested.
  std::function<void(std::chrono::milliseconds)> sleep;
  const base::clock* clock = &base::real_clock(); // never null; outlives the client
};

class client {
public:
  // `transport` is shared between the offerings that use the same origin and TLS settings.
  client(client_options options, std::shared_ptr<net::transport> transport);
  ~client();
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  // Orders
  base::result<std::vector<order>> list_orders(const base::uuid& offering
  ); // [O1] pending-provider, executing; by created
  base::result<order> get_order(const base::uuid& order);             // [O4]
  base::result<std::string> get_order_state(const base::uuid& order); // [O4] field=uuid,state
  base::result<void> approve_by_provider(const base::uuid& order);    // [O5]
  base::result<void> reject_by_provider(const base::uuid& order, std::string_view comment); // [O6]
  base::result<void> set_state_done(const base::uuid& order);                               // [O8]
  base::result<void> set_state_erred(const base::uuid& order, std::string_view message);    // [O9]

  // Offering, plans, keys
  base::result<base::json> users_me();                             // [C2]
  base::result<offering> get_offering(const base::uuid& offering); // [C3]
  base::result<plan> get_plan(const base::uuid& plan);             // [K3]
  // [C4]+[U9] uuid hex -> public key text; empty when the customer is no service provider
  base::result<std::map<std::string, std::string>> list_ssh_keys(const base::uuid& customer);

  // Resources
  base::result<resource> get_resource(const base::uuid& resource); // [R2]
  base::result<std::vector<resource>> list_resources(
      const base::uuid& offering,
      const std::vector<std::string>& states,
      const std::optional<base::uuid>& project = std::nullopt
  ); // [R1]
  base::result<void>
  set_backend_id(const base::uuid& resource, std::string_view backend_id); // [R3]
  base::result<void>
  set_backend_metadata(const base::uuid& resource, const base::json& metadata); // [R4]
  base::result<void> set_limits(const base::uuid& resource, const limits& l);   // [R5]
  base::result<void>
  set_endpoints(const base::uuid& resource, const std::vector<endpoint>& e);             // [R6]
  base::result<void> set_as_erred(const base::uuid& resource, std::string_view message); // [R7]
  base::result<void> set_as_ok(const base::uuid& resource);                              // [R8]
  base::result<void> refresh_last_sync(const base::uuid& resource);                      // [R9]

  // Usage
  base::result<std::vector<component_usage>>
  list_usages(const base::uuid& resource, std::string_view billing_period); // [G1] "2026-11-01"
  base::result<void> set_usage(
      const base::uuid& resource, std::string_view date, const std::vector<usage_item>& usages
  ); // [G2]

  // The shares of single users (client_usage.cpp).
  base::result<std::vector<user_usage>>
  list_user_usages(const base::uuid& resource, std::string_view billing_period); // [G5]
  base::result<void> set_user_usages(
      const base::uuid& component_usage, const std::vector<user_usage_item>& items
  ); // [G3]
  base::result<void>
  set_user_usage(const base::uuid& component_usage, const user_usage_item& item); // [G4]

  // Registration (client_registration.cpp). [N1-N4] The service of the offering's identity, which
  // is found or made first and told `build` once per client.
  base::result<base::uuid> register_service(
      const base::uuid& offering,
      const agent_build& build,
      std::string_view name,
      std::string_view mode
  );
  // [N5] At most 100 characters of `backend_type` are sent.
  base::result<void> register_processor(
      const base::uuid& service,
      std::string_view name,
      std::string_view backend_type,
      std::string_view backend_version
  );
  base::result<void>
  set_statistics(const base::uuid& service, const base::json& statistics); // [N6]

  // Events (client_events.cpp). The registrations find the agent's identity or make one;
  // telling `build` to one that is there is register_service()'s.
  // [6.3] One queue for all types. Errors beyond those above: 404 and 405 = an older server; 400 =
  // a type it does not know; 409 = the queue belongs to another user of Waldur.
  base::result<event_queue> register_queue(
      const base::uuid& offering,
      const agent_build& build,
      const std::vector<std::string>& object_types
  );
  // [6.2] A queue of its own for one type, on older servers.
  base::result<event_queue> register_legacy_queue(
      const base::uuid& offering, const agent_build& build, std::string_view object_type
  );
  // [O1] of one resource, as list_orders
  base::result<std::vector<order>>
  list_orders_of(const base::uuid& offering, const base::uuid& resource);
  base::result<void> ping_offering(const base::uuid& offering);            // [O3]
  base::result<std::string> get_import_request(const base::uuid& request); // [I1] its state
  base::result<void> start_import(const base::uuid& request);              // [I2]
  base::result<void> finish_import(const base::uuid& request);             // [I2]
  base::result<void> fail_import(const base::uuid& request, std::string_view message); // [I3]
  base::result<std::optional<base::uuid>> find_project(std::string_view slug);         // [I4]
  base::result<bool> is_importable_known(
      const base::uuid& offering, const base::uuid& project, std::string_view backend_id
  ); // [I5]
  base::result<void> submit_importable(
      const base::uuid& offering,
      const base::uuid& project,
      std::string_view backend_id,
      const base::json& metadata
  ); // [I6]
  base::result<void> report_policy_result(
      const base::uuid& policy, const base::uuid& resource, bool success, std::string_view message
  ); // [P1]

  // Logs (client_logs.cpp). [L1] At most 100. The agent's identity is found or made, as above. 404
  // = an older server.
  base::result<void> ship_logs(
      const base::uuid& offering, const agent_build& build, const std::vector<log_line>& lines
  );

  // Loading components and the probe (client_components.cpp). [C3] as the server shows them
  base::result<std::vector<base::json>> list_components(const base::uuid& offering);
  base::result<void>
  create_component(const base::uuid& offering, const base::json& component); // [K1]
  // With the uuid of the one that is changed.
  base::result<void>
  update_component(const base::uuid& offering, const base::json& component); // [K2]
  base::result<void> check_access();                                         // [C2] field=uuid

  // People (client_people.cpp). Lists of users without those that are restricted.
  // [U8] The names of what the offering shows of its users.
  base::result<std::vector<std::string>> list_user_attributes(const base::uuid& offering);
  // [U1] No states: all. `attributes`: as U8 names them; what is not exposed is left out.
  base::result<std::vector<offering_user>> list_offering_users(
      const base::uuid& offering,
      const std::vector<std::string>& states,
      const std::vector<std::string>& attributes
  );
  base::result<std::vector<offering_user>>
  find_offering_users(const base::uuid& offering, const base::uuid& user); // [U1] user_uuid
  base::result<offering_user> get_offering_user(const base::uuid& user);
  // [U2, U4-U7] `action`: begin_creating, set_error_creating, set_deleting ...; `body` may be null.
  base::result<void>
  change_offering_user(const base::uuid& user, std::string_view action, const base::json* body);
  base::result<void>
  set_offering_username(const base::uuid& user, std::string_view username); // [U3]
  base::result<std::vector<team_member>>
  list_team(const base::uuid& resource, bool consenting); // [R10]
  base::result<std::vector<project_account>>
  list_accounts(const base::uuid& offering, account_kind kind);                       // [U10]
  base::result<std::vector<user_limit>> list_user_limits(const base::uuid& offering); // [G6]
  base::result<void> set_membership_statuses(
      const base::uuid& resource, const std::vector<member_status>& statuses
  ); // [R11] replaces all of the resource

private:
  struct impl;
  std::unique_ptr<impl> impl_;
};

} // namespace siteagent::waldur
