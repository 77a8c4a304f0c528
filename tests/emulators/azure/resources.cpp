// SPDX-License-Identifier: MIT
// Calls that are alike for all kinds of resources.
#include "handlers.hpp"
#include "operations.hpp"
#include "paging.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::json;

namespace {

// "/subscriptions/S/resourceGroups/RG/..." with the group in upper case, as some lists show it.
json with_upper_case_group(json item) {
  const std::string id = item["id"].string_or("");
  auto path = parse_resource_id(id);
  if (path) {
    for (char& ch : path->group) {
      ch = ch >= 'a' && ch <= 'z' ? static_cast<char>(ch - 'a' + 'A') : ch;
    }
    item.set("id", path->id());
  }
  return item;
}

} // namespace

reply get_resource(context& c, const resource_path& path) {
  settle(c.world, {path.key(), key_of(path.parent_id()), path.group_key()}, c.now());
  if (c.world.find_group(path.subscription, path.group) == nullptr) {
    return group_not_found(path.group);
  }
  auto* r = c.world.find(path.key());
  if (r == nullptr) {
    if (!path.child.empty() && c.world.find(key_of(path.parent_id())) == nullptr) {
      resource_path parent = path;
      parent.child.clear();
      parent.kind = path.kind == kind::subnet ? kind::virtual_network : kind::security_group;
      return resource_not_found(parent);
    }
    return resource_not_found(path);
  }
  if (r->unseen_reads > 0) { // not yet replicated to where this read went
    --r->unseen_reads;
    return resource_not_found(path);
  }
  reply answer = json_reply(200, render(c.world, *r));
  if (is_network(path.kind)) {
    answer.headers.emplace_back("ETag", r->etag);
  } else if (path.kind == kind::virtual_machine) {
    answer.headers.emplace_back("ETag", "\"" + std::to_string(r->machine.version) + "\"");
  }
  return answer;
}

reply list_kind(context& c, kind k, std::string_view group) {
  settle_groups(c.world, c.now());
  if (!group.empty() && c.world.find_group(c.subscription_id(), group) == nullptr) {
    return group_not_found(group);
  }
  const std::string prefix = prefix_of(c.subscription_id(), group);
  const auto shows = [k](const resource& r) { return r.path.kind == k; };
  settle_below(c.world, prefix, shows, c.now());
  return page_of(
      c,
      keys_below(c.world, prefix, shows),
      c.world.generic_page,
      [&](const std::string& key) {
        json item = render(c.world, *c.world.find(key));
        return c.world.upper_case_groups_in_lists ? with_upper_case_group(item) : item;
      }
  );
}

reply list_children(context& c, const resource_path& parent) {
  settle(c.world, {parent.key(), parent.group_key()}, c.now());
  if (c.world.find_group(parent.subscription, parent.group) == nullptr) {
    return group_not_found(parent.group);
  }
  settle(c.world, c.world.children(parent.key()), c.now());
  if (c.world.find(parent.key()) == nullptr) {
    return resource_not_found(parent);
  }
  const auto shows = [](const resource&) { return true; };
  return page_of(
      c,
      keys_below(c.world, parent.key() + "/", shows),
      c.world.generic_page,
      [&](const std::string& key) { return render(c.world, *c.world.find(key)); }
  );
}

reply patch_tags(context& c, const resource_path& path) {
  auto* r = c.world.find(path.key());
  if (r == nullptr) {
    return resource_not_found(path);
  }
  if (auto bad = check_tags(c.body)) {
    return *bad;
  }
  if (auto bad = check_preconditions(c, r)) {
    return *bad;
  }
  if (auto bad = refuse_if_locked(c, *r)) {
    return *bad;
  }
  if (const auto& tags = c.body["tags"]; tags.is_object()) {
    r->body.set("tags", tags);
  }
  r->changed = c.now();
  c.world.touch_etag(*r);
  return json_reply(200, render(c.world, *r));
}

} // namespace siteagent::azure_emulator
