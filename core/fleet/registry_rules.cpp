// SPDX-License-Identifier: MIT
// The rules of a registry document, checked on every write.
#include "core/fleet/registry_document.hpp"

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/fleet/money.hpp"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <set>

namespace siteagent::fleet {

namespace {

using fault = std::optional<registry_fault>;

constexpr std::array<std::string_view, 2> platforms{"darwin-arm64", "linux-amd64"};
constexpr std::size_t longest_cloud_name = 64;

registry_fault broken(std::string where, std::string rule) {
  return {std::move(where), std::move(rule)};
}

std::string element(const std::string& path, std::size_t index) {
  return path + "[" + std::to_string(index) + "]";
}

std::string member(std::string path, std::string_view key) {
  return path.append(".").append(key);
}

bool is_text(const base::json& value) {
  return !base::trim(value.string_or("")).empty();
}

bool is_whole_number_from_1(const base::json& value) {
  return value.is_number() && value.integer().value_or(0) >= 1;
}

bool is_ip_literal(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> ignored{};
  return inet_pton(AF_INET, text.c_str(), ignored.data()) == 1 ||
         inet_pton(AF_INET6, text.c_str(), ignored.data()) == 1;
}

fault check_cloud(const std::string& path, const base::json& entry) {
  const base::json* cloud = entry.find("cloud");
  if (cloud == nullptr) {
    return std::nullopt;
  }
  if (!cloud->is_object()) {
    return broken(path + ".cloud", "is no object");
  }
  if (entry["kind"].string() != "local") {
    return broken(path + ".cloud", "stands on a target whose kind is not 'local'");
  }
  if (entry["name"].string_or("").size() > longest_cloud_name) {
    return broken(path + ".name", "is longer than the 64 characters of a cloud host's name");
  }
  for (const char* key : {"provider", "location", "size", "priced_where", "vm_id"}) {
    if (!is_text((*cloud)[key])) {
      return broken(path + ".cloud." + key, "is no text, or an empty one");
    }
  }
  for (const char* key : {"disk_gb", "idle_minutes"}) {
    if (!is_whole_number_from_1((*cloud)[key])) {
      return broken(path + ".cloud." + key, "is no whole number from 1 on");
    }
  }
  const base::json& hour = (*cloud)["hourly_usd"];
  const auto amount =
      hour.is_number() ? parse_money(*hour.number_text(), rounding::up) : std::nullopt;
  if (!amount || amount->is_negative()) {
    return broken(path + ".cloud.hourly_usd", "is no number from 0 on");
  }
  if (!is_ip_literal((*cloud)["address"].string_or(""))) {
    return broken(path + ".cloud.address", "is no IP address");
  }
  if (!base::parse_rfc3339((*cloud)["created_at"].string_or(""))) {
    return broken(path + ".cloud.created_at", "is no time such as 2026-01-31T12:00:00Z");
  }
  return std::nullopt;
}

fault check_hostnames(const std::string& path, const base::json& list) {
  if (!list.is_null() && !list.is_array()) {
    return broken(path, "is no array of host names");
  }
  for (std::size_t n = 0; n < list.size(); ++n) {
    const std::string name = list[n].string_or("");
    if (name.empty() || normalized_hostname(name) != name) {
      return broken(
          element(path, n),
          "is no host name in lower case without space, '@', '/' and a dot at its end"
      );
    }
  }
  return std::nullopt;
}

fault check_target(const std::string& path, const base::json& entry) {
  if (!entry.is_object()) {
    return broken(path, "is no object");
  }
  if (!is_target_identifier(entry["name"].string_or(""))) {
    return broken(
        path + ".name",
        "is no target identifier (a-z, 0-9, '.', '_', '-'; a letter or digit at both ends)"
    );
  }
  if (!is_text(entry["kind"])) {
    return broken(path + ".kind", "is no text, or an empty one");
  }
  const base::json& ssh = entry["ssh"];
  if (!ssh.is_null()) {
    const auto where = parse_destination(ssh.string_or(""));
    if (!where) {
      return broken(path + ".ssh", where.error().message);
    }
  }
  if (auto found = check_hostnames(path + ".hostnames", entry["hostnames"])) {
    return found;
  }
  const auto platform = entry["release_platform"].string();
  if (!platform || std::find(platforms.begin(), platforms.end(), *platform) == platforms.end()) {
    return broken(path + ".release_platform", "is neither 'darwin-arm64' nor 'linux-amd64'");
  }
  for (const char* key : {"os", "arch", "notes"}) {
    if (!entry[key].is_null() && !entry[key].string()) {
      return broken(path + "." + key, "is no text");
    }
  }
  return check_cloud(path, entry);
}

// Each name by which a host is known belongs to one target, and stands there once. The name of a
// target may be the host of its own ssh: that is one identity told twice, not two holders of it.
class identities {
public:
  fault add(std::string_view identity, const std::string& where, const std::string& target_name) {
    const auto [at, is_new] = holders_.emplace(normalized_hostname(identity), target_name);
    if (is_new) {
      return std::nullopt;
    }
    return broken(
        where, "is '" + at->first + "', a host identity of target '" + at->second + "' already"
    );
  }

