// SPDX-License-Identifier: MIT
// Look-ups and permissions over the store.
#include "model.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>
#include <array>

namespace siteagent::waldur_emulator {

component* offering::find_component(std::string_view type_name) {
  const auto found = std::find_if(components.begin(), components.end(), [&](const component& c) {
    return c.type == type_name;
  });
  return found == components.end() ? nullptr : &*found;
}

const component* offering::find_component(std::string_view type_name) const {
  const auto found = std::find_if(components.begin(), components.end(), [&](const component& c) {
    return c.type == type_name;
  });
  return found == components.end() ? nullptr : &*found;
}

order& store::add_order(order o) {
  auto& of_resource = orders_by_resource[o.resource];
  if (std::find(of_resource.begin(), of_resource.end(), o.uuid) == of_resource.end()) {
    of_resource.push_back(o.uuid);
  }
  return orders.add(std::move(o));
}

std::vector<const order*> store::open_orders(std::string_view resource_uuid) const {
  constexpr std::array<std::string_view, 4> closed{"done", "erred", "canceled", "rejected"};
  std::vector<const order*> open;
  const auto known = orders_by_resource.find(std::string(resource_uuid));
  if (known == orders_by_resource.end()) {
    return open;
  }
  for (const auto& uuid : known->second) {
    const order* o = orders.find(uuid);
    if (o != nullptr && std::find(closed.begin(), closed.end(), o->state) == closed.end()) {
      open.push_back(o);
    }
  }
  return open;
}

const user* store::find_token(std::string_view token) const {
  for (const auto& u : users.rows()) {
    if (!u.token.empty() && u.token == token) {
      return &u;
    }
  }
  return nullptr;
}

std::vector<const resource*> store::living_resources(std::string_view project_uuid) const {
  std::vector<const resource*> living;
  for (const auto& r : resources.rows()) {
    if (r.project == project_uuid && r.state != "Terminated") {
      living.push_back(&r);
    }
  }
  return living;
}

std::string slugify(std::string_view name) {
  std::string slug;
  for (char c : base::to_lower(name)) {
    const bool word = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
    if (word) {
      slug.push_back(c);
    } else if ((c == '-' || c == ' ') && !slug.empty() && slug.back() != '-') {
      slug.push_back('-');
    }
  }
  while (slug.ends_with('-')) {
    slug.pop_back();
  }
  return slug;
}

std::string hex_or_empty(std::string_view text) {
  const auto parsed = base::uuid::parse(text);
  return parsed ? parsed->hex() : std::string();
}

std::string random_uuid() {
  return base::uuid::random().hex();
}

namespace {

bool has_grant(
    const user& u, std::string_view role_prefix, std::string_view scope, std::string_view uuid
) {
  return std::any_of(u.grants.begin(), u.grants.end(), [&](const grant& g) {
    return g.role.starts_with(role_prefix) && g.scope == scope && g.scope_uuid == uuid;
  });
}

} // namespace

bool manages(const user& u, const offering& o, std::string_view permission) {
  if (u.is_staff) {
    return true;
  }
  if (std::find(u.denied.begin(), u.denied.end(), permission) != u.denied.end()) {
    return false;
  }
  return has_grant(u, "OFFERING.MANAGER", "offering", o.uuid) ||
         has_grant(u, "CUSTOMER.OWNER", "customer", o.customer);
}

std::string role_in(const user& u, std::string_view project_uuid) {
  for (const auto& g : u.grants) {
    if (g.scope == "project" && g.scope_uuid == project_uuid) {
      return g.role;
    }
  }
  return {};
}

bool consumes(const user& u, const project& p) {
  return u.is_staff || has_grant(u, "PROJECT.", "project", p.uuid) ||
         has_grant(u, "CUSTOMER.OWNER", "customer", p.customer);
}

} // namespace siteagent::waldur_emulator
