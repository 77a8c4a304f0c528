// SPDX-License-Identifier: MIT
#include "plugins/azure/backend.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/answers.hpp"
#include "plugins/azure/create.hpp"
#include "plugins/azure/diagnostics.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/guard_rails.hpp"
#include "plugins/azure/inventory.hpp"
#include "plugins/azure/object_list.hpp"
#include "plugins/azure/order.hpp"
#include "plugins/azure/power.hpp"
#include "plugins/azure/remove.hpp"
#include "plugins/azure/traffic_log.hpp"

namespace siteagent::azure {

namespace {

using arm::scope;
using base::json;

settings settings_or_throw(const sagent::request& request) {
  auto parsed = parse_settings(request.body);
  if (!parsed) {
    raise(std::move(parsed).error());
  }
  return std::move(*parsed);
}

owner owner_of(const json& body, const sagent::request& request) {
  return {body["uuid_tag"].string_or(""), std::string(request.idempotency_key)};
}

// Creating and cleaning up rest on the tag; without it nothing could ever be found again.
owner owner_or_throw(const json& body, const sagent::request& request) {
  owner who = owner_of(body, request);
  if (who.tag.empty() || who.value.empty()) {
    raise(make_error(
        reason::invalid,
        base::error_code::invalid,
        "the request names no uuid_tag or no idempotency key"
    ));
  }
  return who;
}

resource_id machine_or_throw(std::string_view target, const settings& s) {
  const std::string text(base::trim(target));
  const std::string objection = objection_to_id(text, s);
  if (!objection.empty()) {
    raise(
        make_error(reason::invalid, base::error_code::invalid, objection + "; nothing was changed")
    );
  }
  return *resource_id::parse(text);
}

std::string_view word_of(decision d) {
  return d == decision::accept ? "accept" : d == decision::reject ? "reject" : "wait";
}

std::string_view word_of(presence p) {
  return p == presence::present ? "present" : p == presence::absent ? "absent" : "unknown";
}

} // namespace

backend::backend(sagent::host host, const sagent::request& request, const dependencies& d)
    : s_(settings_or_throw(request)), clock_(*d.clock),
      transport_(net::log_exchanges(d.make_transport(s_), traffic_log(host))),
      cloud_(s_, host, *transport_, clock_, *d.shared) {
  for (const std::string& warning : s_.warnings) {
    cloud_.warn("backend_settings: " + warning);
  }
}

void backend::ping(sagent::call& call, const sagent::request& request) {
  const scope scope(call, request.trace_id);
  if (auto alive = azure::ping(cloud_, s_, scope); !alive) {
    raise(std::move(alive).error());
  }
}

void backend::evaluate_order(sagent::call& call, const sagent::request& request) {
  const json body = body_or_throw(request);
  evaluation e = evaluate(body, s_);
  const bool creates = body.at({"order", "type"}).string_or("Create") == "Create";
  if (creates && e.verdict == decision::accept) {
    const scope scope(call, request.trace_id);
    const auto order = read_order(body, s_);
    auto railed =
        evaluate_rails({cloud_, s_, scope, *order, owner_of(body, request), offering_tags_of(body)}
        );
    if (!railed) {
      raise(std::move(railed).error());
    }
    e = std::move(*railed);
  }
  json out = json::object({{"decision", word_of(e.verdict)}});
  if (!e.reason.empty()) {
    out.set("reason", e.reason);
  }
  call.emit(out.dump());
}

void backend::create_resource(sagent::call& call, const sagent::request& request) {
  scope scope(call, request.trace_id);
  const json body = body_or_throw(request);
  const owner who = owner_or_throw(body, request);
  auto order = read_order(body, s_);
  if (!order) {
    raise(std::move(order).error());
  }
  scope.set_region(order->location);
  if (s_.allowed_ssh_ranges.empty() && s_.public_ip) {
    cloud_.warn(
        "machine " + order->name + " will accept no SSH connections: allowed_ssh_ranges is empty"
    );
  }
  auto done = create_machine(
      {cloud_, s_, scope, *order, who, body["tags"], request.dry_run, offering_tags_of(body)}
  );
  if (!done) {
    raise(std::move(done).error());
  }
  if (request.dry_run) {
    call.emit(json::object({{"dry_run", true},
                            {"backend_id", ""},
                            {"would_create", id_of(done->facts.model)}}
    ).dump());
    return;
  }
  json out = json::object(
      {{"backend_id", id_of(done->facts.model)},
       {"metadata", metadata_of(done->facts)},
       {"adopted", done->adopted}}
  );
  out.set("endpoints", endpoints_of(done->facts, s_));
  if (s_.limits_from_size) {
    json limits = measure(scope, done->facts.model, body["components"], {});
    if (limits.size() > 0) {
      out.set("limits", std::move(limits));
    }
  }
  call.emit(out.dump());
}

void backend::delete_resource(sagent::call& call, const sagent::request& request) {
  const scope scope(call, request.trace_id);
  const json body = body_or_throw(request);
  const std::string target(base::trim(request.target));
  removal r{
      cloud_,
      s_,
      scope,
      owner_of(body, request),
      body["resource"]["name"].string_or(""),
      false,
      request.dry_run};
  r.keep_working_machine = body["keep_working_machine"].boolean().value_or(false);
  removal_report report;
  if (target.empty()) {
    r.who = owner_or_throw(body, request);
    report = remove_by_tag(r);
  } else if (const auto id = resource_id::parse(target);
             id && !id->is_virtual_machine() &&
             base::equals_ignoring_case(id->subscription, s_.subscription_id)) {
    report = remove_listed(r, *id, body["tags"]);
  } else {
    report = remove_machine(r, machine_or_throw(target, s_));
  }
  call.emit(to_json(report).dump());
  if (report.failure) {
    raise(failure_of(report));
  }
}

void backend::change_power(sagent::call& call, const sagent::request& request, bool to_running) {
  const scope scope(call, request.trace_id);
  const json body = body_or_throw(request);
  const resource_id machine = machine_or_throw(request.target, s_);
  auto done = bring_to(
      cloud_,
      scope,
      machine,
      owner_of(body, request),
      to_running ? power_goal::running : power_goal::deallocated
  );
  if (!done) {
    raise(std::move(done).error());
  }
  call.emit(json::object({{"power", done->facts.power ? json(*done->facts.power) : json()},
                          {"changed", done->changed},
                          {"metadata", metadata_of(done->facts)}}
  ).dump());
}

void backend::pause(sagent::call& call, const sagent::request& request) {
  change_power(call, request, false);
}

void backend::downscale(sagent::call& call, const sagent::request& request) {
  change_power(call, request, false);
}

void backend::restore(sagent::call& call, const sagent::request& request) {
  change_power(call, request, true);
}

void backend::pull_resources(sagent::call& call, const sagent::request& request) {
  const scope scope(call, request.trace_id, arm::urgency::can_wait);
  const json body = body_or_throw(request);
  if (body["resources"].size() == 0) {
    return;
  }
  auto lists = inventory::read(cloud_, scope, body["resources"], inventory::detail::addresses);
  if (!lists) {
    raise(std::move(lists).error());
  }
  for (const json& resource : body["resources"].items()) {
    const sighting seen = lists->find(cloud_, scope, s_, resource["backend_id"].string_or(""));
    json out = json::object({{"uuid", resource["uuid"]}, {"presence", word_of(seen.seen)}});
    if (seen.seen == presence::present) {
      out.set("state", state_word(seen.facts.model));
      out.set("backend_id", id_of(seen.facts.model));
      out.set("power", seen.facts.power ? json(*seen.facts.power) : json());
      out.set("metadata", metadata_of(seen.facts));
      out.set("endpoints", endpoints_of(seen.facts, s_));
      if (s_.limits_from_size) {
        json limits = measure(scope, seen.facts.model, body["components"], {});
        if (limits.size() > 0) {
          out.set("limits", std::move(limits));
        }
      }
    }
    if (!seen.explanation.empty()) {
      out.set("error", seen.explanation);
    }
    call.emit(out.dump());
  }
}

void backend::list_machines(sagent::call& call, const json& body, const scope& scope) {
  std::vector<std::string> rows; // a list that breaks off is none: nothing is told before its end
  auto listed = cloud_.compute().each_machine(scope, [&](json&& m) {
    if (carries(m, body["tags"])) {
      json row = json::object(
          {{"backend_id", id_of(m)},
           {"uuid", tag_of(m, body["uuid_tag"].string_or(""))},
           {"name", m["name"].string_or("")},
           {"tags", m["tags"]}}
      );
      const json& components = body["components"];
      json limits = components.size() > 0 ? measure(scope, m, components, {}) : json();
      if (limits.size() > 0) {
        row.set("limits", std::move(limits));
      }
      rows.push_back(row.dump());
    }
  });
  if (!listed) {
    raise(std::move(listed).error());
  }
  for (const std::string& row : rows) {
    call.emit(row);
  }
}

void backend::list_objects(sagent::call& call, const json& body, const scope& scope) {
  const auto rows = object_rows(cloud_, scope, body);
  if (!rows) {
    raise(rows.error());
  }
  for (const json& row : *rows) {
    call.emit(row.dump());
  }
}

void backend::list_resources(sagent::call& call, const sagent::request& request) {
  const scope scope(call, request.trace_id, arm::urgency::can_wait);
  const json body = body_or_throw(request);
  if (body["tags"].size() == 0) {
    raise(make_error(
        reason::invalid, base::error_code::invalid, "list_resources needs tags to filter by"
    ));
  }
  if (body["objects"].boolean().value_or(false)) {
    list_objects(call, body, scope);
  } else {
    list_machines(call, body, scope);
  }
}

void backend::set_resource_limits(sagent::call& call, const sagent::request& request) {
  (void)call;
  (void)request;
  raise(make_error(
      reason::invalid,
      base::error_code::unsupported,
      "limits of an Azure machine are those of its size and cannot be set",
      "Changing limits does not change an Azure machine; order a new one of another size."
  ));
}

void backend::diagnostics(sagent::call& call, const sagent::request& request) {
  const scope scope(call, request.trace_id);
  const bool hours = kinds_of_metering(body_or_throw(request)["components"]).hours;
  for (const check_result& c : diagnose(cloud_, s_, scope, hours)) {
    call.emit(json::object({{"name", c.name}, {"ok", c.ok}, {"detail", c.detail}}).dump());
  }
}

// Access is the key the order carried: there are no accounts to add anybody to.
void backend::add_members(sagent::call& call, const sagent::request& request) {
  call.emit(nothing_done(body_or_throw(request)).dump());
}

void backend::remove_members(sagent::call& call, const sagent::request& request) {
  call.emit(nothing_done(body_or_throw(request)).dump());
}

} // namespace siteagent::azure
