// SPDX-License-Identifier: MIT
// Default objects; reading of seed files, one function per key.
#include "seed.hpp"

#include "core/base/text.hpp"
#include "events.hpp"
#include "seed_parts.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::array<std::string_view, 5> billing_types{"fixed", "usage", "limit", "one", "few"};
constexpr std::array<std::string_view, 6> resource_states{
    "Creating", "OK", "Erred", "Updating", "Terminating", "Terminated"};
constexpr std::array<std::string_view, 9> order_states{
    "pending-consumer",
    "pending-provider",
    "pending-project",
    "pending-start-date",
    "executing",
    "done",
    "erred",
    "canceled",
    "rejected"};
constexpr std::array<std::string_view, 4> order_types{"Create", "Update", "Terminate", "Restore"};

// A well-formed ed25519 public key, different for each number; nobody has its private half.
std::string public_key(std::size_t number) {
  std::string blob("\0\0\0\x0bssh-ed25519\0\0\0\x20", 19);
  for (unsigned i = 0; i < 32; ++i) {
    blob.push_back(static_cast<char>((number * 31 + i * 7 + 5) & 0xffU));
  }
  return "ssh-ed25519 " + base::base64(blob) + " key-" + std::to_string(number);
}

json default_components() {
  return *json::parse(R"([
    {"type": "cpu", "name": "CPU", "billing_type": "limit", "measured_unit": "cores"},
    {"type": "ram", "name": "RAM", "billing_type": "limit", "measured_unit": "GB"},
    {"type": "disk", "name": "Disk", "billing_type": "limit", "measured_unit": "GB"}])");
}

void seed_customer(store& s, seed_item& item, std::size_t n) {
  customer x;
  x.uuid = item.uuid("uuid", default_uuid(101 + n));
  x.name = item.text("name", n == 0 ? "Emulated provider" : "Customer " + std::to_string(n + 1));
  x.slug = item.text("slug", slugify(x.name));
  x.blocked = item.flag("blocked", false);
  x.archived = item.flag("archived", false);
  s.customers.add(std::move(x));
}

void seed_provider(store& s, seed_item& item, std::size_t n) {
  service_provider x;
  x.uuid = item.uuid("uuid", default_uuid(102 + n));
  x.customer = item.reference("customer", s.customers, first_uuid(s.customers));
  s.providers.add(std::move(x));
}

void seed_project(store& s, seed_item& item, std::size_t n) {
  project x;
  x.uuid = item.uuid("uuid", default_uuid(301 + n));
  x.name = item.text("name", "Project " + std::to_string(n + 1));
  x.slug = item.text("slug", slugify(x.name));
  x.description = item.text("description", "");
  x.customer = item.reference("customer", s.customers, first_uuid(s.customers));
  x.start_date = item.text("start_date", "");
  x.end_date = item.text("end_date", "");
  s.projects.add(std::move(x));
}

std::vector<component> seed_components(seed_item& item, const json& list, std::size_t base_number) {
  std::vector<component> all;
  for (const json& given : list.items()) {
    component x;
    x.uuid = hex_or_empty(given["uuid"].string_or(""));
    if (x.uuid.empty()) {
      x.uuid = default_uuid(base_number + all.size() + 1);
    }
    x.type = given["type"].string_or("");
    x.billing_type = given["billing_type"].string_or("limit");
    if (x.type.empty()) {
      item.complain("a component has no \"type\"");
    }
    if (std::find(billing_types.begin(), billing_types.end(), x.billing_type) ==
        billing_types.end()) {
      item.complain("component " + x.type + ": billing_type \"" + x.billing_type + "\"");
    }
    x.fields = json::object(
        {{"name", x.type},
         {"measured_unit", ""},
         {"unit_factor", 1},
         {"limit_amount", nullptr},
         {"limit_period", nullptr},
         {"is_prepaid", false}}
    );
    for (const auto& [key, value] : given.members()) {
      if (key != "uuid" && key != "type" && key != "billing_type") {
        x.fields.set(key, value);
      }
    }
    all.push_back(std::move(x));
  }
  return all;
}

void seed_plan(store& s, seed_item& item, const std::string& of_offering) {
  plan x;
  x.uuid = item.uuid("uuid", default_uuid(401 + s.plans.rows().size()));
  x.name = item.text("name", "Standard");
  x.offering = of_offering.empty()
                   ? item.reference("offering", s.offerings, first_uuid(s.offerings))
                   : of_offering;
  x.quotas = item.object("quotas");
  x.prices = item.object("prices");
  s.plans.add(std::move(x));
}

