// SPDX-License-Identifier: MIT
#include "handlers.hpp"
#include "operations.hpp"
#include "paging.hpp"
#include "render.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

constexpr std::size_t max_groups = 980;

std::optional<reply> check_group_location(const context& c, const group* existing) {
  const std::string given = c.body["location"].string_or("");
  if (given.empty()) {
    return gateway_error(
        400, {"LocationRequired", "The location property is required for this definition."}
    );
  }
  const std::string location = normalized_location(given);
  if (c.world.offer.find_location(location) == nullptr) {
    return gateway_error(
        400,
        {"LocationNotAvailableForResourceGroup",
         "The provided location '" + given + "' is not available for resource group."}
    );
  }
  if (existing != nullptr && existing->location != location) {
    return gateway_error(
        409,
        {"InvalidResourceGroupLocation",
         "Invalid resource group location '" + location +
             "'. The Resource group already exists in location '" + existing->location + "'."}
    );
  }
  return std::nullopt;
}

reply being_deleted(std::string_view name) {
  return gateway_error(
      409,
      {"ResourceGroupBeingDeleted",
       "The resource group '" + std::string(name) +
           "' is in deprovisioning state and cannot perform this operation."}
  );
}

std::size_t top_of(const context& c, std::size_t fallback) {
  const std::string text = c.http.parameter("$top");
  std::size_t value = 0;
  const auto* end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, value);
  return problem == std::errc() && stop == end && value > 0 ? std::min(value, fallback) : fallback;
}

reply bad_filter(std::string_view text) {
  return gateway_error(
      400,
      {"InvalidFilterInQueryString",
       "Invalid $filter '" + std::string(text) + "' specified in the query string."}
  );
}

bool has_tag(const json& tags, std::string_view name, const std::optional<std::string>& value) {
  return std::any_of(tags.members().begin(), tags.members().end(), [&](const auto& tag) {
    return equals_ignoring_case(tag.first, name) && (!value || tag.second.string_or("") == *value);
  });
}

std::optional<std::string> value_of(const filter_terms& terms, std::string_view name) {
  for (const auto& [field, value] : terms) {
    if (field == name) {
      return value;
    }
  }
  return std::nullopt;
}

// One term of a filter over resources; tagName and tagValue belong together.
bool matches(const resource& r, const filter_terms& terms) {
  for (const auto& [field, value] : terms) {
    bool ok = true;
    if (field == "tagname") {
      ok = has_tag(r.body["tags"], value, value_of(terms, "tagvalue"));
    } else if (field == "resourcetype") {
      ok = equals_ignoring_case(type_name(r.path.kind), value);
    } else if (field == "resourcegroup") {
      ok = equals_ignoring_case(r.path.group, value);
    } else if (field == "location") {
      ok = r.location == normalized_location(value);
    } else if (field == "name") {
      ok = equals_ignoring_case(r.path.own_name(), value);
    }
    if (!ok) {
      return false;
    }
  }
  return true;
}

bool is_known_filter(const filter_terms& terms) {
  constexpr std::string_view known[] = {
      "tagname", "tagvalue", "resourcetype", "resourcegroup", "location", "name"};
  return std::all_of(terms.begin(), terms.end(), [&](const auto& term) {
    return std::find(std::begin(known), std::end(known), term.first) != std::end(known);
  });
}

} // namespace

reply put_group(context& c, std::string_view name) {
  if (auto bad = check_group_name(name)) {
    return *bad;
  }
  auto* existing = c.world.find_group(c.subscription_id(), name);
  if (existing != nullptr && existing->state == provisioning::deleting) {
    return being_deleted(name);
  }
  if (auto bad = check_group_location(c, existing)) {
    return *bad;
  }
  if (auto bad = check_tags(c.body)) {
    return *bad;
  }
  if (existing == nullptr && c.world.groups.size() >= max_groups) {
    return gateway_error(
        409,
        {"ResourceGroupQuotaExceeded",
         "Creating the resource group '" + std::string(name) +
             "' would exceed the quota of '980'. The current resource group count is '980'."}
    );
  }
  const bool is_new = existing == nullptr;
  group& g = c.world.groups[key_of(group_id(c.subscription_id(), name))];
  g.subscription = c.subscription_id();
  g.name = name;
  g.location = normalized_location(c.body["location"].string_or(""));
  g.tags = c.body["tags"];
  g.changed = c.now();
  if (is_new) {
    g.created = c.now();
  }
  return json_reply(is_new ? 201 : 200, render_group(g));
}

reply get_group(context& c, std::string_view name) {
  settle(c.world, {key_of(group_id(c.subscription_id(), name))}, c.now());
  const auto* g = c.world.find_group(c.subscription_id(), name);
  return g == nullptr ? group_not_found(name) : json_reply(200, render_group(*g));
}

reply head_group(context& c, std::string_view name) {
  settle(c.world, {key_of(group_id(c.subscription_id(), name))}, c.now());
  return empty_reply(c.world.find_group(c.subscription_id(), name) == nullptr ? 404 : 204);
}

