// SPDX-License-Identifier: MIT
// Reading machines: single, instance view, lists.
#include "handlers.hpp"
#include "operations.hpp"
#include "paging.hpp"
#include "render.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

json expanded(const context& c, resource& r, std::string_view expand) {
  json body = render(c.world, r);
  for (const auto part : base::split(expand, ',')) {
    if (equals_ignoring_case(base::trim(part), "instanceView")) {
      body.member_ref("properties").set("instanceView", instance_view(c.world, r, c.now()));
    }
    if (equals_ignoring_case(base::trim(part), "userData") && !r.machine.user_data.empty()) {
      body.member_ref("properties").set("userData", r.machine.user_data);
    }
  }
  return body;
}

} // namespace

reply get_machine(context& c, const resource_path& path) {
  reply plain = get_resource(c, path);
  const std::string expand = c.http.parameter("$expand");
  auto* r = c.world.find(path.key());
  if (plain.status != 200 || expand.empty() || r == nullptr) {
    return plain;
  }
  plain.body = expanded(c, *r, expand).dump();
  return plain;
}

reply get_instance_view(context& c, const resource_path& path) {
  const reply plain = get_resource(c, path);
  const auto* r = c.world.find(path.key());
  if (plain.status != 200 || r == nullptr) {
    return plain;
  }
  return json_reply(200, instance_view(c.world, *r, c.now()));
}

reply list_machines(context& c, std::string_view group, std::string_view location) {
  settle_groups(c.world, c.now());
  if (!group.empty() && c.world.find_group(c.subscription_id(), group) == nullptr) {
    return group_not_found(group);
  }
  const std::string prefix = prefix_of(c.subscription_id(), group);
  const auto shows = [&](const resource& r) {
    return r.path.kind == kind::virtual_machine && (location.empty() || r.location == location);
  };
  settle_below(c.world, prefix, shows, c.now());
  const bool status_only = equals_ignoring_case(c.http.parameter("statusOnly"), "true");
  const std::string expand = c.http.parameter("$expand");
  key_source keys = keys_below(c.world, prefix, shows);
  const std::string filter = c.http.parameter("$filter");
  if (!filter.empty()) {
    const auto terms = parse_filter(filter);
    if (!terms) {
      return error_reply(
          400, {"InvalidParameter", "The filter '" + filter + "' is not understood.", "$filter"}
      );
    }
    // The only documented filter selects members of a scale set: none here.
    keys = [](const std::string&, const std::function<bool(const std::string&)>&) {};
  }
  return page_of(c, keys, c.world.machine_page, [&](const std::string& key) {
    auto& r = *c.world.find(key);
    json item = status_only ? render_status_only(c.world, r, c.now()) : expanded(c, r, expand);
    if (c.world.upper_case_groups_in_lists) {
      auto path = r.path;
      for (char& ch : path.group) {
        ch = ch >= 'a' && ch <= 'z' ? static_cast<char>(ch - 'a' + 'A') : ch;
      }
      item.set("id", path.id());
    }
    return item;
  });
}

} // namespace siteagent::azure_emulator
