// SPDX-License-Identifier: MIT
#include "plugins/azure/place.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/naming.hpp"

#include <array>
#include <map>

namespace siteagent::azure {

namespace {

resource_id machine_in(const settings& s, std::string_view group, std::string_view name) {
  return resource_id::of_group(s.subscription_id, group)
      .in_same_group(kind_of(kind_id::virtual_machine).type, name);
}

std::string uuid_digits(const owner& who) {
  const auto id = base::uuid::parse(who.value);
  return id ? id->hex() : who.value;
}

bool is_shared(const settings& s, const std::string& group, const std::string& machine) {
  return !as_dedicated_group(group, machine) ||
         (s.is_shared_group() && base::equals_ignoring_case(group, s.default_resource_group));
}

base::error all_taken(std::string_view what) {
  return make_error(
      reason::invalid,
      base::error_code::conflict,
      "create virtual machine: every name it may have is taken by somebody else, the last one by " +
          std::string(what) + "; nothing was changed. Rename the resource or remove that object",
      "The machine's name is already in use at the provider. Choose another name."
  );
}

// Kind and id of the first object of one of the machine's names that is not ours; "" when all are
// free.
std::string stranger_in_the_way(
    const std::map<std::string, base::json>& members, const owner& who, const resource_id& machine
) {
  constexpr std::array kinds_with_tags{
      kind_id::virtual_machine,
      kind_id::network_interface,
      kind_id::network_security_group,
      kind_id::public_ip_address,
      kind_id::virtual_network,
      kind_id::disk};
  for (const kind_id which : kinds_with_tags) {
    const resource_id id = companion(machine, which);
    const auto seen = members.find(id_key(id.text()));
    if (seen == members.end()) {
      continue;
    }
    const bool mine = holder_of(seen->second, who) == holder::mine;
    if (mine && which == kind_id::virtual_machine) {
      // Everything around it is its own, its untagged disk too.
      return std::string();
    }
    if (!mine) {
      return std::string(kind_of(which).name) + " " + id.text();
    }
  }
  return std::string();
}

base::result<place> choose_group(
    const services& cloud,
    const arm::scope& call,
    const settings& s,
    const owner& who,
    std::string_view resource_name
) {
  const std::string machine = sanitize(resource_name);
  std::string last;
  for (unsigned rung = 0; rung < group_ladder; ++rung) {
    const std::string group = dedicated_group(machine, uuid_digits(who), rung);
    last = "resource-group " + group;
    if (!cloud.names().take(group, who.value)) {
      continue;
    }
    auto seen = cloud.resources().group(call, group);
    if (!seen) {
      return seen.error();
    }
    if (!*seen) {
      return place{machine_in(s, group, machine), false, std::set<std::string>()};
    }
    if (holder_of(**seen, who) == holder::mine) {
      return place{machine_in(s, group, machine), false};
    }
  }
  return all_taken(last);
}

// One listing of the shared group instead of a read per name. It may lag by seconds: the creating
// writes are conditional, so a name that is taken after all is met there, never overwritten.
base::result<place> choose_machine(
    const services& cloud,
    const arm::scope& call,
    const settings& s,
    const owner& who,
    std::string_view resource_name
) {
  const std::string& group = s.default_resource_group;
  auto listed = cloud.resources().members(call, group);
  if (!listed && listed.error().code != base::error_code::not_found) {
    return listed.error();
  }
  if (!listed) {
    // What is missing will be made, and making a group that exists overwrites its tags: ask twice.
    auto read = cloud.resources().group(call, group);
    if (!read) {
      return read.error();
    }
    if (*read) { // falsely missed, or another order just made it
      listed = cloud.resources().members(call, group);
      if (!listed) {
        base::error e = std::move(listed).error();
        e.code = base::error_code::transient; // also when it is "missing" again: nobody knows
        return e;
      }
    }
  }
  std::map<std::string, base::json> members;
  std::set<std::string> seen;
  if (listed) {
    seen.insert(id_key(resource_id::of_group(s.subscription_id, group).text()));
    for (base::json& o : *listed) {
      std::string key = id_key(o["id"].string_or(""));
      seen.insert(key);
      members.insert_or_assign(std::move(key), std::move(o));
    }
  }
  std::string last;
  for (unsigned rung = 0; rung < machine_ladder; ++rung) {
    const std::string machine = shared_machine(resource_name, uuid_digits(who), rung);
    last = "virtual-machine " + machine;
    if (!cloud.names().take(group + "/" + machine, who.value)) {
      continue;
    }
    const resource_id id = machine_in(s, group, machine);
    const std::string stranger = stranger_in_the_way(members, who, id);
    if (stranger.empty()) {
      return place{id, true, std::move(seen)};
    }
    last = stranger;
  }
  return all_taken(last);
}

} // namespace

std::vector<resource_id> belongings::machines() const {
  std::vector<resource_id> out;
  for (const base::json& o : objects) {
    const auto id = resource_id::parse(o["id"].string_or(""));
    if (id && id->is_virtual_machine()) {
      out.push_back(*id);
    }
  }
  return out;
}

base::result<belongings>
find_belongings(const services& cloud, const arm::scope& call, const owner& who) {
  auto objects = cloud.resources().tagged(call, who.tag, who.value);
  if (!objects) {
    return objects.error();
  }
  auto groups = cloud.resources().tagged_groups(call, who.tag, who.value);
  if (!groups) {
    return groups.error();
  }
  return belongings{std::move(*objects), std::move(*groups)};
}

std::optional<place> place_of(const belongings& found, const settings& s) {
  for (const resource_id& machine : found.machines()) {
    return place{machine, is_shared(s, machine.group, machine.name())};
  }
  for (const base::json& g : found.groups) {
    const std::string group = g["name"].string_or("");
    if (const auto machine = machine_of_group(group)) {
      return place{machine_in(s, group, *machine), false};
    }
  }
  for (const base::json& o : found.objects) {
    const auto id = resource_id::parse(o["id"].string_or(""));
    const auto machine = id ? machine_of_companion(*id) : std::nullopt;
    if (machine) {
      return place{machine_in(s, id->group, *machine), is_shared(s, id->group, *machine)};
    }
  }
  return std::nullopt;
}

std::vector<resource_id>
places_by_name(const settings& s, const owner& who, std::string_view resource_name) {
  std::vector<resource_id> out;
  for (unsigned rung = 0; rung < (s.is_shared_group() ? machine_ladder : group_ladder); ++rung) {
    if (s.is_shared_group()) {
      out.push_back(machine_in(
          s, s.default_resource_group, shared_machine(resource_name, uuid_digits(who), rung)
      ));
    } else {
      const std::string machine = sanitize(resource_name);
      out.push_back(machine_in(s, dedicated_group(machine, uuid_digits(who), rung), machine));
    }
  }
  return out;
}

base::result<place> choose_place(
    const services& cloud,
    const arm::scope& call,
    const settings& s,
    const owner& who,
    std::string_view resource_name
) {
  return s.is_shared_group() ? choose_machine(cloud, call, s, who, resource_name)
                             : choose_group(cloud, call, s, who, resource_name);
}

} // namespace siteagent::azure