reply patch_group(context& c, std::string_view name) {
  auto* g = c.world.find_group(c.subscription_id(), name);
  if (g == nullptr) {
    return group_not_found(name);
  }
  if (g->state == provisioning::deleting) {
    return being_deleted(name);
  }
  if (auto bad = check_tags(c.body)) {
    return *bad;
  }
  if (c.body.find("tags") != nullptr) {
    g->tags = c.body["tags"];
  }
  g->changed = c.now();
  return json_reply(200, render_group(*g));
}

reply delete_group(context& c, std::string_view name) {
  auto* g = c.world.find_group(c.subscription_id(), name);
  if (g == nullptr) {
    return group_not_found(name);
  }
  reply r = empty_reply(202);
  if (g->state == provisioning::deleting) {
    const auto it = c.world.operations.find(key_of(g->operation));
    if (it != c.world.operations.end()) {
      add_monitor_headers(c, it->second, monitors::location, r);
      return r;
    }
  }
  g->state = provisioning::deleting;
  operation_plan plan;
  plan.action = action::remove_group;
  plan.pace = pace::group_delete;
  plan.subject = key_of(g->id());
  plan.location = g->location;
  add_monitor_headers(c, begin(c, plan), monitors::location, r);
  return r;
}

reply list_groups(context& c) {
  const std::string text = c.http.parameter("$filter");
  const auto terms = parse_filter(text);
  if (!terms || !is_known_filter(*terms)) {
    return bad_filter(text);
  }
  settle_groups(c.world, c.now());
  std::vector<std::string> keys;
  const auto tag = value_of(*terms, "tagname");
  for (const auto& [key, g] : c.world.groups) {
    if (equals_ignoring_case(g.subscription, c.subscription_id()) &&
        (!tag || has_tag(g.tags, *tag, value_of(*terms, "tagvalue")))) {
      keys.push_back(key);
    }
  }
  return page_of(c, keys_of(keys), top_of(c, c.world.generic_page), [&](const std::string& key) {
    return render_group(c.world.groups.at(key));
  });
}

reply list_resources(context& c, std::string_view group) {
  const std::string text = c.http.parameter("$filter");
  const auto terms = parse_filter(text);
  if (!terms || !is_known_filter(*terms)) {
    return bad_filter(text);
  }
  const std::string prefix = prefix_of(c.subscription_id(), group);
  const auto shows = [&](const resource& r) { return r.path.child.empty() && matches(r, *terms); };
  settle_groups(c.world, c.now());
  settle_below(c.world, prefix, shows, c.now());
  const std::string expand = base::to_lower(c.http.parameter("$expand"));
  return page_of(
      c,
      keys_below(c.world, prefix, shows),
      top_of(c, c.world.generic_page),
      [&](const std::string& key) {
        auto& r = *c.world.find(key);
        json item = render_generic(c.world, r);
        if (expand.find("createdtime") != std::string::npos) {
          item.set("createdTime", compute_time(r.created));
        }
        if (expand.find("changedtime") != std::string::npos) {
          item.set("changedTime", compute_time(r.changed));
        }
        if (expand.find("provisioningstate") != std::string::npos) {
          item.set("provisioningState", text_of(r.state, false));
        }
        return item;
      }
  );
}

namespace {

// Whether something that stays refers to the resource.
bool is_used_from_outside(const world& w, const std::string& key) {
  const auto& users = w.users_of(key);
  return std::any_of(users.begin(), users.end(), [&](const std::string& user) {
    return w.resources.count(user) != 0;
  });
}

void remove_members(world& w, const std::string& group_key) {
  // Machines first: what they refer to becomes free; then round by round.
  bool progress = true;
  while (progress) {
    progress = false;
    for (const auto& key : w.in_group(group_key)) {
      auto* r = w.find(key);
      if (r == nullptr || is_used_from_outside(w, key)) {
        continue;
      }
      const auto children = w.children(key);
      const bool blocked = std::any_of(children.begin(), children.end(), [&](const auto& child) {
        return is_used_from_outside(w, child);
      });
      if (blocked) {
        continue;
      }
      for (const auto& child : children) {
        w.erase(child);
      }
      w.erase(key);
      progress = true;
    }
  }
}

} // namespace

void complete_group_removal(world& w, operation& op, bool ok, base::wall_time now) {
  const auto it = w.groups.find(op.subject);
  if (it == w.groups.end()) {
    return;
  }
  group& g = it->second;
  if (ok) {
    for (const auto& key : w.in_group(op.subject)) {
      if (const auto* r = w.find(key)) {
        preempt(w, r->operation, now);
      }
    }
    remove_members(w, op.subject);
    const auto left = w.in_group(op.subject);
    if (left.empty()) {
      w.groups.erase(it);
      w.drop_locks(op.subject);
      return;
    }
    std::vector<std::string> ids;
    for (const auto& key : left) {
      ids.push_back(w.find(key)->path.id());
    }
    op.status = operation_status::failed;
    op.error_code = "ResourceGroupDeletionBlocked";
    op.error_message = "Deletion of resource group '" + g.name +
                       "' failed as resources with identifiers '" + base::join(ids, ",") +
                       "' could not be deleted. The provisioning state of the resource group will "
                       "be rolled back.";
  }
  g.state = provisioning::succeeded;
  g.changed = now;
}

} // namespace siteagent::azure_emulator
