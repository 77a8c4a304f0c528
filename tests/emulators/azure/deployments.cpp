// SPDX-License-Identifier: MIT
#include "deployments.hpp"

#include "admission.hpp"
#include "deployments_expression.hpp"
#include "operations.hpp"
#include "paging.hpp"
#include "render.hpp"
#include "routes.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;
using base::result;

namespace {

constexpr std::int64_t most_copies = 800;

std::string deployment_id(const context& c, const std::string& group, const std::string& name) {
  return group_id(c.subscription_id(), group) + "/providers/Microsoft.Resources/deployments/" +
         name;
}

struct place {
  std::string subscription;
  std::string group;
  std::string name;
};

place place_of(const deployment& d) {
  const auto s = base::split(d.id, '/'); // "", subscriptions, S, resourceGroups, G, ..., name
  return {std::string(s[2]), std::string(s[4]), std::string(s.back())};
}

template_scope scope_of(world& w, const deployment& d) {
  const auto p = place_of(d);
  template_scope scope;
  scope.subscription = p.subscription;
  scope.group = p.group;
  scope.deployment = p.name;
  if (const auto* g = w.find_group(p.subscription, p.group)) {
    scope.location = g->location;
  }
  scope.parameters = &d.parameters;
  scope.variables = &d.template_["variables"];
  scope.reference = [&w, &d](const std::string& id, bool full) {
    std::string key = key_of(id);
    for (const auto& step : d.steps.items()) {
      const std::string name = step["name"].string_or("");
      if (equals_ignoring_case(name, id) ||
          equals_ignoring_case(step["type"].string_or("") + "/" + name, id)) {
        key = key_of(step["id"].string_or(""));
      }
    }
    auto* r = w.find(key);
    if (r == nullptr) {
      return json();
    }
    json body = render(w, *r);
    if (r->path.kind == kind::availability_set) {
      body.member_ref("properties").set("internalData", json::object()); // as recorded, only here
    }
    return full ? body : body["properties"];
  };
  return scope;
}

// The values of the parameters: given, else their default. "" = all there.
std::string read_parameters(deployment& d, const json& given, world& w) {
  d.parameters = json::object();
  for (const auto& [name, definition] : d.template_["parameters"].members()) {
    const json* value = nullptr;
    for (const auto& [key, item] : given.members()) {
      value = equals_ignoring_case(key, name) ? item.find("value") : value;
    }
    if (value != nullptr) {
      d.parameters.set(name, *value);
    } else if (const auto* fallback = definition.find("defaultValue")) {
      const auto known = evaluate(*fallback, scope_of(w, d));
      if (!known) {
        return known.error().message;
      }
      d.parameters.set(name, *known);
    } else {
      return "The value for the template parameter '" + name + "' is not provided.";
    }
    const auto& allowed = definition["allowedValues"];
    const auto& now = d.parameters[name];
    if (allowed.size() > 0 &&
        std::none_of(allowed.items().begin(), allowed.items().end(), [&](const json& a) {
          return a == now;
        })) {
      return "The provided value for the template parameter '" + name +
             "' is not valid. The value is not part of the allowed values.";
    }
  }
  for (const auto& [name, value] : given.members()) {
    if (d.template_["parameters"].find(name) == nullptr) {
      return "The template parameters '" + name +
             "' in the parameters file are not valid; they are not present in the original "
             "template.";
    }
  }
  return {};
}

// "Microsoft.Network/virtualNetworks/subnets" and "net/sub" -> the id.
std::string resource_id_of(const place& p, const std::string& type, const std::string& name) {
  const auto types = base::split(type, '/');
  const auto names = base::split(name, '/');
  if (types.size() != names.size() + 1) {
    return {};
  }
  std::string id = group_id(p.subscription, p.group) + "/providers/" + std::string(types[0]);
  for (std::size_t i = 0; i < names.size(); ++i) {
    id += "/" + std::string(types[i + 1]) + "/" + std::string(names[i]);
  }
  return id;
}

// One resource of the template as a step; its properties are evaluated when its turn comes.
std::string add_step(world& w, deployment& d, const json& source, std::int64_t index) {
  auto scope = scope_of(w, d);
  scope.copy_index = index;
  json head = json::object(
      {{"type", source["type"]},
       {"name", source["name"]},
       {"version", source["apiVersion"]},
       {"location", source["location"]},
       {"depends", source["dependsOn"]}}
  );
  if (const auto* condition = source.find("condition")) {
    head.set("condition", *condition);
  }
  auto known = evaluate(head, scope);
  if (!known) {
    return known.error().message;
  }
  if ((*known)["condition"].boolean() == false) {
    return {};
  }
  const std::string id =
      resource_id_of(place_of(d), (*known)["type"].string_or(""), (*known)["name"].string_or(""));
  if (id.empty() || (*known)["version"].string_or("").empty()) {
    return "The template resource '" + (*known)["name"].string_or("") +
           "' needs a type, a name with as many parts, and an apiVersion.";
  }
  json body = source;
  for (const auto* own :
       {"type", "name", "apiVersion", "dependsOn", "copy", "condition", "comments"}) {
    body.erase(own);
  }
  known->set("id", id).set("body", body).set("index", index).set("status", "Waiting");
  if (const auto* copy = source.find("copy")) {
    known->set("copy", (*copy)["name"]);
  }
  d.steps.push_back(*std::move(known));
  return {};
}

std::string make_steps(world& w, deployment& d) {
  d.steps = json::array();
  for (const auto& source : d.template_["resources"].items()) {
    std::int64_t count = 1;
    const bool copies = source.find("copy") != nullptr;
    if (copies) {
      const auto number = evaluate(source.at({"copy", "count"}), scope_of(w, d));
      count = number ? number->integer().value_or(-1) : -1;
      if (count < 0 || count > most_copies) {
        return "The copy count of a template resource must be between 0 and 800.";
      }
    }
    for (std::int64_t i = 0; i < count; ++i) {
      if (auto problem = add_step(w, d, source, copies ? i : -1); !problem.empty()) {
        return problem;
      }
    }
  }
  return {};
}

// A dependency is an id, "type/name", a name, or the name of a copy loop.
bool names_step(const json& step, const std::string& dependency) {
  const std::string type = step["type"].string_or("");
  const std::string name = step["name"].string_or("");
  return key_of(step["id"].string_or("")) == key_of(dependency) ||
         equals_ignoring_case(dependency, name) ||
         equals_ignoring_case(dependency, type + "/" + name) ||
         equals_ignoring_case(dependency, step["copy"].string_or(""));
}

// "" = every dependency is a step and none waits for itself.
std::string check_dependencies(const deployment& d) {
  const auto& steps = d.steps.items();
  std::vector<bool> done(steps.size(), false);
  for (std::size_t round = 0; round <= steps.size(); ++round) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      bool free = true;
      for (const auto& dependency : steps[i]["depends"].items()) {
        bool known = false;
        for (std::size_t j = 0; j < steps.size(); ++j) {
          if (names_step(steps[j], dependency.string_or(""))) {
            known = true;
            free = free && done[j];
          }
        }
        if (!known) {
          return "The resource '" + dependency.string_or("") + "' is not defined in the template.";
        }
      }
      done[i] = done[i] || free;
    }
  }
  return std::find(done.begin(), done.end(), false) == done.end()
             ? ""
             : "Circular dependency detected on a template resource.";
}

