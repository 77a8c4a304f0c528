// SPDX-License-Identifier: MIT
#include "plugins/azure/answers.hpp"

#include <sagent/cpp/plugin.hpp>

#include "core/base/text.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>

namespace siteagent::azure {

void raise(base::error e) {
  sagent::failure f(static_cast<sagent_code>(e.code), std::move(e.message));
  f.public_message = std::move(e.public_message);
  f.provider_code = std::move(e.provider_code);
  f.provider_request_id = std::move(e.provider_request_id);
  f.detail = std::move(e.detail);
  f.retry_after_ms = e.retry_after ? e.retry_after->count() : -1;
  throw f;
}

base::json body_or_throw(const sagent::request& request) {
  if (request.body.empty()) {
    return base::json::object();
  }
  auto body = base::json::parse(request.body);
  if (!body || !body->is_object()) {
    raise(make_error(
        reason::invalid, base::error_code::invalid, "the request's body is no JSON object"
    ));
  }
  return std::move(*body);
}

base::json to_json(const removal_report& report) {
  base::json deleted = base::json::array();
  for (const std::string& id : report.deleted) {
    deleted.push_back(id);
  }
  base::json remaining = base::json::array();
  for (const left_over& l : report.remaining) {
    remaining.push_back(base::json::object({{"id", l.id}, {"reason", l.reason}}));
  }
  return base::json::object({{"deleted", std::move(deleted)}, {"remaining", std::move(remaining)}});
}

base::error failure_of(const removal_report& report) {
  base::error e = *report.failure;
  if (report.remaining.empty()) {
    return e;
  }
  base::json ids = base::json::array();
  std::vector<std::string> names;
  for (const left_over& l : report.remaining) {
    ids.push_back(l.id);
    names.push_back(l.id);
  }
  add_detail(e, "not_removed", std::move(ids));
  e.message += "; not removed: " + base::join(names, ", ");
  return e;
}

billing_period period_of(const base::json& body, base::wall_time now) {
  const std::string zone_name = body["timezone"].string_or("UTC");
  const auto zone = base::time_zone::find(zone_name);
  if (!zone) {
    raise(make_error(
        reason::invalid,
        base::error_code::invalid,
        "the request names an unknown time zone '" + zone_name + "'"
    ));
  }
  const base::month here = zone->month_of(now);
  const auto year = body.at({"period", "year"}).integer();
  const auto number = body.at({"period", "month"}).integer();
  const bool is_given = year && number && *number >= 1 && *number <= 12;
  const base::month m =
      is_given ? base::month{static_cast<int>(*year), static_cast<unsigned>(*number)} : here;
  const base::month next =
      m.number == 12 ? base::month{m.year + 1, 1} : base::month{m.year, m.number + 1};
  return {m == here, {zone->start_of(m), zone->start_of(next)}};
}

void note_disk(std::map<std::string, std::int64_t>& sizes, const base::json& disk) {
  if (const auto size = disk.at({"properties", "diskSizeGB"}).integer()) {
    sizes.insert_or_assign(id_key(disk["id"].string_or("")), *size);
  }
}

std::string kind_word(const base::json& object) {
  const auto id = resource_id::parse(object["id"].string_or(""));
  const kind* k = id ? find_kind(id->type()) : nullptr;
  return k != nullptr ? std::string(k->name) : object["type"].string_or("object");
}

const base::json::member& narrowest_tag(const base::json& tags) {
  return *std::max_element(
      tags.members().begin(),
      tags.members().end(),
      [](const base::json::member& a, const base::json::member& b) {
        return a.second.string_or("").size() < b.second.string_or("").size();
      }
  );
}

base::json nothing_done(const base::json& body) {
  base::json users = base::json::array();
  for (const base::json& user : body["users"].items()) {
    users.push_back(base::json::object({{"username", user["username"]}, {"done", false}}));
  }
  return base::json::object({{"users", std::move(users)}});
}

} // namespace siteagent::azure
