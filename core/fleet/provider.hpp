// SPDX-License-Identifier: MIT
// A cloud that rents hosts, typed: the plugin's operations (sagent/cloud_host_provider.h) with
// values instead of JSON.
#pragma once

#include "core/base/decimal.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/fleet/credentials.hpp"
#include "core/fleet/profile.hpp"
#include "core/host/plugin.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

struct binding {
  std::string key; // relative to the provider's section
  std::string variable;
  bool is_list = false;
};

struct credential_source {
  std::string item;
  std::string item_variable;
  std::vector<std::string> fields;
  std::vector<std::string> secret_fields;
};

struct provider_description {
  std::string id; // the plugin's
  std::string display_name;
  std::vector<binding> bindings; // required
  std::vector<binding> optional_bindings;
  std::string login_binding;
  std::string locations_binding; // "" = none
  std::vector<std::string> reserved_logins;
  bool admits_private = false;
  std::size_t user_data_max_bytes = 0;
  std::size_t name_max = 64;
  std::vector<std::pair<std::string, credential_source>> credentials; // "control", "billing"
};

struct host_place {
  std::string name;
  std::string location;
  std::string size;
  std::int64_t disk_gb = 0;
};

struct price_quote {
  std::string location; // lower case
  base::decimal hour;   // rounded up to nine places
  std::string currency;
  std::string meter;
};

struct price_answer {
  std::string size; // canonical spelling
  std::vector<price_quote> quotes;
  std::string source;
};

struct credit_answer {
  bool reported = false;
  std::string reason;                   // when not reported
  std::optional<base::decimal> current; // rounded down
  std::optional<base::decimal> estimated;
  std::string currency;
  std::string scope;
};

struct known_host {
  std::string name;
  std::string location;
  std::string vm_id;
  base::json resources;
};

struct admission_request {
  std::vector<std::string> addresses;
  std::optional<std::string> ensure_location;
  std::vector<std::string> locations;
  std::vector<known_host> hosts;
  base::json tags = base::json::object();
};

struct admitted_location {
  std::string location;
  std::string group_id;
  std::string rule; // created | updated | unchanged | none
  std::optional<std::int64_t> priority;
};

struct admitted_host {
  std::string name;
  std::string outcome;
};

struct admission {
  std::vector<admitted_location> locations;
  std::vector<admitted_host> hosts;
  std::vector<std::string> warnings;
};

struct create_host_request {
  host_place place;
  std::string login;
  std::string public_key;
  std::string user_data;
  std::vector<std::string> addresses;
  std::string group_id;
  base::json tags = base::json::object();
};

struct created_host {
  std::string address;
  int ssh_port = 22;
  std::string vm_id;
  std::string created_at; // "" = not told
  base::json resources;
};

struct host_object {
  std::string kind;
  std::string id;
};

struct listed_host {
  std::string name;
  std::string vm_id;
  std::string location;
  std::string state;
  std::string created_at;
  base::json tags;
  base::json resources;
  std::vector<host_object> objects;
};

struct released_object {
  std::string kind;
  std::string id;
  std::string outcome; // deleted | already_gone
};

struct held_object {
  std::string kind;
  std::string id;
  std::string cause;
  bool retryable = false; // the cause passes by itself
};

struct removal {
  std::vector<released_object> released;
  std::vector<held_object> held;
};

struct check_line {
  std::string name;
  bool ok = false;
  bool needed = true;
  std::string detail;
};

// Each checkpoint of a running operation, as the plugin wrote it. An error stops the operation.
using progress_function = std::function<base::result<void>(const base::json& what)>;

// The group's and rule's name and the tag whose value is the host's name: the same for every cloud.
inline constexpr std::string_view admission_group = "stado-cloud-hosts";
inline constexpr std::string_view host_tag = "stado_cloud_host";
inline constexpr std::string_view created_tag = "stado_created";
inline constexpr int ssh_port = 22;

// Errors are the plugin's own: its sentence without a prefix, `detail` as the header says, its
// http_status in the error's, too. An answer that lacks a member or has another type there is
// `plugin_bug` naming it. [any thread]; one call at a time per object is enough.
class provider {
public:
  provider() = default;
  provider(const provider&) = delete;
  provider& operator=(const provider&) = delete;
  virtual ~provider() = default;

  virtual const provider_description& description() const = 0;

  // From now on this token ends the calls that take none of their own, as `cancelled`. Not while a
  // call runs in another thread.
  virtual void listen_to([[maybe_unused]] std::stop_token stop) {}

  virtual base::result<std::string> validate_host(const host_place& p) = 0; // canonical size
  virtual base::result<price_answer>
  price_size(std::string_view size, const std::vector<std::string>& locations) = 0;
  virtual base::result<credit_answer> credit_balance() = 0;
  virtual base::result<admission> admit_addresses(
      const admission_request& r,
      bool dry_run,
      const progress_function& progress,
      std::stop_token stop
  ) = 0;
  virtual base::result<created_host> create_host(
      const create_host_request& r, const progress_function& progress, std::stop_token stop
  ) = 0;
  virtual base::result<std::vector<check_line>> try_create_host(const create_host_request& r) = 0;
  virtual base::result<std::string> host_state(const known_host& h) = 0;
  virtual base::result<std::vector<listed_host>> list_hosts() = 0;
  // vm_id "" and resources null: whatever carries the tag with this name.
  virtual base::result<removal>
  delete_host(const known_host& h, const progress_function& progress, std::stop_token stop) = 0;
  virtual base::result<std::vector<check_line>> check(const std::vector<std::string>& locations
  ) = 0;
};

// The plugin of that name (trimmed, in lower case) with what it says about itself; nothing is
// configured yet. `not_found` naming provider and directories searched, `invalid` for a plugin that
// cannot be loaded or has no cloud hosts.
struct loaded_provider {
  std::shared_ptr<host::plugin> plugin;
  provider_description description;
};

base::result<loaded_provider>
load_provider(std::string_view id, const std::vector<host::plugin_directory>& directories);

// Public for tests: what `describe` answers. `plugin_bug` naming the first member that is missing
// or of another type.
base::result<provider_description> parse_description(std::string_view id, std::string_view text);

// Binding values as declared, environment before file; `refused` with the contract's one sentence
// naming every missing key, in detail {"missing":[...]} too; `invalid` naming key and rule.
struct bindings {
  base::json values;                  // key -> text or array
  std::string login;                  // checked: is_login_name and not reserved
  std::vector<std::string> locations; // configured ones in lower case, perhaps none
};

base::result<bindings> bindings_of(const profile& p, const provider_description& d);

// Opens the instance: bindings, credential items that are stored, options, limits. `invalid` naming
// the profile's keys when the plugin's schema refuses them, the plugin's own refusal as it is;
// errors of the store. No network. Secret fields are read from the store at each use.
base::result<std::unique_ptr<provider>> open_provider(
    const loaded_provider& l,
    const profile& p,
    const bindings& b,
    const credential_store& credentials
);

} // namespace siteagent::fleet