reply invalid_template(const std::string& why) {
  return gateway_error(
      400,
      {"InvalidTemplate",
       "Deployment template validation failed: '" + why +
           "'. Please see https://aka.ms/arm-deploy for usage details."}
  );
}

// Makes the requests of one step. A refusal becomes the step's error.
void start_step(world& w, deployment& d, json& step, base::wall_time now) {
  auto scope = scope_of(w, d);
  scope.copy_index = step["index"].integer().value_or(-1);
  const auto body = evaluate(step["body"], scope);
  const std::string id = step["id"].string_or("");
  reply answer;
  if (!body) {
    answer = gateway_error(400, {"InvalidTemplate", body.error().message});
  } else {
    net::server_request http;
    http.method = "PUT";
    http.path = id;
    http.query = "api-version=" + step["version"].string_or("");
    http.target = id + "?" + http.query;
    http.parameters = {{"api-version", step["version"].string_or("")}};
    for (const auto part : base::split(id, '/')) {
      if (!part.empty()) {
        http.segments.emplace_back(part);
      }
    }
    emulators::call call;
    call.base_url = d.base_url;
    call.request_id = base::uuid::random().dashed();
    call.now = now;
    const auto* subscription = w.offer.find_subscription(http.segments[1]);
    context c{w, http, call, subscription, d.principal, step["version"].string_or(""), *body};
    const auto target = target_of(http);
    auto refused = check_version(c, target, normalized_location((*body)["location"].string_or("")));
    if (!refused) {
      refused = admit(c, target);
    }
    if (!refused) {
      refused = check_place(c, target);
    }
    answer = refused ? *refused : route_subscription(c);
  }
  step.set("status", answer.status < 300 ? "Running" : "Failed");
  if (answer.status >= 300) {
    step.set("code", answer.status).set("error", answer.body);
  }
}

