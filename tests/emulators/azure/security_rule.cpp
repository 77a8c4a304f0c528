// SPDX-License-Identifier: MIT
#include "security_rule.hpp"

#include "network.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

#include <charconv>
#include <initializer_list>
#include <set>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

bool is_port(std::string_view text) {
  unsigned value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  return !text.empty() && problem == std::errc() && stop == end && value <= 65535;
}

bool is_port_range(std::string_view text) {
  const auto dash = text.find('-');
  return text == "*" || is_port(text) ||
         (dash != std::string_view::npos && is_port(text.substr(0, dash)) &&
          is_port(text.substr(dash + 1)));
}

// CIDR, address, "*", or a service tag such as "Internet" or "Storage.WestEurope".
bool is_prefix(std::string_view text) {
  if (text.empty()) {
    return false;
  }
  const bool starts_with_letter =
      (text.front() >= 'a' && text.front() <= 'z') || (text.front() >= 'A' && text.front() <= 'Z');
  if (text == "*" || parse_ipv4(text) || parse_cidr(text, true) || looks_like_ipv6(text)) {
    return true;
  }
  return starts_with_letter && text.find_first_of("/ ") == std::string_view::npos;
}

// The values of "x" or "xs"; one of the two, not both.
std::optional<reply> take_side(
    const std::string& rule,
    const json& properties,
    const std::string& singular,
    const std::string& plural,
    bool (*is_valid)(std::string_view),
    std::string_view code,
    bool optional_side
) {
  const std::string one = properties[singular].string_or("");
  const auto& many = properties[plural].items();
  if (!one.empty() && !many.empty()) {
    return network_refusal(
        "SecurityRuleParameterContainsUnsupportedValue",
        "Security rule " + rule + " has both " + singular + " and " + plural + "; give one of them."
    );
  }
  if (one.empty() && many.empty() && !optional_side) {
    return network_refusal(
        "SecurityRuleInvalidParameter",
        "Security rule " + rule + " has neither " + singular + " nor " + plural + "."
    );
  }
  std::vector<std::string> values;
  if (!one.empty()) {
    values.push_back(one);
  }
  for (const auto& value : many) {
    values.push_back(value.string_or(""));
  }
  for (const auto& value : values) {
    if (!is_valid(value)) {
      return network_refusal(
          code,
          "Security rule " + rule + " has an invalid value '" + value + "' for " + singular + "."
      );
    }
  }
  return std::nullopt;
}

bool is_one_of(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const auto word : words) {
    if (equals_ignoring_case(text, word)) {
      return true;
    }
  }
  return false;
}

// Groups and prefixes exclude each other on one side.
std::optional<reply>
check_group_side(const std::string& rule, const json& properties, const std::string& side) {
  const bool prefixes = !properties[side + "AddressPrefix"].string_or("").empty() ||
                        properties[side + "AddressPrefixes"].size() > 0;
  if (properties[side + "ApplicationSecurityGroups"].size() == 0 || !prefixes) {
    return std::nullopt;
  }
  return network_refusal(
      "SecurityRuleParameterContainsUnsupportedValue",
      "Security rule " + rule + " has both " + side + "ApplicationSecurityGroups and " + side +
          " address prefixes; give one of them."
  );
}

// The groups a rule names: there, few enough, and with members of one virtual network.
std::optional<reply> check_groups(
    const context& c, const resource_path& path, const json& properties, std::string_view location
) {
  const auto groups = groups_of_rule(properties);
  auto bad = refuse_over_limit(
      c,
      "applicationSecurityGroupsPerRule",
      static_cast<std::int64_t>(groups.size()),
      "ApplicationSecurityGroupsPerSecurityRuleCountLimitReached",
      "application security groups in security rule " + path.id()
  );
  std::set<std::string> networks;
  for (const auto& id : groups) {
    if (!bad) {
      bad = check_reference(c, path, id, kind::application_group, location);
    }
    for (const auto& network : networks_of_group(c.world, key_of(id))) {
      networks.insert(network);
    }
  }
  if (!bad && networks.size() > 1) {
    bad = groups_in_two_networks(path.id());
  }
  return bad;
}

} // namespace

std::optional<reply> check_security_rule(
    const context& c, const resource_path& path, const json& properties, std::string_view location
) {
  const std::string& name = path.child;
  const auto priority = properties["priority"].integer();
  if (!priority || *priority < 100 || *priority > 4096) {
    return network_refusal(
        "SecurityRuleInvalidPriority",
        "Security rule has invalid Priority. Value provided: " +
            std::string(properties["priority"].number_text().value_or("none")) +
            " Allowed range 100-4096."
    );
  }
  if (!is_one_of(properties["direction"].string_or(""), {"Inbound", "Outbound"}) ||
      !is_one_of(properties["access"].string_or(""), {"Allow", "Deny"}) ||
      !is_one_of(properties["protocol"].string_or(""), {"Tcp", "Udp", "Icmp", "Esp", "Ah", "*"})) {
    return network_refusal(
        "SecurityRuleInvalidParameter",
        "Security rule " + name + " has an invalid direction, access or protocol."
    );
  }
  if (properties["description"].string_or("").size() > 140) {
    return network_refusal(
        "SecurityRuleInvalidDescription", "The description of rule " + name + " is too long."
    );
  }
  const bool source_group = properties["sourceApplicationSecurityGroups"].size() > 0;
  const bool target_group = properties["destinationApplicationSecurityGroups"].size() > 0;
  auto bad = check_group_side(name, properties, "source");
  if (!bad) {
    bad = check_group_side(name, properties, "destination");
  }
  if (!bad) {
    bad = take_side(
        name,
        properties,
        "sourceAddressPrefix",
        "sourceAddressPrefixes",
        is_prefix,
        "SecurityRuleInvalidAddressPrefix",
        source_group
    );
  }
  if (!bad) {
    bad = take_side(
        name,
        properties,
        "destinationAddressPrefix",
        "destinationAddressPrefixes",
        is_prefix,
        "SecurityRuleInvalidAddressPrefix",
        target_group
    );
  }
  if (!bad) {
    bad = take_side(
        name,
        properties,
        "sourcePortRange",
        "sourcePortRanges",
        is_port_range,
        "SecurityRuleInvalidPortRange",
        false
    );
  }
  if (!bad) {
    bad = take_side(
        name,
        properties,
        "destinationPortRange",
        "destinationPortRanges",
        is_port_range,
        "SecurityRuleInvalidPortRange",
        false
    );
  }
  return bad ? bad : check_groups(c, path, properties, location);
}

} // namespace siteagent::azure_emulator