  bool is_of(std::string_view identity, const std::string& target_name) const {
    const auto found = holders_.find(normalized_hostname(identity));
    return found != holders_.end() && found->second == target_name;
  }

private:
  std::map<std::string, std::string> holders_;
};

fault check_identities(const std::string& path, const base::json& entry, identities& known) {
  const std::string name = entry["name"].string_or("");
  if (auto found = known.add(name, path + ".name", name)) {
    return found;
  }
  const auto where = parse_destination(entry["ssh"].string_or(""));
  if (where && !known.is_of(where->host, name)) {
    if (auto found = known.add(where->host, path + ".ssh", name)) {
      return found;
    }
  }
  const base::json& hostnames = entry["hostnames"];
  for (std::size_t n = 0; n < hostnames.size(); ++n) {
    if (auto found = known.add(hostnames[n].string_or(""), element(path + ".hostnames", n), name)) {
      return found;
    }
  }
  return std::nullopt;
}

fault check_targets(const base::json& document) {
  const std::string path = "registry.targets";
  const base::json& targets = document["targets"];
  identities known;
  for (std::size_t n = 0; n < targets.size(); ++n) {
    if (auto found = check_target(element(path, n), targets[n])) {
      return found;
    }
    if (auto found = check_identities(element(path, n), targets[n], known)) {
      return found;
    }
  }
  return std::nullopt;
}

fault check_admit_from(const base::json& document) {
  const std::string path = "registry.cloud_hosts.admit_from";
  const base::json* list = document["cloud_hosts"].find("admit_from");
  if (list == nullptr) {
    return std::nullopt;
  }
  if (!list->is_array() || list->size() == 0) {
    return broken(path, "is no array with at least one target's name");
  }
  std::set<std::string> seen;
  for (std::size_t n = 0; n < list->size(); ++n) {
    const std::string name = (*list)[n].string_or("");
    const auto host = find_target(document, name);
    if (!host) {
      return broken(element(path, n), "is '" + name + "', which is no target of the registry");
    }
    if (host->kind != "local") {
      return broken(element(path, n), "is '" + name + "', whose kind is not 'local'");
    }
    if (!seen.insert(name).second) {
      return broken(element(path, n), "is '" + name + "', which stands there twice");
    }
  }
  return std::nullopt;
}

fault check_cloud_hosts(const base::json& document) {
  const std::string path = "registry.cloud_hosts";
  const base::json* section = document.find("cloud_hosts");
  if (section == nullptr) {
    return std::nullopt;
  }
  if (!section->is_object()) {
    return broken(path, "is no object");
  }
  if (auto found = check_admit_from(document)) {
    return found;
  }
  const base::json* egress = section->find("egress");
  if (egress == nullptr) {
    return std::nullopt;
  }
  if (!egress->is_object()) {
    return broken(path + ".egress", "is no object");
  }
  for (const auto& [host, record] : egress->members()) {
    const std::string where = member(path + ".egress", host);
    if (!is_ip_literal(record["address"].string_or(""))) {
      return broken(where + ".address", "is no IP address");
    }
    if (!base::parse_rfc3339(record["read_at"].string_or(""))) {
      return broken(where + ".read_at", "is no time such as 2026-01-31T12:00:00Z");
    }
  }
  return std::nullopt;
}

// Keys that the cloud host commands keep for each other: objects of objects, no more is asked.
fault check_own_notes(const base::json& document) {
  for (const char* key : {"cloud_hosts_creating", "cloud_hosts_reaped"}) {
    const base::json* section = document.find(key);
    const std::string path = std::string("registry.") + key;
    if (section != nullptr && !section->is_object()) {
      return broken(path, "is no object");
    }
    for (const auto& [name, value] : document[key].members()) {
      if (!value.is_object()) {
        return broken(member(path, name), "is no object");
      }
    }
  }
  const base::json* enrollment = document.find("enrollment");
  if (enrollment != nullptr && !enrollment->is_object()) {
    return broken("registry.enrollment", "is no object");
  }
  const base::json* allowed = document["enrollment"].find("allow_enroll");
  if (allowed != nullptr && !allowed->boolean()) {
    return broken("registry.enrollment.allow_enroll", "is neither true nor false");
  }
  return std::nullopt;
}

} // namespace

std::optional<registry_fault> validate_registry_shape(const base::json& document) {
  if (!document.is_object()) {
    return broken("registry", "is no object");
  }
  const base::json& version = document["schema_version"];
  if (!version.is_number() || version.number_text() != "2") {
    return broken("registry.schema_version", "is not the integer 2");
  }
  if (!document["targets"].is_array()) {
    return broken("registry.targets", "is no array");
  }
  const base::json* coordinators = document.find("coordinators");
  if (coordinators != nullptr && !coordinators->is_array()) {
    return broken("registry.coordinators", "is no array");
  }
  return std::nullopt;
}

std::optional<registry_fault> validate_registry(const base::json& document) {
  if (auto found = validate_registry_shape(document)) {
    return found;
  }
  for (const auto check : {check_targets, check_cloud_hosts, check_own_notes}) {
    if (auto found = check(document)) {
      return found;
    }
  }
  return std::nullopt;
}

} // namespace siteagent::fleet