// What became of a step that runs.
void watch_step(world& w, json& step, base::wall_time now) {
  const std::string key = key_of(step["id"].string_or(""));
  settle(w, {key}, now);
  const auto* r = w.find(key);
  if (r == nullptr || r->state == provisioning::failed) {
    const std::string code = r == nullptr || r->machine.failure_code.empty()
                                 ? "ResourceDeploymentFailure"
                                 : r->machine.failure_code;
    step.set("status", "Failed").set("code", 409);
    step.set(
        "error",
        error_body(
            {code,
             r == nullptr || r->machine.failure_message.empty()
                 ? "The resource operation completed with terminal provisioning state 'Failed'."
                 : r->machine.failure_message}
        )
            .pretty()
    );
  } else if (r->state == provisioning::succeeded && r->operation.empty()) {
    step.set("status", "Succeeded");
  }
}

bool is_free(const deployment& d, const json& step) {
  for (const auto& dependency : step["depends"].items()) {
    for (const auto& other : d.steps.items()) {
      if (names_step(other, dependency.string_or("")) &&
          other["status"].string_or("") != "Succeeded") {
        return false;
      }
    }
  }
  return true;
}

bool any_step(const deployment& d, std::string_view status) {
  return std::any_of(d.steps.items().begin(), d.steps.items().end(), [&](const json& step) {
    return step["status"].string_or("") == status;
  });
}

std::string_view word_of(int status) {
  return status == 403   ? "Forbidden"
         : status == 404 ? "NotFound"
         : status == 400 ? "BadRequest"
                         : "Conflict";
}

// The error of the whole, with each step's own as escaped JSON.
json failure_of(const deployment& d) {
  json details = json::array();
  for (const auto& step : d.steps.items()) {
    if (step["status"].string_or("") == "Failed") {
      const auto inner = json::parse(step["error"].string_or(""));
      const std::string text = inner ? inner->pretty() : step["error"].string_or("");
      std::string lines;
      for (const char c : text) {
        lines += c == '\n' ? "\r\n" : std::string(1, c);
      }
      details.push_back(json::object(
          {{"code", word_of(static_cast<int>(step["code"].integer().value_or(409)))},
           {"message", lines}}
      ));
    }
  }
  return json::object(
      {{"code", "DeploymentFailed"},
       {"message",
        "At least one resource deployment operation failed. Please list deployment operations for "
        "details. Please see https://aka.ms/DeployOperations for usage details."},
       {"details", details}}
  );
}

std::string type_word(const json& value) {
  return value.is_object()   ? "Object"
         : value.is_array()  ? "Array"
         : value.is_bool()   ? "Bool"
         : value.is_number() ? "Int"
                             : "String";
}

void end_deployment(world& w, deployment& d, bool ok, base::wall_time now) {
  d.ended = now;
  d.status = ok ? "Succeeded" : "Failed";
  if (!ok) {
    d.properties.set("error", failure_of(d));
    return;
  }
  json outputs = json::object();
  for (const auto& [name, output] : d.template_["outputs"].members()) {
    const auto value = evaluate(output["value"], scope_of(w, d));
    if (!value) {
      d.status = "Failed";
      d.properties.set(
          "error",
          json::object(
              {{"code", "DeploymentOutputEvaluationFailed"}, {"message", value.error().message}}
          )
      );
      return;
    }
    outputs.set(name, json::object({{"type", type_word(*value)}, {"value", *value}}));
  }
  if (outputs.size() > 0) {
    d.properties.set("outputs", outputs);
  }
  json made = json::array();
  for (const auto& step : d.steps.items()) {
    made.push_back(json::object({{"id", step["id"]}}));
  }
  d.properties.set("outputResources", made);
}

