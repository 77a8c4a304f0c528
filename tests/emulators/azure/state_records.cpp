// SPDX-License-Identifier: MIT
#include "state_records.hpp"

namespace siteagent::azure_emulator {

using base::json;

namespace {

template <class Enum>
json number_of(Enum value) {
  return static_cast<std::int64_t>(value);
}

template <class Enum>
Enum enum_from(const json& record) {
  return static_cast<Enum>(record.integer().value_or(0));
}

json list_of(const std::vector<std::string>& list) {
  json out = json::array();
  for (const auto& item : list) {
    out.push_back(item);
  }
  return out;
}

std::vector<std::string> list_from(const json& record) {
  std::vector<std::string> out;
  for (const auto& item : record.items()) {
    out.push_back(item.string_or(""));
  }
  return out;
}

bool flag(const json& record) {
  return record.boolean().value_or(false);
}

json record_of_machine(const machine_part& m) {
  const auto& [power, before, version, seen, changed, hidden, generalized, hibernated, code, message, data, custom, password, user, generation] =
      m;
  return json::object(
      {{"power", number_of(power)},
       {"before", number_of(before)},
       {"version", version},
       {"seen", number_of(seen)},
       {"changed", time_record(changed)},
       {"hidden", hidden},
       {"generalized", generalized},
       {"hibernated", hibernated},
       {"code", code},
       {"message", message},
       {"data", data},
       {"custom", custom},
       {"password", password},
       {"user", user},
       {"generation", generation}}
  );
}

machine_part machine_from(const json& r) {
  machine_part m;
  m.power = enum_from<power>(r["power"]);
  m.power_before = enum_from<power>(r["before"]);
  m.version = static_cast<std::uint64_t>(r["version"].integer().value_or(1));
  m.power_seen = enum_from<power>(r["seen"]);
  m.power_changed = time_from(r["changed"]);
  m.power_hidden = flag(r["hidden"]);
  m.generalized = flag(r["generalized"]);
  m.hibernated = flag(r["hibernated"]);
  m.failure_code = r["code"].string_or("");
  m.failure_message = r["message"].string_or("");
  m.custom_data = r["data"].string_or("");
  m.custom_data_hash = r["custom"].string_or("");
  m.password_hash = r["password"].string_or("");
  m.user_data = r["user"].string_or("");
  m.generation = r["generation"].string_or("V2");
  return m;
}

json record_of_path(const resource_path& p) {
  const auto& [kind, subscription, group, name, child] = p;
  return json::object(
      {{"kind", type_name(kind)},
       {"subscription", subscription},
       {"group", group},
       {"name", name},
       {"child", child}}
  );
}

resource_path path_from(const json& r) {
  resource_path p;
  for (const auto& info : all_kinds()) {
    if (type_name(info.kind) == r["kind"].string_or("")) {
      p.kind = info.kind;
    }
  }
  p.subscription = r["subscription"].string_or("");
  p.group = r["group"].string_or("");
  p.name = r["name"].string_or("");
  p.child = r["child"].string_or("");
  return p;
}

} // namespace

json time_record(base::wall_time t) {
  return t.time_since_epoch().count();
}

base::wall_time time_from(const json& record) {
  return base::wall_time{base::wall_time::duration(record.integer().value_or(0))};
}

json record_of(const group& g) {
  const auto& [subscription, name, location, tags, state, operation, created, changed] = g;
  return json::object(
      {{"subscription", subscription},
       {"name", name},
       {"location", location},
       {"tags", tags},
       {"state", number_of(state)},
       {"operation", operation},
       {"created", time_record(created)},
       {"changed", time_record(changed)}}
  );
}

group group_from(const json& r) {
  group g;
  g.subscription = r["subscription"].string_or("");
  g.name = r["name"].string_or("");
  g.location = r["location"].string_or("");
  g.tags = r["tags"];
  g.state = enum_from<provisioning>(r["state"]);
  g.operation = r["operation"].string_or("");
  g.created = time_from(r["created"]);
  g.changed = time_from(r["changed"]);
  return g;
}

json record_of(const resource& r) {
  const auto& [path, location, body, state, etag, operation, created, changed, uses, machine, interface, address, undo, unseen] =
      r;
  json out = json::object(
      {{"path", record_of_path(path)},
       {"location", location},
       {"body", body},
       {"state", number_of(state)},
       {"etag", etag},
       {"operation", operation},
       {"created", time_record(created)},
       {"changed", time_record(changed)},
       {"uses", list_of(uses)},
       {"address", address},
       {"undo", undo},
       {"unseen", unseen}}
  );
  if (path.kind == kind::virtual_machine) {
    out.set("machine", record_of_machine(machine));
  }
  if (path.kind == kind::network_interface) {
    const auto& [mac, until, holder] = interface;
    out.set(
        "interface", json::object({{"mac", mac}, {"until", time_record(until)}, {"holder", holder}})
    );
  }
  return out;
}

resource resource_from(const json& record) {
  resource r;
  r.path = path_from(record["path"]);
  r.location = record["location"].string_or("");
  r.body = record["body"];
  r.state = enum_from<provisioning>(record["state"]);
  r.etag = record["etag"].string_or("");
  r.operation = record["operation"].string_or("");
  r.created = time_from(record["created"]);
  r.changed = time_from(record["changed"]);
  r.uses = list_from(record["uses"]);
  r.address = record["address"].string_or("");
  r.undo = record["undo"];
  r.unseen_reads = record["unseen"].integer().value_or(0);
  r.machine = machine_from(record["machine"]);
  r.interface.mac = record.at({"interface", "mac"}).string_or("");
  r.interface.reserved_until = time_from(record.at({"interface", "until"}));
  r.interface.reserved_for = record.at({"interface", "holder"}).string_or("");
  return r;
}

json record_of(const operation& op) {
  const auto& [id, action, pace, subject, also, locks, subscription, location, query, result_query, started, due, ended, status, is_stuck, is_new, planned, code, message, details, result, event] =
      op;
  json out = json::object(
      {{"id", id},
       {"action", number_of(action)},
       {"pace", number_of(pace)},
       {"subject", subject},
       {"also", list_of(also)},
       {"locks", list_of(locks)},
       {"subscription", subscription},
       {"location", location},
       {"query", query},
       {"result_query", result_query},
       {"started", time_record(started)},
       {"due", time_record(due)},
       {"ended", time_record(ended)},
       {"status", number_of(status)},
       {"is_stuck", is_stuck},
       {"is_new", is_new},
       {"code", code},
       {"message", message},
       {"details", details},
       {"result", result},
       {"event", event}}
  );
  if (planned) {
    out.set("planned", number_of(*planned));
  }
  return out;
}

operation operation_from(const json& r) {
  operation op;
  op.id = r["id"].string_or("");
  op.action = enum_from<action>(r["action"]);
  op.pace = enum_from<pace>(r["pace"]);
  op.subject = r["subject"].string_or("");
  op.also = list_from(r["also"]);
  op.locks = list_from(r["locks"]);
  op.subscription = r["subscription"].string_or("");
  op.location = r["location"].string_or("");
  op.query = r["query"].string_or("");
  op.result_query = r["result_query"].string_or("");
  op.started = time_from(r["started"]);
  op.due = time_from(r["due"]);
  op.ended = time_from(r["ended"]);
  op.status = enum_from<operation_status>(r["status"]);
  op.is_stuck = flag(r["is_stuck"]);
  op.is_new = flag(r["is_new"]);
  op.error_code = r["code"].string_or("");
  op.error_message = r["message"].string_or("");
  op.error_details = r["details"];
  op.result = r["result"];
  op.event = r["event"];
  if (!r["planned"].is_null()) {
    op.planned = enum_from<operation_status>(r["planned"]);
  }
  return op;
}

json record_of(const lock_entry& l) {
  const auto& [scope, name, level, notes] = l;
  return json::object({{"scope", scope}, {"name", name}, {"level", level}, {"notes", notes}});
}

lock_entry lock_from(const json& r) {
  return {
      r["scope"].string_or(""),
      r["name"].string_or(""),
      r["level"].string_or(""),
      r["notes"].string_or("")};
}

json record_of(const deployment& d) {
  const auto& [id, principal, base_url, operation, status, properties, source, parameters, steps, started, ended] =
      d;
  return json::object(
      {{"id", id},
       {"principal", principal},
       {"base_url", base_url},
       {"operation", operation},
       {"status", status},
       {"properties", properties},
       {"template", source},
       {"parameters", parameters},
       {"steps", steps},
       {"started", time_record(started)},
       {"ended", time_record(ended)}}
  );
}

deployment deployment_from(const json& r) {
  deployment d;
  d.id = r["id"].string_or("");
  d.principal = r["principal"].string_or("");
  d.base_url = r["base_url"].string_or("");
  d.operation = r["operation"].string_or("");
  d.status = r["status"].string_or("");
  d.properties = r["properties"];
  d.template_ = r["template"];
  d.parameters = r["parameters"];
  d.steps = r["steps"];
  d.started = time_from(r["started"]);
  d.ended = time_from(r["ended"]);
  return d;
}

json record_of(const lingering_use& l) {
  const auto& [until, holder] = l;
  return json::object({{"until", time_record(until)}, {"holder", holder}});
}

lingering_use lingering_from(const json& r) {
  return {time_from(r["until"]), r["holder"].string_or("")};
}

} // namespace siteagent::azure_emulator
