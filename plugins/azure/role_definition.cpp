// SPDX-License-Identifier: MIT
#include "plugins/azure/role_definition.hpp"

#include "plugins/azure/resource_id.hpp"

namespace siteagent::azure {

namespace {

std::string description(right_area area, const settings& s) {
  const std::string where = "Assign it to the application at " + scope_of(area, s) + ".";
  switch (area) {
  case right_area::machines:
    return "Site Agent: makes, stops, starts, meters and deletes its machines in their group. " +
           where;
  case right_area::network:
    return "Site Agent: reads the network its machines enter. " + where;
  case right_area::subnet:
    return "Site Agent: puts machines into the subnet. " + where;
  case right_area::subscription:
    break;
  }
  return (s.is_shared_group()
              ? "Site Agent: reads sizes, images, quotas and locations. "
              : "Site Agent: makes, stops, starts, meters and deletes machines in groups of their "
                "own. ") +
         where;
}

// Azure lets roles be assignable in subscriptions and groups, not in single objects.
std::string assignable_scope(right_area area, const settings& s) {
  const std::string scope = scope_of(area, s);
  const auto id = resource_id::parse(scope);
  return id ? resource_id::of_group(id->subscription, id->group).text() : scope;
}

} // namespace

std::string role_name(right_area area, const settings& s) {
  const auto id = resource_id::parse(scope_of(area, s));
  switch (area) {
  case right_area::machines:
    return "Site Agent machines in group " + s.default_resource_group + " of subscription " +
           s.subscription_id;
  case right_area::network:
    return "Site Agent network " + (id ? id->name() : std::string()) + " for subscription " +
           s.subscription_id;
  case right_area::subnet:
    return "Site Agent subnet " + (id ? id->name() : std::string()) + " for subscription " +
           s.subscription_id;
  case right_area::subscription:
    break;
  }
  return (s.is_shared_group() ? "Site Agent reads in subscription "
                              : "Site Agent machines in subscription ") +
         s.subscription_id;
}

std::vector<base::json> role_definitions(const settings& s, bool meters_hours) {
  circumstances c;
  c.meters_hours = meters_hours;
  const std::vector<right> rights = required_rights(s, c);
  std::vector<base::json> out;
  for (const right_area area : all_areas) {
    base::json actions = base::json::array();
    for (std::string& action : actions_in(rights, area)) {
      actions.push_back(std::move(action));
    }
    if (actions.size() == 0) {
      continue;
    }
    out.push_back(base::json::object(
        {{"Name", role_name(area, s)},
         {"IsCustom", true},
         {"Description", description(area, s)},
         {"Actions", std::move(actions)},
         {"NotActions", base::json::array()},
         {"AssignableScopes", base::json::array({assignable_scope(area, s)})}}
    ));
  }
  return out;
}

} // namespace siteagent::azure
