// SPDX-License-Identifier: MIT
// Addresses of machines: ranges, an existing subnet, who may connect.
#include "plugins/azure/settings_parts.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/cidr.hpp"
#include "plugins/azure/kinds.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure::parts {

namespace {

base::result<void> read_ranges(const base::json& d, settings& out) {
  for (const auto& [key, target] :
       {std::pair<std::string_view, std::string*>{"network_cidr", &out.network_cidr},
        {"subnet_cidr", &out.subnet_cidr}}) {
    if (const std::string given = text_of(d, key); !given.empty()) {
      *target = given;
    }
    const auto parsed = cidr::parse(*target);
    if (!parsed || target->find('/') == std::string::npos) {
      return bad(key, "'" + *target + "' is not an address range such as 10.0.0.0/16");
    }
    if (parsed->has_host_bits()) {
      return bad(
          key, "'" + *target + "' has bits beyond its length; did you mean " + parsed->text() + "?"
      );
    }
  }
  const auto network = cidr::parse(out.network_cidr);
  const auto subnet = cidr::parse(out.subnet_cidr);
  if (!network->contains(*subnet)) {
    return bad(
        "subnet_cidr",
        "'" + out.subnet_cidr + "' does not lie inside network_cidr '" + out.network_cidr + "'"
    );
  }
  if (!subnet->v6 && subnet->length > 29) {
    return bad("subnet_cidr", "'" + out.subnet_cidr + "' is too small; Azure needs /29 or larger");
  }
  return {};
}

// Azure keeps these for its own services: no machine may be in them.
bool is_reserved_subnet(std::string_view name) {
  constexpr auto reserved = std::to_array<std::string_view>(
      {"GatewaySubnet",
       "AzureFirewallSubnet",
       "AzureFirewallManagementSubnet",
       "AzureBastionSubnet",
       "RouteServerSubnet"}
  );
  return std::any_of(reserved.begin(), reserved.end(), [&](std::string_view r) {
    return base::equals_ignoring_case(r, name);
  });
}

base::result<void> read_subnet(const base::json& d, settings& out) {
  const std::string text = text_of(d, "subnet_id");
  if (text.empty()) {
    return {};
  }
  auto id = resource_id::parse(text);
  if (!id || !base::equals_ignoring_case(id->type(), kind_of(kind_id::subnet).type)) {
    return bad(
        "subnet_id",
        "'" + text +
            "' is not the id of a subnet: /subscriptions/.../resourceGroups/.../providers/"
            "Microsoft.Network/virtualNetworks/.../subnets/..."
    );
  }
  // An interface and its subnet always share subscription and region.
  if (!base::equals_ignoring_case(id->subscription, out.subscription_id)) {
    return bad(
        "subnet_id",
        "'" + text +
            "' lies in another subscription than subscription_id; Azure connects machines "
            "to subnets of their own subscription only"
    );
  }
  if (is_reserved_subnet(id->name())) {
    return bad("subnet_id", "'" + id->name() + "' is kept by Azure for its own services");
  }
  for (const std::string_view key : {"network_cidr", "subnet_cidr"}) {
    if (!text_of(d, key).empty()) {
      out.warnings.push_back(std::string(key) + " has no effect beside subnet_id");
    }
  }
  out.subnet = std::move(*id);
  return {};
}

bool is_service_tag(std::string_view text) {
  const bool starts =
      !text.empty() && ((text[0] >= 'A' && text[0] <= 'Z') || (text[0] >= 'a' && text[0] <= 'z'));
  return starts && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                  c == '.' || c == '_';
         });
}

base::result<void> read_ssh_ranges(const base::json& d, settings& out) {
  auto given = texts_of(d, "allowed_ssh_ranges");
  if (!given) {
    return given.error();
  }
  for (std::string& range : *given) {
    const auto parsed = cidr::parse(range);
    const bool anybody = range == "Internet" || (parsed && parsed->length == 0);
    if (!parsed && !is_service_tag(range)) {
      return bad(
          "allowed_ssh_ranges", "'" + range + "' is no address range, address or service tag"
      );
    }
    if (anybody) {
      out.warnings.push_back("allowed_ssh_ranges: '" + range + "' opens SSH to the whole internet");
    }
    out.allowed_ssh_ranges.push_back(parsed ? parsed->text() : range);
  }
  // A machine on the operator's own subnet may be let in by that subnet's rules.
  if (out.allowed_ssh_ranges.empty() && out.public_ip) {
    out.warnings.emplace_back(
        "allowed_ssh_ranges is empty: machines of this offering accept no SSH connections"
    );
  }
  return {};
}

} // namespace

base::result<void> read_network(const base::json& d, settings& out) {
  const auto without_address = read_switch(d, "public_ip", "standard", "none");
  if (!without_address) {
    return without_address.error();
  }
  out.public_ip = !*without_address;
  for (const auto step : {read_ranges, read_subnet, read_ssh_ranges}) {
    if (auto r = step(d, out); !r) {
      return r;
    }
  }
  return {};
}

} // namespace siteagent::azure::parts
