// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/objects.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

constexpr std::string_view application_key = "application_security_group";

// "virtual_machine": the kind's word as a member's name.
std::string key_of(kind_id which) {
  std::string out(kind_of(which).name);
  std::replace(out.begin(), out.end(), '-', '_');
  return out;
}

base::error bad_record(std::string_view name, std::string_view key, const std::string& id) {
  return make_error(
      reason::invalid,
      base::error_code::invalid,
      "the record of cloud host " + std::string(name) + " names '" + id + "' as its " +
          std::string(key) + ", which is no such object of this subscription; nothing was changed"
  );
}

} // namespace

resource_id& host_objects::of(kind_id which) {
  switch (which) {
  case kind_id::virtual_machine:
    return machine;
  case kind_id::disk:
    return disk;
  case kind_id::network_interface:
    return interface;
  case kind_id::network_security_group:
    return group;
  default:
    return address;
  }
}

const resource_id& host_objects::of(kind_id which) const {
  host_objects& self = const_cast<host_objects&>(*this); // NOLINT: handed out as const again
  return self.of(which);
}

host_objects objects_named(const host_settings& s, std::string_view name) {
  const resource_id group = resource_id::of_group(s.azure.subscription_id, s.group);
  const auto id = [&](kind_id which, std::string_view suffix) {
    return group.in_same_group(kind_of(which).type, std::string(name) + std::string(suffix));
  };
  return {
      id(kind_id::virtual_machine, ""),
      id(kind_id::disk, "-os"),
      id(kind_id::network_interface, "-nic"),
      id(kind_id::network_security_group, "-nsg"),
      id(kind_id::public_ip_address, "-ip"),
      ""};
}

json to_json(const host_objects& o) {
  json out = json::object();
  for (const kind_id which : host_kinds) {
    out.set(key_of(which), o.of(which).text());
  }
  out.set(application_key, o.application_group);
  return out;
}

base::result<host_objects>
objects_of(const host_settings& s, std::string_view name, const json& resources) {
  host_objects out = objects_named(s, name);
  for (const kind_id which : host_kinds) {
    const std::string key = key_of(which);
    const std::string text = resources[key].string_or("");
    if (text.empty()) {
      continue;
    }
    auto id = resource_id::parse(text);
    const bool fits = id && base::equals_ignoring_case(id->type(), kind_of(which).type) &&
                      base::equals_ignoring_case(id->subscription, s.azure.subscription_id);
    if (!fits) {
      return bad_record(name, key, text);
    }
    out.of(which) = std::move(*id);
  }
  out.application_group = resources[application_key].string_or("");
  return out;
}

resource_id
application_group_id(const host_settings& s, std::string_view group, std::string_view location) {
  return resource_id::of_group(s.azure.subscription_id, s.group)
      .in_same_group(
          kind_of(kind_id::application_security_group).type,
          std::string(group) + "-" + std::string(location)
      );
}

std::string words_of(const kind& k) {
  std::string out(k.name);
  std::replace(out.begin(), out.end(), '-', ' ');
  return out;
}

base::error not_made(const kind& k, const resource_id& id, base::error why) {
  // The status apart from the code, as the owner of a fleet knows it from other tools.
  const std::string said = "HTTP " + std::to_string(why.http_status) + " ";
  if (const auto at = why.message.find(said); at != std::string::npos) {
    why.message.insert(at + said.size() - 1, ":");
  }
  why.message = "the " + words_of(k) + " " + id.name() + " was not made: " + why.message;
  add_detail(why, "resource", object_json(k, id));
  return why;
}

json object_json(const kind& k, const resource_id& id) {
  return json::object({{"kind", k.name}, {"id", id.text()}});
}

} // namespace siteagent::azure::cloud_host
