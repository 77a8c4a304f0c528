// SPDX-License-Identifier: MIT
// /api/marketplace-component-usages/: one record per resource, component and month, overwritten by
// each report; and the shares of single users in it.
#include "core/base/decimal.hpp"
#include "core/base/text.hpp"
#include "render.hpp"
#include "routes.hpp"

#include <algorithm>
#include <array>

namespace siteagent::waldur_emulator {

namespace {

constexpr std::string_view backfill_refused =
    "Usage for backfilling past billing periods is not allowed for usage-based components.";

std::string period_text(base::month m) {
  const std::string number = std::to_string(m.number);
  return std::to_string(m.year) + "-" + (m.number < 10 ? "0" : "") + number + "-01";
}

// A decimal of at most two places, exactly; the error is the text for the field.
base::result<base::decimal> read_amount(const json& value, std::string_view field) {
  const auto text = value.number_text();
  const auto amount = text ? base::decimal::parse(*text) : std::nullopt;
  if (value.is_null()) {
    return bad_field(field, "This field is required.");
  }
  if (!amount) {
    return bad_field(field, "A valid number is required.");
  }
  // Counted in the text as the server does: "1.500" has three places.
  const auto point = text->find('.');
  const auto places = point == std::string_view::npos ? 0 : text->size() - point - 1;
  const bool has_exponent = text->find_first_of("eE") != std::string_view::npos;
  if (places > 2 || (has_exponent && amount->rounded(2) != *amount)) {
    return bad_field(field, "Ensure that there are no more than 2 decimal places.");
  }
  if (amount->is_negative()) {
    return bad_field(field, "Ensure this value is greater than or equal to 0.");
  }
  return *amount;
}

struct report_item {
  const component* what = nullptr;
  std::string usage;
  std::string description;
  bool recurring = false;
};

struct report {
  const offering* from = nullptr;
  resource* of = nullptr;
  std::string date;
  base::month period;
  std::vector<report_item> items;
};

base::result<report> read_target(const context& c) {
  auto given = required_text(c, "resource");
  if (!given) {
    return given.error();
  }
  report r;
  r.of = c.data.resources.find(hex_or_empty(*given));
  r.from = r.of != nullptr ? c.data.offerings.find(r.of->offering) : nullptr;
  if (r.from == nullptr || !manages(c.who, *r.from, "RESOURCE.LIST")) {
    return bad_field("resource", "Object with uuid=" + *given + " does not exist.");
  }
  if (!manages(c.who, *r.from, "RESOURCE.SET_USAGE")) {
    return forbidden();
  }
  constexpr std::array<std::string_view, 3> states{"OK", "Updating", "Terminating"};
  if (std::find(states.begin(), states.end(), r.of->state) == states.end()) {
    return bad_field("resource", "Resource is not in valid state.");
  }
  return r;
}

base::result<void> read_date(const context& c, report& r) {
  base::wall_time when = c.call.now;
  r.date = base::to_rfc3339(when);
  if (!c.body["date"].is_null()) {
    const auto parsed = base::parse_rfc3339(c.body["date"].string_or(""));
    if (!parsed) {
      return bad_field(
          "date",
          "Datetime has wrong format. Use one of these formats instead: "
          "YYYY-MM-DDThh:mm[:ss[.uuuuuu]][+HH:MM|-HH:MM|Z]."
      );
    }
    when = *parsed;
    r.date = c.body["date"].string_or("");
  }
  r.period = c.data.zone.month_of(when);
  const base::month current = c.data.zone.month_of(c.call.now);
  if (std::pair(r.period.year, r.period.number) > std::pair(current.year, current.number)) {
    return bad_field("date", "Usage cannot be reported for a future billing period.");
  }
  return {};
}

bool is_prepaid(const component& x) {
  return x.fields["is_prepaid"].boolean().value_or(false);
}

base::result<report_item> read_item(const context& c, const report& r, const json& given) {
  report_item item;
  const std::string type = given["type"].string_or("");
  if (type.empty()) {
    return bad_field("type", "This field is required.");
  }
  auto amount = read_amount(given["amount"], "amount");
  if (!amount) {
    // One entry per item of the request; the good ones before it are empty.
    json errors = json::array(std::vector<json>(r.items.size(), json::object()));
    errors.push_back(*json::parse(amount.error().detail));
    return refuse(400, json::object({{"usages", errors}}));
  }
  item.usage = amount->to_fixed(2);
  item.what = r.from->find_component(type);
  const bool billable =
      item.what != nullptr && (item.what->billing_type == "usage" ||
                               item.what->billing_type == "limit" || is_prepaid(*item.what));
  if (!billable) {
    return bad_field("non_field_errors", "These components are invalid: " + type + ".");
  }
  const base::month current = c.data.zone.month_of(c.call.now);
  if (!(r.period == current) && item.what->billing_type == "usage" && !is_prepaid(*item.what) &&
      !c.who.is_staff) {
    return bad_field("date", backfill_refused);
  }
  item.description = given["description"].string_or("");
  item.recurring = given["recurring"].boolean().value_or(false);
  return item;
}

// Usage components may have a ceiling per month, year or for ever.
base::result<void> check_ceiling(const context& c, const report& r, const report_item& item) {
  const auto ceiling =
      base::decimal::parse(item.what->fields["limit_amount"].number_text().value_or(""));
  if (item.what->billing_type != "usage" || !ceiling) {
    return {};
  }
  const std::string limit_period = item.what->fields["limit_period"].string_or("month");
  const std::string period = period_text(r.period);
  base::decimal total = base::decimal::parse(item.usage).value_or(base::decimal());
  for (const auto& u : c.data.usages.rows()) {
    const bool counts =
        u.resource == r.of->uuid && u.type == item.what->type && u.billing_period != period &&
        (limit_period == "total" ||
         (limit_period == "annual" && u.billing_period.substr(0, 4) == period.substr(0, 4)));
    if (counts) {
      total = total.plus(base::decimal::parse(u.usage).value_or(0)).value_or(total);
    }
  }
  if (total > *ceiling) {
    return bad_field(
        "non_field_errors",
        "Total amount exceeds limit. Total amount: " + total.to_string() +
            ", limit: " + ceiling->to_string() + "."
    );
  }
  return {};
}

base::result<report> read_report(const context& c) {
  auto r = read_target(c);
  if (!r) {
    return r;
  }
  if (auto dated = read_date(c, *r); !dated) {
    return dated.error();
  }
  if (!c.body["usages"].is_array()) {
    return bad_field("usages", "This field is required.");
  }
  for (const json& given : c.body["usages"].items()) {
    auto item = read_item(c, *r, given);
    if (!item) {
      return item.error();
    }
    if (auto fits = check_ceiling(c, *r, *item); !fits) {
      return fits.error();
    }
    r->items.push_back(*std::move(item));
  }
  return r;
}

component_usage& record_of(context& c, const report& r, const report_item& item) {
  const std::string period = period_text(r.period);
  for (auto& u : c.data.usages.rows()) {
    if (u.resource == r.of->uuid && u.type == item.what->type && u.billing_period == period) {
      return u;
    }
  }
  component_usage u;
  u.uuid = random_uuid();
  u.resource = r.of->uuid;
  u.type = item.what->type;
  u.billing_period = period;
  u.created = c.call.now;
  return c.data.usages.add(std::move(u));
}

net::server_response created_nothing() {
  net::server_response r;
  r.status = 201;
  return r;
}

reply set_usage(context& c) {
  auto r = read_report(c);
  if (!r) {
    return r.error();
  }
  json current = json::object();
  for (const auto& item : r->items) {
    component_usage& u = record_of(c, *r, item);
    u.usage = item.usage;
    u.date = r->date;
    u.description = item.description;
    u.recurring = item.recurring;
    u.modified = c.call.now;
    current.set(u.type, u.usage);
  }
  r->of->current_usages = std::move(current);
  return created_nothing();
}

bool sees(const context& c, const component_usage& u) {
  const resource* r = c.data.resources.find(u.resource);
  const offering* o = r != nullptr ? c.data.offerings.find(r->offering) : nullptr;
  const project* p = r != nullptr ? c.data.projects.find(r->project) : nullptr;
  return (o != nullptr && manages(c.who, *o, "RESOURCE.LIST")) ||
         (p != nullptr && consumes(c.who, *p));
}

reply list_usages(const context& c) {
  auto of_resource = uuid_filter(c, "resource_uuid");
  if (!of_resource) {
    return of_resource.error();
  }
  auto of_offering = uuid_filter(c, "offering_uuid");
  if (!of_offering) {
    return of_offering.error();
  }
  const std::string period = c.request.parameter("billing_period");
  const auto types = values_of(c, "type");
  const auto rows = select(c.data.usages, [&](const component_usage& u) {
    const resource* r = c.data.resources.find(u.resource);
    return (!*of_resource || **of_resource == u.resource) &&
           (!*of_offering || (r != nullptr && **of_offering == r->offering)) &&
           (period.empty() || period == u.billing_period) &&
           (types.empty() || std::find(types.begin(), types.end(), u.type) != types.end()) &&
           sees(c, u);
  });
  return list_of(c, rows, show_usage);
}

base::result<void> check_user_usage(const context& c, const json& given) {
  if (given["username"].string_or("").empty()) {
    return bad_field("username", "This field is required.");
  }
  if (auto amount = read_amount(given["usage"], "usage"); !amount) {
    return amount.error();
  }
  const std::string user = given["user"].string_or("");
  const std::string linked = uuid_of_link(user, {"marketplace-offering-users"});
  if (!user.empty() && c.data.offering_users.find(linked) == nullptr) {
    return bad_field("user", "Invalid hyperlink - Object does not exist.");
  }
  if (!given["date"].is_null() && !base::parse_rfc3339(given["date"].string_or(""))) {
    return bad_field("date", "Datetime has wrong format.");
  }
  return {};
}

void store_user_usage(context& c, const component_usage& parent, const json& given) {
  const std::string name = given["username"].string_or("");
  user_usage* record = nullptr;
  for (auto& u : c.data.user_usages.rows()) {
    if (u.component_usage == parent.uuid && u.username == name) {
      record = &u;
    }
  }
  if (record == nullptr) {
    user_usage u;
    u.uuid = random_uuid();
    u.component_usage = parent.uuid;
    u.username = name;
    record = &c.data.user_usages.add(std::move(u));
  }
  record->user = given["user"].string_or("");
  record->usage = read_amount(given["usage"], "usage")->to_fixed(2);
}

reply set_user_usages(context& c, const component_usage& parent) {
  const bool many = c.action() == "set_user_usages";
  if (many && !c.body["usages"].is_array()) {
    return bad_field("usages", "This field is required.");
  }
  const json list = many ? c.body["usages"] : json::array({c.body});
  for (const json& given : list.items()) {
    if (auto good = check_user_usage(c, given); !good) {
      return good.error();
    }
  }
  for (const json& given : list.items()) {
    store_user_usage(c, parent, given);
  }
  return created_nothing();
}

} // namespace

reply handle_component_usages(context& c) {
  if (c.is_list()) {
    return c.is("GET") ? list_usages(c) : reply(method_not_allowed(c));
  }
  if (c.rest[0] == "set_usage" && c.action().empty()) {
    return c.is("POST") ? set_usage(c) : reply(method_not_allowed(c));
  }
  const component_usage* u = c.data.usages.find(hex_or_empty(c.rest[0]));
  if (u == nullptr || !sees(c, *u)) {
    return not_found();
  }
  if (c.action().empty()) {
    return c.is("GET") ? reply(ok(trimmed(c, show_usage(c, *u)))) : reply(method_not_allowed(c));
  }
  if (c.action() != "set_user_usages" && c.action() != "set_user_usage") {
    return not_found();
  }
  const resource* r = c.data.resources.find(u->resource);
  const offering* o = r != nullptr ? c.data.offerings.find(r->offering) : nullptr;
  if (o == nullptr || !manages(c.who, *o, "RESOURCE.SET_USAGE")) {
    return forbidden();
  }
  return c.is("POST") ? set_user_usages(c, *u) : reply(method_not_allowed(c));
}

reply handle_component_user_usages(context& c) {
  if (!c.is_list()) {
    return not_found();
  }
  if (!c.is("GET")) {
    return method_not_allowed(c);
  }
  auto of_resource = uuid_filter(c, "resource_uuid");
  if (!of_resource) {
    return of_resource.error();
  }
  const std::string period = c.request.parameter("component_usage__billing_period");
  const auto rows = select(c.data.user_usages, [&](const user_usage& u) {
    const component_usage* parent = c.data.usages.find(u.component_usage);
    return parent != nullptr && (!*of_resource || **of_resource == parent->resource) &&
           (period.empty() || period == parent->billing_period) && sees(c, *parent);
  });
  return list_of(c, rows, show_user_usage);
}

} // namespace siteagent::waldur_emulator