void seed_offering(store& s, seed_item& item, std::size_t n) {
  offering x;
  x.uuid = item.uuid("uuid", default_uuid(201 + n));
  x.name = item.text("name", n == 0 ? "Virtual machines" : "Offering " + std::to_string(n + 1));
  x.slug = item.text("slug", slugify(x.name));
  x.type = item.text("type", "Marketplace.Slurm");
  x.state = item.text("state", "Active");
  x.description = item.text("description", "");
  x.backend_id = item.text("backend_id", "");
  x.customer = item.reference("customer", s.customers, first_uuid(s.customers));
  x.plugin_options = item.object("plugin_options");
  x.options = item.object("options");
  x.exposed_fields = {"username", "full_name", "email"};
  if (const json* fields = item.take("exposed_fields")) {
    x.exposed_fields = texts_of(*fields);
  }
  if (const json* partitions = item.take("partitions")) {
    x.partitions = *partitions;
  }
  const json* components = item.take("components");
  x.components =
      seed_components(item, components ? *components : default_components(), 20'000 + 100 * n);
  const std::string uuid = x.uuid;
  s.offerings.add(std::move(x));
  const json* plans = item.take("plans");
  const json none = json::array({json::object()});
  for (const json& p : (plans ? *plans : none).items()) {
    seed_item nested(p, item.where() + ".plans");
    seed_plan(s, nested, uuid);
    item.adopt(nested);
  }
}

void seed_user(store& s, seed_item& item, std::size_t n) {
  user x;
  x.uuid = item.uuid("uuid", default_uuid(601 + n));
  x.username = item.text("username", "user-" + std::to_string(n + 1));
  x.full_name = item.text("full_name", x.username);
  x.email = item.text("email", x.username + "@example.com");
  x.token = item.text("token", "");
  x.is_staff = item.flag("is_staff", false);
  x.shows_permissions = item.flag("shows_permissions", true);
  x.profile = item.object("attributes");
  if (const json* consents = item.take("consents")) {
    x.consents.emplace();
    for (const auto& uuid : texts_of(*consents)) {
      x.consents->push_back(hex_or_empty(uuid));
    }
  }
  if (const json* grants = item.take("permissions")) {
    for (const json& g : grants->items()) {
      x.grants.push_back(
          {g["role"].string_or(""),
           g["scope"].string_or(""),
           hex_or_empty(g["scope_uuid"].string_or(""))}
      );
    }
  }
  if (const json* denied = item.take("denied")) {
    x.denied = texts_of(*denied);
  }
  s.users.add(std::move(x));
}

void seed_key(store& s, seed_item& item, std::size_t n) {
  ssh_key x;
  x.uuid = item.uuid("uuid", default_uuid(501 + n));
  x.name = item.text("name", "key-" + std::to_string(n + 1));
  x.public_key = item.text("public_key", public_key(n + 1));
  s.keys.add(std::move(x));
}

std::string first_plan_of(const store& s, std::string_view offering_uuid) {
  for (const auto& p : s.plans.rows()) {
    if (p.offering == offering_uuid) {
      return p.uuid;
    }
  }
  return {};
}

void seed_resource(store& s, seed_item& item, std::size_t n, base::wall_time now) {
  resource x;
  x.uuid = item.uuid("uuid", default_uuid(1'000'001 + n));
  x.name = item.text("name", "machine-" + std::to_string(n + 1));
  x.slug = item.text("slug", slugify(x.name));
  x.state = item.one_of("state", "OK", resource_states);
  x.offering = item.reference("offering", s.offerings, first_uuid(s.offerings));
  x.project = item.reference("project", s.projects, first_uuid(s.projects));
  x.plan = item.reference("plan", s.plans, first_plan_of(s, x.offering));
  x.backend_id = item.text("backend_id", "");
  x.backend_metadata = item.object("backend_metadata");
  x.attributes = item.object("attributes");
  x.limits = item.object("limits");
  x.options = item.object("options");
  x.paused = item.flag("paused", false);
  x.downscaled = item.flag("downscaled", false);
  x.restrict_member_access = item.flag("restrict_member_access", false);
  x.end_date = item.text("end_date", "");
  x.created = item.time("created", now);
  x.modified = now;
  if (item.has("last_sync")) {
    x.last_sync = item.time("last_sync", now);
  }
  s.resources.add(std::move(x));
}

// A Create order without a resource of its own makes one.
std::string resource_of_order(store& s, seed_item& item, order& x, std::size_t n) {
  if (item.has("resource")) {
    return item.reference("resource", s.resources, "");
  }
  if (x.type != "Create") {
    item.complain("an order of type " + x.type + " needs a \"resource\"");
    return {};
  }
  resource r;
  r.uuid = default_uuid(3'000'001 + n);
  r.name = x.attributes["name"].string_or("machine-" + std::to_string(n + 1));
  r.slug = slugify(r.name);
  r.state = x.state == "done"                                ? "OK"
            : x.state == "erred"                             ? "Erred"
            : x.state == "canceled" || x.state == "rejected" ? "Terminated"
                                                             : "Creating";
  r.offering = item.reference("offering", s.offerings, first_uuid(s.offerings));
  r.project = item.reference("project", s.projects, first_uuid(s.projects));
  r.plan = x.plan.empty() ? first_plan_of(s, r.offering) : x.plan;
  r.attributes = x.attributes;
  r.limits = x.limits;
  r.created = x.created;
  r.modified = x.created;
  return s.resources.add(std::move(r)).uuid;
}

void seed_order(store& s, seed_item& item, std::size_t n, base::wall_time now) {
  order x;
  x.uuid = item.uuid("uuid", default_uuid(2'000'001 + n));
  x.slug = "order-" + std::to_string(n + 1);
  x.type = item.one_of("type", "Create", order_types);
  x.state = item.one_of("state", s.auto_approve ? "executing" : "pending-provider", order_states);
  x.attributes = item.object("attributes");
  x.limits = item.object("limits");
  x.plan = item.reference("plan", s.plans, "");
  x.old_plan = item.reference("old_plan", s.plans, "");
  x.start_date = item.text("start_date", "");
  x.backend_id = item.text("backend_id", "");
  // A second apart, so that the order of creation can be told from `created`.
  const auto age = std::chrono::seconds(3600) - std::chrono::seconds(n);
  x.created = item.time("created", now - age);
  x.modified = x.created;
  x.created_by = first_uuid(s.users);
  x.resource = resource_of_order(s, item, x, n);
  const resource* r = s.resources.find(x.resource);
  if (r == nullptr) {
    item.complain("its resource does not exist");
    return;
  }
  item.take("offering");
  item.take("project");
  x.offering = r->offering;
  x.project = r->project;
  if (x.plan.empty()) {
    x.plan = r->plan;
  }
  s.add_order(std::move(x));
}

// What the seed did not name follows what it did: no reference is left without its object.
void repair(store& s, const json& d) {
  const auto given = [&](std::string_view key) { return d.find(key) != nullptr; };
  for (auto& p : s.projects.rows()) {
    if (s.customers.find(p.customer) == nullptr) {
      p.customer = first_uuid(s.customers);
    }
  }
  for (auto& o : s.offerings.rows()) {
    if (s.customers.find(o.customer) == nullptr) {
      o.customer = first_uuid(s.customers);
    }
  }
  if (!given("service_providers") && given("customers")) {
    s.providers.clear();
    for (const auto& x : s.customers.rows()) {
      s.providers.add({default_uuid(102 + s.providers.rows().size()), x.uuid});
    }
  }
  s.plans.remove_if([&](const plan& p) { return s.offerings.find(p.offering) == nullptr; });
  s.resources.remove_if([&](const resource& r) {
    return s.offerings.find(r.offering) == nullptr || s.projects.find(r.project) == nullptr;
  });
  s.orders.remove_if([&](const order& o) { return s.resources.find(o.resource) == nullptr; });
  s.usages.remove_if([&](const component_usage& u) {
    return s.resources.find(u.resource) == nullptr;
  });
  repair_people(s);
  s.orders_by_resource.clear();
  for (const auto& o : s.orders.rows()) {
    s.orders_by_resource[o.resource].push_back(o.uuid);
  }
  if (given("users") || !given("offerings")) {
    return;
  }
  for (auto& u : s.users.rows()) {
    const auto is_manager = [](const grant& g) { return g.role == "OFFERING.MANAGER"; };
    if (std::erase_if(u.grants, is_manager) > 0) {
      for (const auto& o : s.offerings.rows()) {
        u.grants.push_back({"OFFERING.MANAGER", "offering", o.uuid});
      }
    }
  }
}

base::result<void> read_components(store& s, const json& d) {
  const json* list = d.find("components");
  if (list == nullptr) {
    return {};
  }
  seed_item item(json::object(), "components");
  std::size_t n = 0;
  const json& own = d["offerings"];
  for (auto& o : s.offerings.rows()) {
    if (own.is_array() && own[n].find("components") != nullptr) {
      ++n;
      continue;
    }
    o.components = seed_components(item, *list, 20'000 + 100 * n++);
  }
  return item.verdict();
}

base::result<void> read_lists(store& s, const json& d, base::wall_time now) {
  using item_t = seed_item;
  using size = std::size_t;
  std::vector<base::result<void>> steps;
  steps.push_back(read_list(d, "customers", s.customers, [&](item_t& i, size n) {
    seed_customer(s, i, n);
  }));
  steps.push_back(read_list(d, "service_providers", s.providers, [&](item_t& i, size n) {
    seed_provider(s, i, n);
  }));
  steps.push_back(read_list(d, "projects", s.projects, [&](item_t& i, size n) {
    seed_project(s, i, n);
  }));
  if (d.find("offerings") != nullptr) {
    s.plans.clear();
  }
  steps.push_back(read_list(d, "offerings", s.offerings, [&](item_t& i, size n) {
    seed_offering(s, i, n);
  }));
  steps.push_back(read_components(s, d));
  steps.push_back(read_list(d, "plans", s.plans, [&](item_t& i, size) { seed_plan(s, i, ""); }));
  steps.push_back(read_list(d, "users", s.users, [&](item_t& i, size n) { seed_user(s, i, n); }));
  steps.push_back(read_list(d, "keys", s.keys, [&](item_t& i, size n) { seed_key(s, i, n); }));
  steps.push_back(read_list(d, "resources", s.resources, [&](item_t& i, size n) {
    seed_resource(s, i, n, now);
  }));
  steps.push_back(read_list(d, "orders", s.orders, [&](item_t& i, size n) {
    seed_order(s, i, n, now);
  }));
  steps.push_back(read_people(s, d, now));
  for (const auto& step : steps) {
    if (!step) {
      return step;
    }
  }
  return {};
}

} // namespace

std::string default_uuid(std::size_t number) {
  std::string digits = std::to_string(number);
  return "e2ef" + std::string(28 - digits.size(), '0') + digits;
}

store default_store(base::wall_time now) {
  store s;
  s.observable_types.assign(observable_types.begin(), observable_types.end());
  s.last_hourly = now;
  const auto document = json::parse(R"({
    "customers": 1, "service_providers": 1, "projects": 1, "keys": 1,
    "offerings": [{"options": {
      "order": ["location", "size", "image", "ssh_public_key"],
      "options": {
        "location": {"type": "string", "label": "Location", "required": false},
        "size": {"type": "string", "label": "Size", "required": false},
        "image": {"type": "string", "label": "Image", "required": false},
        "ssh_public_key": {"type": "text", "label": "SSH public key", "required": true}}}}],
    "users": [
      {"username": "agent", "full_name": "Site agent",
       "token": "e2e0000000000000000000000000token001",
       "permissions": [{"role": "OFFERING.MANAGER", "scope": "offering",
                        "scope_uuid": "e2ef0000000000000000000000000201"}]},
      {"username": "staff", "full_name": "Staff", "is_staff": true,
       "token": "e2e0000000000000000000000000token002"}]})");
  const auto applied = apply_seed(s, *document, now);
  static_cast<void>(applied); // a constant; the tests look at the outcome
  return s;
}

base::result<void> apply_seed(store& s, const json& document, base::wall_time now) {
  static const std::set<std::string_view> known{
      "auto_approve",
      "page_size",
      "timezone",
      "version",
      "unified_queues",
      "observable_types",
      "log_shipping",
      "component_usages",
      "offering_users",
      "service_accounts",
      "course_accounts",
      "user_limits",
      "api_keys",
      "import_requests",
      "periodic_policies",
      "customers",
      "service_providers",
      "projects",
      "offerings",
      "plans",
      "components",
      "users",
      "keys",
      "resources",
      "orders"};
  if (!document.is_object()) {
    return seed_error("", "must be a JSON object");
  }
  for (const auto& [key, value] : document.members()) {
    if (!known.contains(key)) {
      const auto near = base::nearest(key, {known.begin(), known.end()});
      return seed_error(
          key, "unknown key" + (near.empty() ? "" : "; did you mean " + std::string(near) + "?")
      );
    }
  }
  if (auto ok = read_settings(s, document); !ok) {
    return ok;
  }
  if (auto ok = read_lists(s, document, now); !ok) {
    return ok;
  }
  repair(s, document);
  return {};
}

} // namespace siteagent::waldur_emulator
