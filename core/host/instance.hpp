// SPDX-License-Identifier: MIT
// One configured backend: a plugin plus checked settings, and the calls into it. The instance does
// the locking its plugin's thread model asks for, gives every call a deadline, a cancel flag and
// capped sinks, and turns the plugin's answer into values.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/base/secret.hpp"
#include "core/config/value.hpp"
#include "core/host/plugin.hpp"
#include "core/host/secrets.hpp"
#include "core/observe/log.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace siteagent::host {

enum class operation : std::uint8_t {
  ping,
  evaluate_order,
  create_resource,
  delete_resource,
  pause,
  downscale,
  restore,
  pull_resources,
  report_usage,
  list_resources,
  set_resource_limits,
  diagnostics,
  add_members,
  remove_members,
  describe,
  // of the cloud host provider
  validate_host,
  price_size,
  credit_balance,
  admit_addresses,
  create_host,
  host_state,
  list_hosts,
  delete_host,
  check,
};

std::string_view name_of(operation op);
// ping 10 s, evaluate_order and other single operations 60 s, bulk reads (pull_resources,
// report_usage, list_resources, describe) 10 min, pause/downscale/restore 20 min, create 45 min,
// delete 120 min; those of cloud hosts as sagent/cloud_host_provider.h says.
//
// backend_settings.limits overrides them, in whole seconds (1 .. 604800): ping_s, read_s
// (evaluate_order, set_resource_limits, diagnostics, add_members, remove_members), bulk_s, power_s,
// create_s, delete_s; or exactly one operation by its name, for example restore_s or
// pull_resources_s, which wins over its group. Plugins see the keys too. The operations of cloud
// hosts have no such settings.
std::chrono::milliseconds default_deadline(operation op);

// What a checkpoint answers: go on, or stop with that code (cancelled or deadline).
using checkpoint_function = std::function<base::result<void>(const base::json& what)>;

struct call_options {
  std::chrono::milliseconds deadline{0}; // 0 = the operation's own
  std::stop_token stop;                  // cancel
  checkpoint_function checkpoint;        // may be empty; runs on the plugin's calling thread
  std::string trace_id;                  // 32 hex digits; empty = random
};

struct call_request {
  std::string target;
  base::json body = base::json::object();
  std::string idempotency_key;
  bool dry_run = false;
};

struct instance_options {
  std::string offering_name;
  config::value settings;  // backend_settings as written
  std::string config_file; // for findings
  std::string key_path;    // "offerings[0].backend_settings", for findings
  std::string extension = SAGENT_EXT_RESOURCE_BACKEND; // whose schema and operations are meant
  // Secrets of which the settings already hold the references; read afresh at each use.
  std::vector<std::pair<std::string, secret_reader>> secrets = {};
};

// Settings after the schema: JSON for the plugin, secrets replaced by references.
struct converted_settings {
  base::json settings;
  std::vector<std::pair<std::string, std::string>> secrets; // reference -> source as written
  base::json limits; // backend_settings.limits, integers; null when absent or another extension's
};

// Converts by the schema (draft 4; "" = everything is allowed) and validates. Every problem is a
// fatal finding with file:line:column; an unknown key that the schema allows and a boolean written
// as `yes` are warnings. Keys that the Python agent's core read (config::unused_settings) and the
// schema does not name are warnings with the reason, and left out. Scalars become what the schema
// says: where a string is due, 010 and yes stay text; null is absent; a lone text is accepted where
// a list of texts is due. patternProperties is not supported: RapidJSON 1.1.0 refuses valid
// documents with it. Does not read the secrets' sources; literal secrets are protected in
// base::global_redactor(). Findings never repeat a value.
converted_settings convert_settings(
    const std::string& schema_text,
    const instance_options& options,
    std::vector<config::finding>& findings
);

// Thread model: calls into a SERIAL plugin wait for each other over all instances, into a
// PER_INSTANCE plugin over this one; a PARALLEL plugin is called with no lock held. Waiting counts
// against the deadline (`transient` when it runs out).
//
// Five breaches of contract in a row (exceptions, bad JSON, 9xx codes, ...) put the instance into
// quarantine: every later call is `not_ready` until the agent is restarted.
class instance {
public:
  // Schema conversion, validate_settings, create. `invalid` with every finding's text in the
  // message, one per line, when the settings are wrong; findings (optional) gets them too.
  static base::result<std::shared_ptr<instance>> open(
      std::shared_ptr<plugin> p,
      instance_options options,
      std::vector<config::finding>* findings = nullptr
  );
  ~instance(); // destroys the plugin's instance after the last call returned
  instance(const instance&) = delete;
  instance& operator=(const instance&) = delete;

  // Blocks for as long as the operation takes. The value is what the plugin emitted, in order.
  // A plugin that broke the contract: plugin_bug; an operation it does not have: unsupported; else
  // the plugin's own code and texts, scrubbed, "<plugin>: <operation>: " before the message. Codes
  // this build has no name for are passed on and have a class. [any thread]
  base::result<std::vector<base::json>>
  call(operation op, const call_request& request, const call_options& options = {});

  const host::plugin& plugin() const;
  const std::string& plugin_id() const;

private:
  struct impl;
  explicit instance(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

} // namespace siteagent::host
