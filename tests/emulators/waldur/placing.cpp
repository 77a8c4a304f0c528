// SPDX-License-Identifier: MIT
// Placing of orders: by a portal for a new resource, and on a resource that exists.
#include "events.hpp"
#include "limits.hpp"
#include "order_states.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>

namespace siteagent::waldur_emulator {

namespace {

std::string unique_slug(const store& s, const std::string& name) {
  const std::string stem = slugify(name);
  const auto taken = [&](const std::string& slug) {
    return std::any_of(
        s.resources.rows().begin(),
        s.resources.rows().end(),
        [&](const resource& r) { return r.slug == slug; }
    );
  };
  std::string slug = stem;
  for (int n = 1; taken(slug); ++n) {
    slug = stem + "-" + std::to_string(n);
  }
  return slug;
}

// What a new order starts in: the consumer's review, the provider's, or none.
void begin_review(context& c, order& o) {
  const project* p = c.data.projects.find(o.project);
  const bool only_member =
      !c.who.is_staff && std::all_of(c.who.grants.begin(), c.who.grants.end(), [&](const grant& g) {
        return g.role == "PROJECT.MEMBER";
      });
  if (only_member && p != nullptr) {
    o.state = "pending-consumer";
    note(c.data, o);
    return;
  }
  begin_provider_review(c, o);
}

struct placement {
  const offering* what = nullptr;
  const project* where = nullptr;
  std::string plan;
  json limits;
};

base::result<std::string> link_in_body(
    const context& c, std::string_view key, const std::vector<std::string_view>& collections
) {
  auto text = required_text(c, key);
  if (!text) {
    return text;
  }
  std::string uuid = uuid_of_link(*text, collections);
  if (uuid.empty()) {
    return bad_field(key, "Invalid hyperlink - No URL match.");
  }
  return uuid;
}

base::result<std::string> plan_in_body(const context& c, const offering& o) {
  const auto offered = select(c.data.plans, [&](const plan& p) { return p.offering == o.uuid; });
  if (c.body["plan"].is_null()) {
    if (!offered.empty()) {
      return bad_field("plan", "This field is required.");
    }
    return std::string();
  }
  auto uuid = link_in_body(
      c, "plan", {"marketplace-public-plans", "marketplace-plans", "marketplace-public-offerings"}
  );
  if (!uuid) {
    return uuid;
  }
  const plan* p = c.data.plans.find(*uuid);
  if (p == nullptr) {
    return bad_field("plan", "Invalid hyperlink - Object does not exist.");
  }
  if (p->offering != o.uuid) {
    return bad_field("plan", "This plan is not available for selected offering.");
  }
  return uuid;
}

base::result<placement> read_placement(const context& c) {
  placement p;
  auto what = link_in_body(
      c, "offering", {"marketplace-public-offerings", "marketplace-provider-offerings"}
  );
  if (!what) {
    return what.error();
  }
  auto where = link_in_body(c, "project", {"projects"});
  if (!where) {
    return where.error();
  }
  p.what = c.data.offerings.find(*what);
  p.where = c.data.projects.find(*where);
  if (p.what == nullptr) {
    return bad_field("offering", "Invalid hyperlink - Object does not exist.");
  }
  if (p.where == nullptr || !consumes(c.who, *p.where)) {
    return bad_field("project", "Invalid hyperlink - Object does not exist.");
  }
  if (p.what->state != "Active") {
    return bad_field("offering", "Offering is not available.");
  }
  if (c.body["accepting_terms_of_service"].boolean() != true) {
    return bad_field("accepting_terms_of_service", "Terms of service must be accepted.");
  }
  auto plan_uuid = plan_in_body(c, *p.what);
  if (!plan_uuid) {
    return plan_uuid.error();
  }
  p.plan = *std::move(plan_uuid);
  if (!c.body["attributes"].is_null() && !c.body["attributes"].is_object()) {
    return bad_field("attributes", "Expected a dictionary of items.");
  }
  auto limits = checked_limits(*p.what, c.body["limits"], true);
  if (!limits) {
    return limits.error();
  }
  p.limits = *std::move(limits);
  return p;
}

order new_order(const context& c, std::string type) {
  order o;
  o.uuid = random_uuid();
  o.slug = "order-" + std::to_string(c.data.orders.rows().size() + 1);
  o.type = std::move(type);
  o.created = c.call.now;
  o.modified = c.call.now;
  o.created_by = c.who.uuid;
  return o;
}

} // namespace

void begin_provider_review(context& c, order& o) {
  o.state = "pending-provider";
  note(c.data, o);
  if (c.data.auto_approve) {
    approve(c.data, o, c.call.now);
  }
}

reply place_order(context& c) {
  auto p = read_placement(c);
  if (!p) {
    return p.error();
  }
  resource r;
  r.uuid = random_uuid();
  r.attributes = c.body["attributes"].is_object() ? c.body["attributes"] : json::object();
  r.name = r.attributes["name"].string_or("");
  r.slug = unique_slug(c.data, r.name);
  r.state = "Creating";
  r.offering = p->what->uuid;
  r.project = p->where->uuid;
  r.plan = p->plan;
  r.limits = p->limits;
  r.created = c.call.now;
  r.modified = c.call.now;
  order o = new_order(c, "Create");
  o.resource = r.uuid;
  o.offering = r.offering;
  o.project = r.project;
  o.plan = r.plan;
  o.limits = r.limits;
  o.attributes = r.attributes;
  o.start_date = optional_text(c, "start_date");
  o.request_comment = optional_text(c, "request_comment");
  c.data.resources.add(std::move(r));
  order& stored = c.data.add_order(std::move(o));
  begin_review(c, stored);
  return created(show_order(c, stored));
}

reply order_for_resource(context& c, const resource& r, order o) {
  if (!c.data.open_orders(r.uuid).empty()) {
    return bad_request("Pending order for resource already exists.");
  }
  order made = new_order(c, o.type);
  o.uuid = made.uuid;
  o.slug = made.slug;
  o.created = made.created;
  o.modified = made.modified;
  o.created_by = made.created_by;
  o.resource = r.uuid;
  o.offering = r.offering;
  o.project = r.project;
  if (o.plan.empty()) {
    o.plan = r.plan;
  }
  order& stored = c.data.add_order(std::move(o));
  begin_review(c, stored);
  return ok(json::object({{"order_uuid", stored.uuid}}));
}

} // namespace siteagent::waldur_emulator
