// SPDX-License-Identifier: MIT
// Writing and removing network resources: one way for all kinds, their differences in a table.
#include "network.hpp"

#include "handlers.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <set>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

const network_kind& network_kind_of(kind k) {
  using row = const network_kind& (*)();
  constexpr row rows[] = {
      virtual_network_kind,
      subnet_kind,
      public_ip_kind,
      security_group_kind,
      security_rule_kind,
      application_group_kind,
  };
  for (const auto candidate : rows) {
    if (candidate().kind == k) {
      return candidate();
    }
  }
  return interface_kind();
}

reply network_refusal(std::string_view code, const std::string& message) {
  return error_reply(400, {std::string(code), message, "", json::array()});
}

namespace {

struct limit_row {
  std::string_view name;
  std::int64_t limit;
};

constexpr limit_row limits[] = {
    {"virtualNetworks", 1000},
    {"subnets", 3000},
    {"networkSecurityGroups", 5000},
    {"securityRules", 1000},
    {"addressesPerSecurityGroup", 4000},
    {"applicationSecurityGroups", 3000},
    {"applicationSecurityGroupsPerConfiguration", 20},
    {"configurationsPerApplicationSecurityGroup", 4000},
    {"applicationSecurityGroupsPerRule", 10},
    {"applicationSecurityGroupsPerSecurityGroup", 100},
    {"networkInterfaces", 65'536},
    {"privateAddressesPerVirtualNetwork", 65'536},
};

} // namespace

std::int64_t network_limit(const world& w, std::string_view name) {
  const auto seeded = w.behaviour.limits.find(base::to_lower(name));
  if (seeded != w.behaviour.limits.end()) {
    return seeded->second;
  }
  for (const auto& row : limits) {
    if (row.name == name) {
      return row.limit;
    }
  }
  return 0;
}

std::optional<reply> refuse_over_limit(
    const context& c,
    std::string_view name,
    std::int64_t count,
    std::string_view code,
    const std::string& what
) {
  const auto limit = network_limit(c.world, name);
  if (count <= limit) {
    return std::nullopt;
  }
  return network_refusal(code, "Cannot have more than " + std::to_string(limit) + " " + what + ".");
}

std::optional<reply> refuse_duplicate_names(const std::string& owner, const json& list) {
  std::set<std::string> seen;
  for (const auto& item : list.items()) {
    const std::string name = item["name"].string_or("");
    if (!seen.insert(base::to_lower(name)).second) {
      return network_refusal(
          "DuplicateResourceName",
          "Resource " + owner + " has two child resources with the same name (" + name + ")."
      );
    }
  }
  return std::nullopt;
}

std::vector<std::string> ids_in(const json& list) {
  std::vector<std::string> ids;
  for (const auto& item : list.items()) {
    ids.push_back(item["id"].string_or(""));
  }
  return ids;
}

void remember_references(world& w, const resource& r, base::wall_time now) {
  if (w.behaviour.lingering_references.count() == 0 || r.path.kind != kind::network_interface) {
    return;
  }
  const auto& configurations = r.body.at({"properties", "ipConfigurations"});
  for (const auto& key : r.uses) {
    w.lingering[key] = {
        now + w.behaviour.lingering_references, configurations[0]["id"].string_or("")};
  }
}

std::string lingering_reference(const world& w, const std::string& key, base::wall_time now) {
  const auto it = w.lingering.find(key);
  return it != w.lingering.end() && it->second.until > now ? it->second.holder : std::string();
}

bool store_child(
    context& c,
    const resource_path& path,
    const json& body,
    const std::vector<std::string>& uses,
    std::string_view location
) {
  const auto* existing = c.world.find(path.key());
  resource r;
  r.path = path;
  r.location = location;
  r.body = body;
  r.uses = uses;
  r.created = existing != nullptr ? existing->created : c.now();
  r.changed = c.now();
  const bool same = existing != nullptr && existing->state == provisioning::succeeded &&
                    existing->body["properties"] == body["properties"];
  r.state = existing == nullptr ? provisioning::creating
            : same              ? provisioning::succeeded
                                : provisioning::updating;
  c.world.touch_etag(c.world.put(std::move(r)));
  return !same;
}

bool drop_other_children(
    context& c, const resource_path& parent, const std::vector<std::string>& kept
) {
  bool dropped = false;
  for (const auto& key : c.world.children(parent.key())) {
    if (std::find(kept.begin(), kept.end(), key) == kept.end()) {
      c.world.erase(key);
      dropped = true;
    }
  }
  return dropped;
}

namespace {

std::optional<reply> refuse_missing_parent(const resource_path& path) {
  const auto& info = info_of(path.kind);
  return gateway_error(
      404,
      {"ParentResourceNotFound",
       "Failed to perform 'write' on resource(s) of type '" + std::string(info.type) + "/" +
           std::string(info.child) + "', because the parent resource '" + path.parent_id() +
           "' could not be found."}
  );
}

// Regional limits of resources of their own.
std::optional<reply> check_count(const network_put& p) {
  const std::pair<kind, std::string_view> named[] = {
      {kind::virtual_network, "VirtualNetwork"},
      {kind::security_group, "NetworkSecurityGroup"},
      {kind::application_group, "ApplicationSecurityGroup"},
      {kind::network_interface, "NetworkInterface"},
  };
  const auto* row = std::find_if(std::begin(named), std::end(named), [&](const auto& n) {
    return n.first == p.path.kind;
  });
  if (row == std::end(named) || p.existing != nullptr || !p.c.world.quotas_checked) {
    return std::nullopt;
  }
  const auto type = info_of(p.path.kind).type;
  const auto limit = network_limit(p.c.world, type);
  std::int64_t count = 0;
  for (const auto& key : p.c.world.list(p.path.kind, p.c.subscription_id())) {
    count += p.c.world.find(key)->location == p.location ? 1 : 0;
  }
  if (count < limit) {
    return std::nullopt;
  }
  return network_refusal(
      std::string(row->second) + "CountLimitReached",
      "Cannot create more than " + std::to_string(limit) + " " + std::string(type) +
          " for this subscription in this region."
  );
}

// What must be free for a write: the parent of a child, since siblings share its lock.
std::optional<reply> refuse_if_busy(const network_put& p) {
  const auto* locked = p.parent != nullptr ? p.parent : p.existing;
  if (locked == nullptr || !superseded_write(p.c, p.path).empty()) {
    return std::nullopt;
  }
  return refuse_if_locked(p.c, *locked);
}

std::optional<reply> check_put(const network_put& p, const network_kind& row) {
  auto bad = check_preconditions(p.c, p.existing);
  if (!bad && row.check != nullptr) {
    bad = row.check(p);
  }
  if (!bad) {
    bad = check_count(p);
  }
  return bad ? bad : refuse_if_busy(p);
}

std::vector<std::string> keys_of(const std::vector<std::string>& ids) {
  std::vector<std::string> keys;
  for (const auto& id : ids) {
    keys.push_back(key_of(id));
  }
  return keys;
}

// As far as a reader sees it: what the platform fills in does not count.
bool looks_same(const resource& a, const resource& b) {
  return a.body["tags"] == b.body["tags"] && a.body["properties"] == b.body["properties"] &&
         keys_of(a.uses) == keys_of(b.uses);
}

reply start_write(const network_put& p, resource& stored, std::vector<std::string> also) {
  const bool is_new = p.existing == nullptr;
  operation_plan plan;
  plan.subject = p.path.key();
  plan.also = std::move(also);
  plan.location = p.location;
  plan.is_new = is_new;
  if (p.parent != nullptr) {
    plan.locks = {p.parent->path.key()};
    p.c.world.touch_etag(*p.parent);
  }
  const int update = p.path.kind == kind::virtual_network ? p.c.world.network_update_status : 200;
  reply answer = json_reply(is_new ? 201 : update, render(p.c.world, stored));
  const std::string superseded = superseded_write(p.c, p.path);
  const auto& op = begin(p.c, plan);
  add_monitor_headers(p.c, op, monitors::async, answer);
  supersede(p.c.world, superseded, op, p.c.now());
  return answer;
}

} // namespace

reply put_network(context& c, const resource_path& path) {
  const auto& row = network_kind_of(path.kind);
  auto* parent = path.child.empty() ? nullptr : c.world.find(key_of(path.parent_id()));
  if (!path.child.empty() && parent == nullptr) {
    return *refuse_missing_parent(path);
  }
  const network_put p{
      c,
      path,
      c.world.find(path.key()),
      parent,
      parent != nullptr ? parent->location : normalized_location(c.body["location"].string_or("")),
      c.body["properties"]};
  auto bad = check_put(p, row);
  resource r;
  r.path = path;
  r.location = p.location;
  r.created = p.existing == nullptr ? c.now() : p.existing->created;
  r.changed = c.now();
  if (!bad) {
    bad = row.build(p, r);
  }
  if (bad) {
    return *bad;
  }
  const bool is_new = p.existing == nullptr;
  if (is_new) {
    r.unseen_reads = c.world.quotas_checked ? c.world.behaviour.missing_first_reads : 0;
  } else {
    r.interface = p.existing->interface;
    r.address = p.existing->address;
    r.undo = path.kind == kind::security_rule ? p.existing->body : json();
  }
  const bool same =
      !is_new && p.existing->state == provisioning::succeeded && looks_same(*p.existing, r);
  auto& stored = c.world.put(std::move(r));
  c.world.touch_etag(stored);
  std::vector<std::string> also;
  const bool children_changed = row.store_children != nullptr && row.store_children(p, also);
  stored.state = is_new                      ? provisioning::creating
                 : same && !children_changed ? provisioning::succeeded
                                             : provisioning::updating;
  // Interfaces are made at once; only a scripted failure needs an operation to fail.
  if (path.kind == kind::network_interface && c.call.operation == nullptr) {
    stored.state = provisioning::succeeded;
    return json_reply(is_new ? 201 : 200, render(c.world, stored));
  }
  return start_write(p, stored, std::move(also));
}

reply delete_network(context& c, const resource_path& path) {
  auto* r = c.world.find(path.key());
  auto* parent = path.child.empty() ? nullptr : c.world.find(key_of(path.parent_id()));
  if (r == nullptr || (parent == nullptr && !path.child.empty())) {
    return empty_reply(204);
  }
  const auto& row = network_kind_of(path.kind);
  auto bad = check_preconditions(c, r);
  if (!bad && row.refuse_removal != nullptr) {
    bad = row.refuse_removal(c, *r);
  }
  if (!bad) {
    bad = refuse_if_locked(c, parent != nullptr ? *parent : *r);
  }
  if (bad) {
    return *bad;
  }
  operation_plan plan;
  plan.action = action::remove;
  plan.pace = pace::network_delete;
  plan.subject = path.key();
  plan.also = c.world.children(path.key());
  plan.location = r->location;
  if (parent != nullptr) {
    plan.locks = {parent->path.key()};
  }
  r->state = provisioning::deleting;
  for (const auto& key : plan.also) {
    c.world.find(key)->state = provisioning::deleting;
  }
  reply answer = empty_reply(202);
  add_monitor_headers(c, begin(c, plan), monitors::async_and_location, answer);
  return answer;
}

} // namespace siteagent::azure_emulator