void run_deployment(world& w, deployment& d, base::wall_time now) {
  // The first look begins it: nobody sees it finished without having seen it run.
  const bool begins = d.status == "Accepted";
  for (bool progress = true; progress && d.ended == base::wall_time();) {
    progress = false;
    const bool broken = any_step(d, "Failed");
    for (auto& step : d.steps.items()) {
      const std::string before = step["status"].string_or("");
      if (before == "Running") {
        watch_step(w, step, now);
      } else if (before == "Waiting" && !broken && is_free(d, step)) {
        start_step(w, d, step, now);
      }
      progress = progress || step["status"].string_or("") != before;
    }
    d.status = "Running";
    // What runs is waited for; what did not start never will after a failure.
    if (begins) {
      return;
    }
    const bool over = !any_step(d, "Running") && (any_step(d, "Failed") || !any_step(d, "Waiting"));
    if (over) {
      end_deployment(w, d, !any_step(d, "Failed"), now);
    }
  }
}

json shown_parameters(const deployment& d) {
  json out = json::object();
  for (const auto& [name, definition] : d.template_["parameters"].members()) {
    const std::string type = definition["type"].string_or("string");
    const bool secret = base::to_lower(type).starts_with("secure");
    json shown = json::object(
        {{"type",
          secret ? (base::to_lower(type) == "securestring" ? "SecureString" : "SecureObject")
                 : type_word(d.parameters[name])}}
    );
    if (!secret) {
      shown.set("value", d.parameters[name]);
    }
    out.set(name, shown);
  }
  return out;
}

json providers_of(const deployment& d) {
  json list = json::array();
  for (const auto& step : d.steps.items()) {
    const std::string full = step["type"].string_or("");
    const auto slash = full.find('/');
    const std::string space = full.substr(0, slash);
    json* entry = nullptr;
    for (auto& known : list.items()) {
      entry = equals_ignoring_case(known["namespace"].string_or(""), space) ? &known : entry;
    }
    if (entry == nullptr) {
      list.push_back(json::object({{"namespace", space}, {"resourceTypes", json::array()}}));
      entry = &list.items().back();
    }
    const auto& location = step["location"];
    entry->member_ref("resourceTypes")
        .push_back(json::object(
            {{"resourceType", slash == std::string::npos ? "" : full.substr(slash + 1)},
             {"locations",
              location.is_string() ? json::array({normalized_location(location.string_or(""))})
                                   : json::array({json()})}}
        ));
  }
  return list;
}

json deployment_body(const deployment& d) {
  json properties = d.properties;
  const auto seconds = std::chrono::duration<double>(
      (d.ended == base::wall_time() ? d.started : d.ended) - d.started
  );
  properties.set("parameters", shown_parameters(d));
  properties.set("provisioningState", d.status);
  properties.set("timestamp", base::to_rfc3339(d.ended == base::wall_time() ? d.started : d.ended));
  properties.set("duration", "PT" + std::to_string(seconds.count()) + "S");
  properties.set("providers", providers_of(d));
  json dependencies = json::array();
  for (const auto& step : d.steps.items()) {
    json on = json::array();
    for (const auto& other : d.steps.items()) {
      for (const auto& dependency : step["depends"].items()) {
        if (names_step(other, dependency.string_or(""))) {
          on.push_back(json::object(
              {{"id", other["id"]},
               {"resourceType", other["type"]},
               {"resourceName", other["name"]}}
          ));
        }
      }
    }
    if (on.size() > 0) {
      dependencies.push_back(json::object(
          {{"dependsOn", on},
           {"id", step["id"]},
           {"resourceType", step["type"]},
           {"resourceName", step["name"]}}
      ));
    }
  }
  properties.set("dependencies", dependencies);
  return json::object(
      {{"id", d.id},
       {"name", place_of(d).name},
       {"type", "Microsoft.Resources/deployments"},
       {"properties", properties}}
  );
}

