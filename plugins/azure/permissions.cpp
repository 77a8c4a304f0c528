// SPDX-License-Identifier: MIT
#include "plugins/azure/permissions.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/arm/paging.hpp"
#include "plugins/azure/own_network.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace {

constexpr std::string_view permissions_version = "2022-04-01";

// What is done to each kind of object: r(ead) w(rite) d(elete) j(oin: name it in another object's
// body). Index: kind_id. A disk is written by the creation of its machine.
constexpr std::array<std::string_view, 8> on_kinds{
    "rwd",  // resource_group
    "rwd",  // disk
    "rwd",  // virtual_network
    "rwdj", // subnet
    "rwdj", // public_ip_address
    "rwdj", // network_security_group
    "rwdj", // network_interface
    "rwd",  // virtual_machine
};
static_assert(on_kinds.size() == std::tuple_size_v<std::decay_t<decltype(all_kinds())>>);

// Beyond the objects themselves.
struct other_right {
  std::string_view action;
  right_area area;
};

constexpr auto others = std::to_array<other_right>({
    {"Microsoft.Compute/virtualMachines/instanceView/read", right_area::machines},
    {"Microsoft.Compute/virtualMachines/start/action", right_area::machines},
    {"Microsoft.Compute/virtualMachines/deallocate/action", right_area::machines},
    {"Microsoft.Resources/subscriptions/resourceGroups/resources/read", right_area::machines},
    {"Microsoft.Resources/subscriptions/read", right_area::subscription},
    {"Microsoft.Resources/subscriptions/locations/read", right_area::subscription},
    {"Microsoft.Resources/subscriptions/providers/read", right_area::subscription},
    {"Microsoft.Resources/subscriptions/resources/read", right_area::subscription},
    {"Microsoft.Resources/subscriptions/operationresults/read", right_area::subscription},
    {"Microsoft.Compute/skus/read", right_area::subscription},
    {"Microsoft.Compute/locations/vmSizes/read", right_area::subscription},
    {"Microsoft.Compute/locations/usages/read", right_area::subscription},
    {"Microsoft.Compute/locations/operations/read", right_area::subscription},
    {"Microsoft.Compute/locations/diskOperations/read", right_area::subscription},
    {"Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/read",
     right_area::subscription},
    {"Microsoft.Compute/locations/publishers/artifacttypes/offers/skus/versions/read",
     right_area::subscription},
    {"Microsoft.Network/locations/usages/read", right_area::subscription},
    {"Microsoft.Network/locations/operations/read", right_area::subscription},
    {"Microsoft.Network/locations/operationResults/read", right_area::subscription},
});

// The diagnosis itself reads rights, in every area.
constexpr std::string_view read_rights = "Microsoft.Authorization/permissions/read";

constexpr std::string_view read_events = "Microsoft.Insights/eventtypes/values/read";

std::string type_in_actions(const kind& k) {
  // The one type whose actions are named otherwise than its objects.
  return k.id == kind_id::resource_group ? "Microsoft.Resources/subscriptions/resourceGroups"
                                         : std::string(k.type);
}

// Is an object of that kind written with these settings?
bool is_written(kind_id id, const settings& s, bool group_exists) {
  switch (id) {
  case kind_id::resource_group:
    return !s.is_shared_group() || !group_exists;
  case kind_id::disk:
    return true; // by the creation of its machine
  default:
    return is_made(id, s);
  }
}

std::string_view suffix_of(char verb) {
  switch (verb) {
  case 'w':
    return "/write";
  case 'd':
    return "/delete";
  case 'j':
    return "/join/action";
  default:
    return "/read";
  }
}

// A shared group that does not exist yet has no rights of its own to ask for.
right_area area_of_machines(const settings& s, bool group_exists) {
  return s.is_shared_group() && group_exists ? right_area::machines : right_area::subscription;
}

void add(std::vector<right>& to, std::string action, right_area area) {
  const bool known = std::any_of(to.begin(), to.end(), [&](const right& r) {
    return r.area == area && r.action == action;
  });
  if (!known) {
    to.push_back({std::move(action), area});
  }
}

std::vector<std::string> texts_of(const base::json& list) {
  std::vector<std::string> out;
  for (const base::json& item : list.items()) {
    out.push_back(item.string_or(""));
  }
  return out;
}

} // namespace

