// SPDX-License-Identifier: MIT
// The registry as a document: targets, their cloud declarations, the fleet's addresses, and the
// rules a document must keep. Every key this build does not know stays as it is.
#pragma once

#include "core/base/decimal.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

// targets[].cloud. Texts that are missing or of another type are "".
struct cloud_declaration {
  std::string provider;
  std::string location;
  std::string size;
  std::int64_t disk_gb = 0;
  std::optional<base::decimal> hourly; // nullopt: not readable
  std::string priced_where;
  std::int64_t idle_minutes = 0;
  std::string address;
  std::string vm_id;
  std::string created_at;
  base::json resources; // the provider's, opaque
  std::string host_key; // "SHA256:..." or ""
};

struct target {
  std::string name;
  std::string kind;
  std::string ssh; // "" = none
  std::vector<std::string> hostnames;
  std::string release_platform;
  std::optional<cloud_declaration> cloud;
};

// top-level cloud_hosts_creating.<name>: a create that has passed the credit gate and is not yet
// recorded. Seen by every control machine that shares the registry.
struct creating_host {
  std::string name;
  std::string provider;
  std::string location;
  std::string size;
  std::optional<base::decimal> hourly;
  std::string started_at;
  std::string by; // "<host name> pid <n>"
};

struct egress_record {
  std::string address;
  std::string read_at;
};

std::vector<target> targets_of(const base::json& document);
std::optional<target> find_target(const base::json& document, std::string_view name);
// Those whose cloud.provider is this one, in registry order.
std::vector<target> cloud_hosts_of(const base::json& document, std::string_view provider);
std::vector<creating_host> creating_of(const base::json& document, std::string_view provider);
// cloud_hosts.admit_from; `refused` with the seed's text when absent, or naming what is wrong with
// it (empty, no array, unknown or unreachable target).
base::result<std::vector<std::string>> admit_from_of(const base::json& document);
std::map<std::string, egress_record> egress_of(const base::json& document);

// hourly_usd is written with the number's exact text.
base::json to_json(const cloud_declaration& c);
// Edits in place; the rest of the document keeps its order and texts.
void set_creating(base::json& document, const creating_host& c);
void clear_creating(base::json& document, std::string_view name); // drops the emptied key, too
void set_egress(base::json& document, const std::map<std::string, egress_record>& records);
// false: no such target.
bool remove_target(base::json& document, std::string_view name);

bool is_target_identifier(std::string_view name);
// Trimmed, lower case, without a trailing dot; "" when it has a space, '@' or '/'.
std::string normalized_hostname(std::string_view name);

// "[user@]host" or "ssh://user@host:port".
struct destination {
  std::string user; // "" = not given
  std::string host;
  int port = 22;
  std::string text() const; // the shorter form that says it all
};

base::result<destination> parse_destination(std::string_view text);

// The target that already has this host identity (name, hostnames, host of ssh); nullopt: free.
std::optional<std::string>
holder_of_identity(const base::json& document, std::string_view identity);

struct registry_fault {
  std::string where; // "registry.targets[3].cloud.size"
  std::string rule;
};

// Every rule; the first broken one. schema_version and the shape of targets are checked on reading,
// all of it on every write.
std::optional<registry_fault> validate_registry(const base::json& document);
std::optional<registry_fault> validate_registry_shape(const base::json& document);

} // namespace siteagent::fleet