std::string digits_of(std::string_view text) {
  std::uint64_t h = 1469598103934665603U;
  for (const char c : text) {
    h = (h ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  return std::to_string(h);
}

// Reads a request into a deployment; the refusal, if it is none.
std::optional<reply>
read_deployment(context& c, const std::string& group, const std::string& name, deployment& d) {
  const auto& properties = c.body["properties"];
  const std::string mode = properties["mode"].string_or("");
  if (!equals_ignoring_case(mode, "Incremental")) {
    return gateway_error(
        400,
        {"InvalidRequestContent",
         "The deployment mode '" + mode + "' is not supported; use 'Incremental'."}
    );
  }
  if (!properties["template"].is_object() || !properties["template"]["resources"].is_array()) {
    return invalid_template("Required property 'resources' not found in JSON.");
  }
  d.id = deployment_id(c, group, name);
  d.principal = c.principal;
  d.base_url = c.call.base_url;
  d.operation = "0858" + digits_of(base::uuid::random().hex()).substr(0, 16);
  d.status = "Accepted";
  d.template_ = properties["template"];
  d.started = c.now();
  d.properties = json::object(
      {{"templateHash", digits_of(d.template_.dump())},
       {"mode", "Incremental"},
       {"correlationId", c.call.request_id}}
  );
  std::string problem = read_parameters(d, properties["parameters"], c.world);
  if (problem.empty()) {
    problem = make_steps(c.world, d);
  }
  if (problem.empty()) {
    problem = check_dependencies(d);
  }
  return problem.empty() ? std::nullopt : std::optional(invalid_template(problem));
}

// What can be known before anything is made: policies speak up at once.
std::optional<reply> preflight(context& c, deployment& d) {
  for (auto& step : d.steps.items()) {
    net::server_request http = c.http;
    http.method = "PUT";
    http.path = step["id"].string_or("");
    http.segments.clear();
    for (const auto part : base::split(http.path, '/')) {
      if (!part.empty()) {
        http.segments.emplace_back(part);
      }
    }
    auto scope = scope_of(c.world, d);
    scope.copy_index = step["index"].integer().value_or(-1);
    const auto body = evaluate(step["body"], scope);
    if (!body) {
      continue; // refers to what is yet to be made
    }
    context inner{c.world, http, c.call, c.subscription, c.principal, c.api_version, *body};
    const auto refused = admit(inner, target_of(http));
    const auto said = refused ? json::parse(refused->body) : result<json>(json());
    if (refused && said && (*said)["error"]["code"].string_or("") == "RequestDisallowedByPolicy") {
      return gateway_error(
          400,
          {"InvalidTemplateDeployment",
           "The template deployment failed because of policy violation. Please see details for "
           "more information.",
           "",
           json::array({(*said)["error"]})}
      );
    }
  }
  return std::nullopt;
}

reply put_deployment(context& c, const std::string& group, const std::string& name) {
  deployment d;
  if (auto bad = read_deployment(c, group, name, d)) {
    return *bad;
  }
  const std::string key = key_of(d.id);
  const auto old = c.world.deployments.find(key);
  if (old != c.world.deployments.end() && old->second.ended == base::wall_time()) {
    return gateway_error(
        409,
        {"DeploymentActive",
         "Unable to edit or replace deployment '" + name +
             "': previous deployment is still active. Please see https://aka.ms/arm-deploy for "
             "usage details."}
    );
  }
  if (auto bad = preflight(c, d)) {
    return *bad;
  }
  const bool is_new = old == c.world.deployments.end();
  const auto& stored = c.world.deployments[key] = std::move(d);
  reply r = json_reply(is_new ? 201 : 200, deployment_body(stored));
  r.headers.emplace_back(
      "Azure-AsyncOperation",
      c.call.base_url + c.http.path + "/operationStatuses/" + stored.operation +
          "?api-version=" + c.api_version
  );
  r.headers.emplace_back(
      "Retry-After", std::to_string(c.world.timing.retry_after(pace::machine_action))
  );
  return r;
}

reply operation_list(const deployment& d) {
  json value = json::array();
  for (const auto& step : d.steps.items()) {
    const std::string status = step["status"].string_or("");
    if (status == "Waiting") {
      continue;
    }
    const std::string name = digits_of(step["id"].string_or("")).substr(0, 16);
    json properties = json::object(
        {{"provisioningOperation", "Create"},
         {"provisioningState", status},
         {"statusCode",
          status == "Succeeded" ? "OK"
          : status == "Running"
              ? "Accepted"
              : std::string(word_of(static_cast<int>(step["code"].integer().value_or(409))))},
         {"targetResource",
          json::object(
              {{"id", step["id"]}, {"resourceType", step["type"]}, {"resourceName", step["name"]}}
          )}}
    );
    if (const auto error = json::parse(step["error"].string_or("")); error && status == "Failed") {
      properties.set("statusMessage", *error);
    }
    value.push_back(json::object(
        {{"id", d.id + "/operations/" + name}, {"operationId", name}, {"properties", properties}}
    ));
  }
  return json_reply(200, json::object({{"value", value}}));
}

reply operation_status_of(const context& c, const deployment& d) {
  json body = json::object({{"status", d.status == "Accepted" ? "Running" : d.status}});
  if (d.status == "Failed") {
    body.set("error", d.properties["error"]);
  }
  reply r = json_reply(200, body);
  if (d.ended == base::wall_time()) {
    r.headers.emplace_back(
        "Retry-After", std::to_string(c.world.timing.retry_after(pace::machine_action))
    );
  }
  return r;
}

// The provider of deployments is ARM itself, so these count against its limits like successes.
reply not_found(const std::string& name) {
  return error_reply(404, {"DeploymentNotFound", "Deployment '" + name + "' could not be found."});
}

reply no_group(const std::string& group) {
  return error_reply(
      404, {"ResourceGroupNotFound", "Resource group '" + group + "' could not be found."}
  );
}

} // namespace

void run_deployments(world& w, base::wall_time now) {
  std::vector<std::string> running;
  for (const auto& [key, d] : w.deployments) {
    if (d.ended == base::wall_time()) {
      running.push_back(key);
    }
  }
  for (const auto& key : running) {
    run_deployment(w, w.deployments[key], now);
  }
}

reply route_deployments(
    context& c, const std::string& group, const std::vector<std::string>& rest
) {
  const std::string& method = c.http.method;
  if (c.world.find_group(c.subscription_id(), group) == nullptr) {
    return no_group(group);
  }
  if (rest.empty()) {
    const std::string prefix = key_of(deployment_id(c, group, ""));
    std::vector<std::string> keys;
    for (const auto& [key, d] : c.world.deployments) {
      if (key.starts_with(prefix)) {
        keys.push_back(key);
      }
    }
    return page_of(c, keys_of(keys), c.world.generic_page, [&](const std::string& key) {
      return deployment_body(c.world.deployments.at(key));
    });
  }
  if (rest.size() == 1 && method == "PUT") {
    return put_deployment(c, group, rest[0]);
  }
  if (rest.size() == 2 && method == "POST" && equals_ignoring_case(rest[1], "validate")) {
    deployment d;
    if (auto bad = read_deployment(c, group, rest[0], d)) {
      return *bad;
    }
    if (auto bad = preflight(c, d)) {
      return *bad;
    }
    d.status = "Succeeded";
    return json_reply(200, deployment_body(d));
  }
  const auto it = c.world.deployments.find(key_of(deployment_id(c, group, rest[0])));
  const bool known = it != c.world.deployments.end();
  if (rest.size() == 1 && method == "DELETE") {
    if (!known) {
      return empty_reply(204);
    }
    c.world.deployments.erase(it); // the history only: what it made stays
    return deployment_removal(c, group, rest[0]);
  }
  if (rest.size() == 1 && method == "HEAD") {
    return empty_reply(known ? 204 : 404);
  }
  if (!known || method != "GET") {
    return known ? gateway_error(405, {"MethodNotAllowed", "Use GET, PUT or DELETE here."})
                 : not_found(rest[0]);
  }
  if (rest.size() == 1) {
    return json_reply(200, deployment_body(it->second));
  }
  if (rest.size() == 2 && equals_ignoring_case(rest[1], "operations")) {
    return operation_list(it->second);
  }
  const bool polls = rest.size() == 3 && equals_ignoring_case(rest[1], "operationStatuses");
  return polls && rest[2] == it->second.operation ? operation_status_of(c, it->second)
                                                  : not_found(rest[0]);
}

} // namespace siteagent::azure_emulator
