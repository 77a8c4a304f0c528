// SPDX-License-Identifier: MIT
// The agent's YAML file as checked structs (Waldur contract section 1).
//
// null is the same as absent. Integers are decimal and unquoted; booleans are true and false, and
// Python's yes/no/on/off with a warning; text is taken as it is written (0123 stays "0123").
// Unknown keys are warnings with a suggestion; top-level keys that begin with "x-" are free, as a
// place for anchors.
//
// Two fields, waldur_api_token and oidc_client_secret, also accept "${NAME}" (the whole value is
// one environment variable) and "file:/absolute/path" (the file's text without the line's end).
// Nothing else is expanded. Their values are protected in base::global_redactor() and are never
// part of a finding.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/decimal.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/base/uuid.hpp"
#include "core/config/value.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::config {

struct component {
  std::string type; // the key: "cpu"
  std::string measured_unit;
  std::string accounting_type; // usage | limit | one; from the server also fixed | few
  std::string label;
  base::decimal unit_factor = 1;
  std::optional<base::decimal> unit_factor_reporting;
  value raw; // every key that was set, for the plugin; to_json(raw) types it
};

struct offering {
  std::string name;
  std::string waldur_api_url; // without trailing "/" and without trailing "/api": the API's root is
                              // waldur_api_url + "/api/"
  base::secret waldur_api_token;
  std::string waldur_api_token_source; // "${NAME}" or "file:/path": see read_secret_again()
  std::string oidc_token_url;
  std::string oidc_client_id;
  base::secret oidc_client_secret;
  std::string oidc_client_secret_source;
  base::uuid uuid; // waldur_offering_uuid
  bool verify_ssl = true;
  std::string backend_type; // lower case
  // Routing after the fallback: absent or null = backend_type; "" = that role is off.
  std::string order_processing_backend;
  std::string membership_sync_backend;
  std::string reporting_backend;
  std::string username_management_backend = "base"; // base | "" = off
  bool stomp_enabled = false;
  bool stomp_membership_sync_enabled = false; // effective
  bool websocket_use_tls = true;
  std::string stomp_ws_host;
  std::uint16_t stomp_ws_port = 443;
  std::string stomp_ws_path = "/rmqws-stomp";
  bool resource_import_enabled = false;
  bool username_reconciliation_enabled = false;
  value backend_settings;            // a map; converted by the plugin's schema in core/host
  std::vector<component> components; // in file order
  position at;
  std::size_t digest = 0;   // of everything above; equal means that nothing changed
  std::string global_proxy; // the file's, so that a client can be made from an offering alone
};

struct log_shipping {
  bool enabled = false;
  std::chrono::milliseconds interval{60'000};
  unsigned buffer_mb = 1;
  std::string level = "WARNING";
};

struct agent_config {
  std::string file;
  std::vector<offering> offerings; // those that are usable; a bad offering is a fatal finding
  base::time_zone timezone;
  std::string sentry_dsn;
  std::string elastic_apm_server_url;
  std::string global_proxy; // "" = none
  std::string log_level = "INFO";
  unsigned reporting_periods = 2;
  bool expose_backend_error_details = true;
  config::log_shipping log_shipping;
  std::size_t digest = 0; // of the keys outside the offerings that the offerings' work depends on
  std::vector<finding> findings; // sorted by position; warnings and errors

  bool has_errors() const;
  // Errors outside the offerings: the process must not start. Without them, the offerings that
  // remain can run.
  bool has_global_errors() const;
};

// Reads and checks the whole file, collecting every finding, those about the environment first. The
// error is only for a file that
// cannot be read at all or is no YAML mapping (its message already has file:line:column).
base::result<agent_config> load(const std::string& path);
// The same for text in memory; `name` stands for the file in findings.
base::result<agent_config> parse(const std::string& text, const std::string& name);

// What a secret is now: `source` as the offering has it. The environment of a process does not
// change, a file does. The value is protected in base::global_redactor().
base::result<base::secret> read_secret_again(const std::string& source);

// A period as the environment gives it: `text` in units of `unit`, as a positive decimal number
// ("5", "0.5"), at least one second and at most 366 days. The error names `key`, the value and
// what is expected.
base::result<std::chrono::milliseconds>
parse_period(std::string_view key, std::string_view text, std::chrono::milliseconds unit);

} // namespace siteagent::config
