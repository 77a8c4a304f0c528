// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/rules.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/cidr.hpp"
#include "plugins/azure/resource_id.hpp"

#include <algorithm>
#include <charconv>
#include <set>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;
using texts = std::vector<std::string>;

constexpr std::int64_t first_priority = 100;
constexpr std::int64_t last_priority = 4096;

bool is(const json& text, std::string_view wanted) {
  return base::equals_ignoring_case(text.string_or(""), wanted);
}

// "x" and "xs" of one side together.
texts values_of(const json& properties, const std::string& singular, const std::string& plural) {
  texts out;
  if (const std::string one = properties[singular].string_or(""); !one.empty()) {
    out.push_back(one);
  }
  for (const json& item : properties[plural].items()) {
    out.push_back(item.string_or(""));
  }
  return out;
}

texts sources_of(const json& properties) {
  return values_of(properties, "sourceAddressPrefix", "sourceAddressPrefixes");
}

texts targets_of(const json& properties) {
  return values_of(properties, "destinationAddressPrefix", "destinationAddressPrefixes");
}

texts ports_of(const json& properties, const std::string& side) {
  return values_of(properties, side + "PortRange", side + "PortRanges");
}

std::set<std::string> groups_of(const json& properties, std::string_view key) {
  std::set<std::string> out;
  for (const json& group : properties[key].items()) {
    out.insert(id_key(group["id"].string_or("")));
  }
  return out;
}

// A single address and its /32 are the same.
std::string normal_address(const std::string& text) {
  const auto parsed = cidr::parse(text);
  return parsed ? parsed->text() : text;
}

std::set<std::string> normal_addresses(const texts& all) {
  std::set<std::string> out;
  for (const std::string& text : all) {
    out.insert(normal_address(text));
  }
  return out;
}

bool is_any(std::string_view prefix) {
  return prefix == "*" || prefix == "0.0.0.0/0" || base::equals_ignoring_case(prefix, "any");
}

bool covers_address(std::string_view prefix, const std::string& address) {
  if (is_any(prefix) || base::equals_ignoring_case(prefix, "Internet")) {
    return true;
  }
  const auto outer = cidr::parse(prefix);
  const auto inner = cidr::parse(address);
  return outer && inner && outer->contains(*inner);
}

bool covers_port(std::string_view range, std::int64_t port) {
  if (range == "*") {
    return true;
  }
  const auto dash = range.find('-');
  const auto number = [](std::string_view text) {
    std::int64_t value = -1;
    std::from_chars(text.data(), text.data() + text.size(), value);
    return value;
  };
  const std::int64_t from = number(range.substr(0, dash));
  const std::int64_t to = dash == std::string_view::npos ? from : number(range.substr(dash + 1));
  return from >= 0 && from <= port && port <= to;
}

bool is_inbound(const json& rule) {
  return is(rule.at({"properties", "direction"}), "Inbound");
}

bool denies(const json& p, const admitting_rule& wanted) {
  const texts ports = ports_of(p, "destination");
  const texts sources = sources_of(p);
  const auto groups = groups_of(p, "destinationApplicationSecurityGroups");
  const bool protocol = is(p["protocol"], "Tcp") || is(p["protocol"], "*");
  const bool port = std::any_of(ports.begin(), ports.end(), [&](const std::string& range) {
    return covers_port(range, wanted.port);
  });
  const bool source = std::any_of(sources.begin(), sources.end(), [&](const std::string& prefix) {
    return std::any_of(
        wanted.addresses.begin(),
        wanted.addresses.end(),
        [&](const std::string& address) { return covers_address(prefix, address); }
    );
  });
  // Which private address a host will have is not known: any prefix may be about it.
  const bool target =
      groups.empty() || (!wanted.target.empty() && groups.count(id_key(wanted.target)) != 0);
  return is(p["access"], "Deny") && protocol && port && source && target;
}

} // namespace

json body_of(const admitting_rule& wanted, std::int64_t priority) {
  json sources = json::array();
  for (const std::string& address : wanted.addresses) {
    sources.push_back(address + "/32");
  }
  json properties = json::object(
      {{"description", "Fleet hosts that reach cloud hosts"},
       {"protocol", "Tcp"},
       {"sourcePortRange", "*"},
       {"destinationPortRange", std::to_string(wanted.port)},
       {"sourceAddressPrefixes", std::move(sources)},
       {"access", "Allow"},
       {"priority", priority},
       {"direction", "Inbound"}}
  );
  if (wanted.target.empty()) {
    properties.set("destinationAddressPrefix", "*");
  } else {
    properties.set(
        "destinationApplicationSecurityGroups", json::array({json::object({{"id", wanted.target}})})
    );
  }
  return json::object({{"name", wanted.name}, {"properties", std::move(properties)}});
}

const json& find_rule(const json& security_group, std::string_view name) {
  static const json none;
  for (const json& rule : security_group.at({"properties", "securityRules"}).items()) {
    if (is(rule["name"], name)) {
      return rule;
    }
  }
  return none;
}

bool has_same_target(const json& rule, const admitting_rule& wanted) {
  const json& p = rule["properties"];
  const auto groups = groups_of(p, "destinationApplicationSecurityGroups");
  if (!wanted.target.empty()) {
    return groups == std::set<std::string>{id_key(wanted.target)} && targets_of(p).empty();
  }
  const texts targets = targets_of(p);
  return groups.empty() && targets.size() == 1 && is_any(targets.front());
}

bool is_same(const json& rule, const admitting_rule& wanted) {
  const json& p = rule["properties"];
  const bool failed = is(p["provisioningState"], "Failed");
  return !failed && has_same_target(rule, wanted) && is(p["direction"], "Inbound") &&
         is(p["access"], "Allow") && is(p["protocol"], "Tcp") &&
         ports_of(p, "source") == texts{"*"} &&
         ports_of(p, "destination") == texts{std::to_string(wanted.port)} &&
         groups_of(p, "sourceApplicationSecurityGroups").empty() &&
         normal_addresses(sources_of(p)) == normal_addresses(wanted.addresses);
}

std::optional<std::int64_t> free_priority(const json& security_group) {
  std::set<std::int64_t> taken;
  for (const json& rule : security_group.at({"properties", "securityRules"}).items()) {
    if (is_inbound(rule)) {
      taken.insert(rule.at({"properties", "priority"}).integer().value_or(0));
    }
  }
  for (std::int64_t p = first_priority; p <= last_priority; ++p) {
    if (taken.count(p) == 0) {
      return p;
    }
  }
  return std::nullopt;
}

std::vector<std::string>
shadowing_rules(const json& security_group, const admitting_rule& wanted, std::int64_t priority) {
  std::vector<std::string> out;
  for (const json& rule : security_group.at({"properties", "securityRules"}).items()) {
    const json& p = rule["properties"];
    const bool before = p["priority"].integer().value_or(last_priority) < priority;
    if (is_inbound(rule) && before && denies(p, wanted)) {
      out.push_back(rule["name"].string_or(""));
    }
  }
  return out;
}

std::vector<std::string> other_admitting_rules(const json& security_group, std::string_view name) {
  std::vector<std::string> out;
  for (const json& rule : security_group.at({"properties", "securityRules"}).items()) {
    if (is_inbound(rule) && is(rule.at({"properties", "access"}), "Allow") &&
        !is(rule["name"], name)) {
      out.push_back(rule["name"].string_or(""));
    }
  }
  return out;
}

} // namespace siteagent::azure::cloud_host
