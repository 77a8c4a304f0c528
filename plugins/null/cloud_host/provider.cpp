// SPDX-License-Identifier: MIT
#include "plugins/null/cloud_host/provider.hpp"

#include "core/base/clock.hpp"
#include "core/base/text.hpp"

#include <algorithm>
#include <map>

namespace siteagent::null {

namespace {

using base::json;

json parse_settings(std::string_view text) {
  auto parsed = json::parse(text);
  if (!parsed) {
    throw sagent::failure(SAGENT_E_INVALID, "the settings are no JSON: " + parsed.error().message);
  }
  return *std::move(parsed);
}

[[noreturn]] void refuse_field(const char* field, const std::string& why) {
  sagent::failure f(SAGENT_E_INVALID, why);
  f.detail = json::object({{"field", field}}).dump();
  throw f;
}

// What the cloud sells where the state file has no price list.
const json& price_list(const json& state) {
  static const auto* const stock = new json(*json::parse(R"({
    "here": {"Small": "0.05", "Medium": "0.384", "Large": "0.768"},
    "there": {"Small": "0.06", "Medium": "0.40", "Large": "0.80"}
  })"));
  return state["prices"].is_object() ? state["prices"] : *stock;
}

// One quote or several of a size: "0.384", {"hour","currency"?,"meter"?} or a list of these.
void add_quotes(json& quotes, const std::string& location, const json& price) {
  if (price.is_array()) {
    for (const json& each : price.items()) {
      add_quotes(quotes, location, each);
    }
    return;
  }
  const json& hour = price.is_object() ? price["hour"] : price;
  quotes.push_back(json::object(
      {{"location", location},
       {"hour", hour.is_number() ? json(hour.number_text().value_or("")) : hour},
       {"currency", price["currency"].string_or("USD")},
       {"meter", price["meter"].string_or("hours")}}
  ));
}

std::string now() {
  return base::to_rfc3339(base::real_clock().wall());
}

json check_line(std::string_view name, bool ok, std::string_view detail, bool needed = true) {
  return json::object({{"name", name}, {"ok", ok}, {"detail", detail}, {"needed", needed}});
}

bool is_asked(const json& locations, std::string_view location) {
  const auto& all = locations.items();
  return std::any_of(all.begin(), all.end(), [&](const json& each) {
    return base::equals_ignoring_case(each.string_or(""), location);
  });
}

} // namespace

null_hosts::null_hosts(sagent::host host, const sagent::request& settings)
    : host_(host), settings_(parse_settings(settings.body)) {}

void null_hosts::log_in(const scene& s) const {
  if (!settings_.secret.empty()) {
    (void)host_.read_secret(settings_.secret); // afresh: a rotated one is noticed
  } else if (s.state().at({"script", "requires_credentials"}).boolean() == true) {
    throw sagent::failure(
        SAGENT_E_AUTH,
        "no credentials are stored for the null provider; store the item null-control"
    );
  }
}

std::optional<std::string> canonical_size(const json& state, std::string_view size) {
  if (state["sizes"].is_object()) {
    for (const auto& [name, rule] : state["sizes"].members()) {
      if (base::equals_ignoring_case(name, size)) {
        return name;
      }
    }
    return std::nullopt;
  }
  for (const auto& [location, sizes] : price_list(state).members()) {
    for (const auto& [name, price] : sizes.members()) {
      if (base::equals_ignoring_case(name, size)) {
        return name;
      }
    }
  }
  return std::string(size);
}

const json& get_location(const json& state, std::string_view location) {
  static const auto* const anywhere = new json(json::object());
  if (!state["locations"].is_object()) {
    return *anywhere;
  }
  for (const auto& [name, rule] : state["locations"].members()) {
    if (base::equals_ignoring_case(name, location)) {
      return rule;
    }
  }
  const std::string id = id_of(kind::subnet, "net-" + std::string(location) + "/hosts");
  sagent::failure f(
      SAGENT_E_NOT_FOUND, "there is no subnet net-" + std::string(location) + "/hosts"
  );
  f.detail =
      json::object({{"resource", json::object({{"kind", kind::subnet}, {"id", id}})}}).dump();
  throw f;
}

void null_hosts::validate_host(sagent::call& call, const sagent::request& request) {
  static constexpr std::int64_t largest_disk = 4095;
  scene s(settings_, "validate_host", call, request);
  const json state = s.state();
  const std::string size = s.body()["size"].string_or("");
  const auto canonical = canonical_size(state, size);
  if (!canonical) {
    refuse_field("size", "the null provider has no size '" + size + "'");
  }
  const json& rule = state["sizes"][*canonical];
  if (const auto architecture = rule["architecture"].string();
      architecture && *architecture != "x86_64") {
    refuse_field(
        "size",
        *canonical + " is a machine of " + std::string(*architecture) + "; choose one of x86_64"
    );
  }
  const std::int64_t most = rule["max_disk_gb"].integer().value_or(largest_disk);
  if (s.body()["disk_gb"].integer().value_or(0) > most) {
    refuse_field(
        "disk_gb", "a disk of " + *canonical + " has at most " + std::to_string(most) + " GB"
    );
  }
  s.finish(json::object({{"size", *canonical}}));
}

void null_hosts::price_size(sagent::call& call, const sagent::request& request) {
  static constexpr std::int64_t stock_page = 100;
  scene s(settings_, "price_size", call, request);
  const json state = s.state();
  const std::string wanted = s.body()["size"].string_or("");
  json quotes = json::array();
  std::string spelling = canonical_size(state, wanted).value_or(wanted);
  for (const auto& [location, sizes] : price_list(state).members()) {
    for (const auto& [size, price] : sizes.members()) {
      if (is_asked(s.body()["locations"], location) && base::equals_ignoring_case(size, wanted)) {
        spelling = size;
        add_quotes(quotes, location, price);
      }
    }
  }
  const std::int64_t page =
      std::max<std::int64_t>(1, state["price_page_size"].integer().value_or(stock_page));
  const auto count = static_cast<std::int64_t>(quotes.size());
  for (std::int64_t n = 0; n == 0 || n * page < count; ++n) {
    s.read_nothing(kind::price_page, std::to_string(n + 1));
  }
  s.finish(json::object(
      {{"quotes", quotes}, {"size", spelling}, {"source", "null price list"}, {"read_at", now()}}
  ));
}

void null_hosts::credit_balance(sagent::call& call, const sagent::request& request) {
  scene s(settings_, "credit_balance", call, request);
  log_in(s);
  s.read_nothing(kind::balance, "null");
  const json state = s.state();
  json answer = state["credit"].is_object()
                    ? state["credit"]
                    : json::object({{"current", "1000.00"}, {"currency", "USD"}});
  if (answer["reported"].is_null()) {
    answer.set("reported", true);
  }
  answer.set("scope", answer["scope"].string_or("null account")).set("read_at", now());
  s.finish(answer);
}

void null_hosts::host_state(sagent::call& call, const sagent::request& request) {
  scene s(settings_, "host_state", call, request);
  log_in(s);
  const std::string name = s.body()["name"].string_or("");
  const auto machine = s.read(kind::machine, host_names(name).machine);
  const std::string known = s.body()["vm_id"].string_or("");
  if (!machine || (!known.empty() && (*machine)["vm_id"].string_or("") != known)) {
    return s.finish(json::object({{"state", "absent"}}));
  }
  const std::string status = (*machine)["status"].string_or("ready");
  s.finish(json::object(
      {{"state", status == "ready" ? (*machine)["power"].string_or("running") : status},
       {"vm_id", (*machine)["vm_id"]}}
  ));
}

// Groups of applications are a location's, not a host's.
void null_hosts::list_hosts(sagent::call& call, const sagent::request& request) {
  scene s(settings_, "list_hosts", call, request);
  log_in(s);
  s.read_nothing("list", "objects");
  const std::string tag = s.body()["tag"].string_or("");
  std::map<std::string, json> rows;
  const json state = s.state();
  for (const auto& [id, object] : state["objects"].members()) {
    const auto name = object["tags"][tag].string();
    if (!name || object["kind"].string_or("") == kind::application_group) {
      continue;
    }
    json& row = rows[std::string(*name)];
    if (row.is_null()) {
      row = json::object(
          {{"name", *name},
           {"location", object["location"].string_or("here")},
           {"state", "absent"},
           {"tags", object["tags"]},
           {"resources", json::object()},
           {"objects", json::array()}}
      );
    }
    const std::string of_kind = object["kind"].string_or("");
    row.member_ref("objects").push_back(json::object({{"kind", of_kind}, {"id", id}}));
    row.member_ref("resources").set(of_kind, id);
    if (of_kind == kind::machine) {
      const std::string status = object["status"].string_or("ready");
      row.set("state", status == "ready" ? object["power"].string_or("running") : status);
      row.set("vm_id", object["vm_id"]).set("created_at", object["created_at"]);
      row.set("tags", object["tags"]);
    }
  }
  std::vector<json> answers;
  for (auto& [name, row] : rows) {
    answers.push_back(std::move(row));
  }
  s.finish(answers);
}

void null_hosts::check(sagent::call& call, const sagent::request& request) {
  scene s(settings_, "check", call, request);
  std::vector<json> lines;
  const json state = s.state();
  try {
    log_in(s);
    lines.push_back(check_line(
        "credentials", true, settings_.secret.empty() ? "none stored, none needed" : "accepted"
    ));
  } catch (const sagent::failure& f) {
    lines.push_back(check_line("credentials", false, f.message));
  }
  for (const json& each : s.body()["locations"].items()) {
    const std::string location = each.string_or("");
    try {
      get_location(state, location);
      s.read_nothing(kind::subnet, location);
      lines.push_back(check_line("network " + location, true, "subnet net-" + location + "/hosts"));
    } catch (const told_to_stop&) {
      throw;
    } catch (const sagent::failure& f) {
      lines.push_back(check_line("network " + location, false, f.message));
    }
  }
  const bool reports = state["credit"]["reported"].boolean().value_or(true);
  lines.push_back(check_line(
      "billing",
      reports,
      reports ? "the balance can be read" : "this agreement has no credit to report",
      false
  ));
  s.finish(lines);
}

} // namespace siteagent::null