std::vector<right> required_rights(const settings& s, const circumstances& c) {
  const right_area machines = area_of_machines(s, c.group_exists);
  std::vector<right> out;
  for (const kind& k : all_kinds()) {
    for (const char verb : on_kinds.at(static_cast<std::size_t>(k.id))) {
      const bool never = verb == 'd' && k.id == kind_id::resource_group && s.is_shared_group();
      if (verb == 'r' || (is_written(k.id, s, c.group_exists) && !never)) {
        add(out, type_in_actions(k) + std::string(suffix_of(verb)), machines);
      }
    }
  }
  for (const other_right& o : others) {
    add(out, std::string(o.action), o.area == right_area::machines ? machines : o.area);
  }
  if (!s.is_shared_group()) {
    for (const std::string_view provider : c.unregistered) {
      add(out, std::string(provider) + "/register/action", right_area::subscription);
    }
  }
  if (s.subnet) {
    // Nothing of the site's own network is written: machines only enter it.
    add(out, type_in_actions(kind_of(kind_id::subnet)) + "/join/action", right_area::subnet);
    add(out, std::string(read_rights), right_area::subnet);
    const bool read_anyway = machines == right_area::subscription ||
                             base::equals_ignoring_case(s.subnet->group, s.default_resource_group);
    if (!read_anyway) {
      add(out, type_in_actions(kind_of(kind_id::virtual_network)) + "/read", right_area::network);
      add(out, std::string(read_rights), right_area::network);
    }
  }
  if (c.meters_hours) {
    add(out, std::string(read_events), right_area::subscription);
  }
  for (const right_area area : {right_area::subscription, machines}) {
    add(out, std::string(read_rights), area);
  }
  return out;
}

std::vector<std::string> actions_in(const std::vector<right>& rights, right_area area) {
  std::vector<std::string> out;
  for (const right& r : rights) {
    if (r.area == area) {
      out.push_back(r.action);
    }
  }
  std::sort(out.begin(), out.end());
  return out;
}

bool matches_action(std::string_view pattern, std::string_view action) {
  const std::string folded_pattern = base::to_lower(pattern);
  const std::string folded_action = base::to_lower(action);
  const auto pieces = base::split(folded_pattern, '*');
  std::string_view rest = folded_action;
  if (pieces.size() == 1) {
    return rest == pieces.front();
  }
  if (!rest.starts_with(pieces.front())) {
    return false;
  }
  rest.remove_prefix(pieces.front().size());
  for (std::size_t i = 1; i + 1 < pieces.size(); ++i) {
    const auto at = rest.find(pieces[i]);
    if (at == std::string_view::npos) {
      return false;
    }
    rest.remove_prefix(at + pieces[i].size());
  }
  return rest.ends_with(pieces.back());
}

bool is_allowed(const std::vector<allowance>& all, std::string_view action) {
  const auto covers = [&](const std::vector<std::string>& patterns) {
    return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& p) {
      return matches_action(p, action);
    });
  };
  return std::any_of(all.begin(), all.end(), [&](const allowance& a) {
    return covers(a.actions) && !covers(a.not_actions);
  });
}

base::result<std::vector<allowance>>
read_allowances(const arm::pipeline& arm, const arm::scope& call, const std::string& scope) {
  const auto rows = arm::read_all(
      arm,
      call,
      scope + "/providers/Microsoft.Authorization/permissions?api-version=" +
          std::string(permissions_version),
      "read the rights at " + scope
  );
  if (!rows) {
    return rows.error();
  }
  std::vector<allowance> out;
  for (const base::json& row : *rows) {
    out.push_back({texts_of(row["actions"]), texts_of(row["notActions"])});
  }
  return out;
}

std::string scope_of(right_area area, const settings& s) {
  const std::string subscription = "/subscriptions/" + s.subscription_id;
  const bool own = s.subnet.has_value();
  if (area == right_area::subnet && own) {
    return s.subnet->text();
  }
  if (area == right_area::network && own) {
    resource_id network = *s.subnet;
    network.parts.resize(1);
    return network.text();
  }
  if (area == right_area::machines && s.is_shared_group()) {
    return subscription + "/resourceGroups/" + s.default_resource_group;
  }
  return subscription;
}

} // namespace siteagent::azure
