// SPDX-License-Identifier: MIT
#include "service.hpp"

#include "activity.hpp"
#include "admission.hpp"
#include "auth.hpp"
#include "deployments.hpp"
#include "operations.hpp"
#include "render.hpp"
#include "resource_graph.hpp"
#include "routes.hpp"
#include "seed.hpp"
#include "tokens.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"

#include <iostream>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;
using base::result;

namespace {

bool is_arm_path(const std::vector<std::string>& s) {
  return !s.empty() &&
         (equals_ignoring_case(s[0], "subscriptions") || equals_ignoring_case(s[0], "tenants") ||
          equals_ignoring_case(s[0], "providers"));
}

bool is_read(const std::string& method) {
  return method == "GET" || method == "HEAD";
}

// "2024-07-01", "2024-07-01-preview"; not before 2015.
bool is_api_version(std::string_view text) {
  if (text.size() < 10 || text[4] != '-' || text[7] != '-') {
    return false;
  }
  for (const std::size_t i : {0, 1, 2, 3, 5, 6, 8, 9}) {
    if (text[i] < '0' || text[i] > '9') {
      return false;
    }
  }
  const auto rest = text.substr(10);
  const auto month = text.substr(5, 2);
  const auto day = text.substr(8, 2);
  return text.substr(0, 4) >= "2015" && month >= "01" && month <= "12" && day >= "01" &&
         day <= "31" &&
         (rest.empty() || rest == "-preview" || rest == "-alpha" || rest == "-beta" ||
          rest == "-privatepreview");
}

std::optional<reply> check_api_version(const std::string& version) {
  if (version.empty()) {
    return gateway_error(
        400,
        {"MissingApiVersionParameter",
         "The api-version query parameter (?api-version=) is required for all requests."}
    );
  }
  if (!is_api_version(version)) {
    return gateway_error(
        400,
        {"InvalidApiVersionParameter",
         "The api-version '" + version +
             "' is invalid. The supported versions are '2025-04-01,2024-07-01,2024-03-02,"
             "2024-05-01,2022-12-01,2021-07-01,2021-04-01'."}
    );
  }
  return std::nullopt;
}

reply subscription_not_found(std::string_view id) {
  return gateway_error(
      404,
      {"SubscriptionNotFound", "The subscription '" + std::string(id) + "' could not be found."}
  );
}

std::optional<reply> check_length(const net::server_request& http) {
  const bool needs = http.method == "PUT" || http.method == "POST" || http.method == "PATCH";
  if (!needs || !http.body.empty() || !http.header("content-length").empty() ||
      !http.header("transfer-encoding").empty()) {
    return std::nullopt;
  }
  return gateway_error(411, {"LengthRequired", "Length Required"});
}

std::optional<reply> read_body(const net::server_request& http, json& out) {
  if (http.body.empty()) {
    return std::nullopt;
  }
  auto parsed = json::parse(http.body);
  if (!parsed) {
    return gateway_error(
        400,
        {"InvalidRequestContent",
         "The request content was invalid and could not be deserialized: '" +
             parsed.error().message + "'."}
    );
  }
  out = std::move(*parsed);
  return std::nullopt;
}

} // namespace

void service::attach_clock(const base::clock& clock) {
  clock_ = &clock;
}

result<void> service::reset(bool at_start) {
  world_ = world();
  world_.offer = default_catalog();
  world_.timing = timing_;
  throttle_.clear();
  if (state_directory_.empty()) {
    return {};
  }
  if (at_start) {
    if (auto done = state_.open(state_directory_); !done) {
      return done;
    }
    auto loaded = state_.load(world_, clock_->wall());
    if (!loaded) {
      return loaded.error();
    }
    has_loaded_state_ = *loaded;
  } else if (auto done = state_.clear(); !done) {
    return done;
  }
  // Nothing is written before the seed: a kill between the two must not pass for a kept state.
  world_.track_changes();
  return {};
}

result<void> service::keep() {
  if (!state_.is_open()) {
    return {};
  }
  const auto offset = std::chrono::duration_cast<std::chrono::seconds>(
      clock_->wall() - base::real_clock().wall() + std::chrono::milliseconds(500)
  );
  kept_marks_ = {world_.due.size(), world_.ended.size()};
  return state_.save(world_, offset);
}

void service::set_timing(const timing& t) {
  timing_ = t;
  world_.timing = t;
}

result<void> service::seed(const json& document) {
  // On a copy: a seed that is wrong anywhere changes nothing.
  world next = world_;
  auto applied = apply_seed(next, document, clock_->wall());
  if (applied) {
    world_ = std::move(next);
    return keep();
  }
  return applied;
}

void service::clock_advanced() {
  advance(world_, clock_->wall());
  keep_or_complain();
}

void service::keep_or_complain() {
  if (auto done = keep(); !done) {
    std::cerr << name() << ": " << done.error().message << '\n';
  }
}

json service::inventory(const emulators::call& call) {
  advance(world_, call.now);
  json all;
  json groups = json::array();
  for (const auto& [key, g] : world_.groups) {
    groups.push_back(render_group(g));
  }
  all.set("resourceGroups", groups);
  for (const auto& info : all_kinds()) {
    all.set(info.list_name, json::array());
  }
  for (auto& [key, r] : world_.resources) {
    json body = render(world_, r);
    if (r.path.kind == kind::virtual_machine) {
      body.member_ref("properties").set("instanceView", instance_view(world_, r, call.now));
    }
    all.member_ref(info_of(r.path.kind).list_name).push_back(std::move(body));
  }
  return all;
}

std::optional<net::server_response>
service::administrate(std::string_view name, const json& body, const emulators::call& call) {
  if (name != "first_boot") {
    return std::nullopt;
  }
  advance(world_, call.now);
  const auto path = parse_resource_id(body["id"].string_or(""));
  const resource* machine = path ? world_.find(path->key()) : nullptr;
  if (machine == nullptr || path->kind != kind::virtual_machine) {
    return gateway_error(404, {"NotFound", "There is no machine of that id."});
  }
  const json& profile = machine->body.at({"properties", "osProfile"});
  return emulators::json_response(
      200,
      json::object(
          {{"admin_username", profile["adminUsername"]},
           {"computer_name", profile["computerName"]},
           {"public_keys", profile.at({"linuxConfiguration", "ssh", "publicKeys"})},
           {"custom_data", machine->machine.custom_data}}
      )
  );
}

std::vector<std::string> service::banner() const {
  std::vector<std::string> lines;
  for (const auto& s : world_.offer.subscriptions) {
    lines.push_back("subscription " + s.id + " (" + s.state + ")");
  }
  for (const auto& a : world_.offer.applications) {
    lines.push_back(
        "tenant " + a.tenant + " client " + a.client_id + " secret " +
        (a.secret == "emulator-secret" ? a.secret : std::string("(as seeded)"))
    );
  }
  std::vector<std::string> names;
  for (const auto& l : world_.offer.locations) {
    names.push_back(l.name);
  }
  lines.push_back("locations " + base::join(names, " "));
  names.clear();
  for (const auto& s : world_.offer.sizes) {
    names.push_back(s.name);
  }
  lines.push_back("sizes " + base::join(names, " "));
  names.clear();
  for (const auto& i : world_.offer.images) {
    const std::string name = i.publisher + ":" + i.offer + ":" + i.sku;
    if (names.empty() || names.back() != name) { // versions of one image
      names.push_back(name);
    }
  }
  lines.push_back("images " + base::join(names, " "));
  return lines;
}

net::server_response
service::handle(const net::server_request& request, const emulators::call& call) {
  advance(world_, call.now);
  run_deployments(world_, call.now);
  emulators::call by_tokens = call; // whose clock may be off
  by_tokens.now += call.skew;
  if (auto login = answer_login(world_, request, by_tokens)) {
    return *login;
  }
  if (auto prices = answer_prices(world_, request, call)) {
    return *prices;
  }
  const auto& s = request.segments;
  if (!is_arm_path(s)) {
    return gateway_error(
        404, {"NotFound", "The path '" + request.path + "' is not served by this emulator."}
    );
  }
  const bool scoped = s.size() >= 2 && equals_ignoring_case(s[0], "subscriptions");
  const auto* subscription = scoped ? world_.offer.find_subscription(s[1]) : nullptr;
  const std::string tenant = subscription != nullptr ? subscription->tenant : "common";
  const auto token = check_token(world_, request, by_tokens, tenant);
  if (token.refusal) {
    // Without a token, an unknown subscription says so instead of naming a tenant.
    const bool anonymous = request.header("authorization").empty();
    return scoped && subscription == nullptr && anonymous ? subscription_not_found(s[1])
                                                          : *token.refusal;
  }
  const std::string version = request.parameter("api-version");
  if (auto bad = check_api_version(version)) {
    return *bad;
  }
  if (auto bad = check_length(request)) {
    return *bad;
  }
  context c{world_, request, call, subscription, token.principal, version, {}};
  const auto unreadable = read_body(request, c.body);
  if (!scoped) {
    return unreadable ? *unreadable : answer_tenant(c, token.tenant);
  }
  // Reads are throttled before anything is looked up, writes once they are admitted.
  if (is_read(request.method)) {
    if (auto bad = throttle_.front_door(request, s[1], token.principal, call.now)) {
      return *bad;
    }
  }
  if (subscription == nullptr) {
    return subscription_not_found(s[1]);
  }
  if (!equals_ignoring_case(subscription->tenant, token.tenant)) {
    return wrong_tenant(token.tenant, subscription->tenant, call);
  }
  auto answer = answer_subscription(c, unreadable);
  note_activity(c, answer);
  return answer;
}

net::server_response service::answer_tenant(context& c, const std::string& tenant) {
  if (auto bad = throttle_.tenant_door(c.http, tenant, c.principal, c.now())) {
    return *bad;
  }
  if (is_resource_graph(c.http)) {
    if (auto bad = throttle_.graph(c.principal, c.now())) {
      return *bad;
    }
  }
  return route_tenant(c);
}

namespace {

// Where the object of a request is or shall be; "" when that cannot be told.
std::string region_of(const context& c) {
  const auto& s = c.http.segments;
  for (std::size_t i = 0; i + 1 < s.size(); ++i) {
    if (equals_ignoring_case(s[i], "locations")) {
      return normalized_location(s[i + 1]);
    }
  }
  if (const auto path = parse_resource_id(target_of(c.http).scope)) {
    const auto it = c.world.resources.find(path->key());
    if (it != c.world.resources.end()) {
      return it->second.location;
    }
  }
  return normalized_location(c.body["location"].string_or(""));
}

} // namespace

net::server_response
service::answer_subscription(context& c, const std::optional<net::server_response>& unreadable) {
  if (auto bad = check_subscription(c)) {
    return *bad;
  }
  const auto target = target_of(c.http);
  if (auto bad = check_version(c, target, region_of(c))) {
    return *bad;
  }
  if (auto bad = admit(c, target)) {
    return *bad;
  }
  const std::string& id = c.http.segments[1];
  if (!is_read(c.http.method)) {
    if (auto bad = throttle_.front_door(c.http, id, c.principal, c.now())) {
      return *bad;
    }
  }
  if (auto bad = check_place(c, target)) {
    return *bad;
  }
  if (unreadable) {
    return *unreadable;
  }
  if (auto bad = throttle_.provider(c.http, id, region_of(c), c.now())) {
    return *bad;
  }
  return route_subscription(c);
}

namespace {

bool has_header(const net::header_list& headers, std::string_view name) {
  for (const auto& [key, value] : headers) {
    if (equals_ignoring_case(key, name)) {
      return true;
    }
  }
  return false;
}

std::string routing_id(const emulators::call& call, const std::string& id) {
  std::string time;
  for (const char ch : base::to_rfc3339(call.now)) {
    if (ch != '-' && ch != ':') {
      time += ch;
    }
  }
  return "WESTEUROPE:" + time + ":" + id;
}

} // namespace

void service::finish(
    const net::server_request& request, const emulators::call& call, net::server_response& response
) {
  // A read changes nothing but what time and a first look bring to an end.
  const bool changes = !is_read(request.method) || !world_.deployments.touched().empty() ||
                       kept_marks_ != std::pair(world_.due.size(), world_.ended.size());
  if (state_.is_open() && changes) {
    keep_or_complain();
  }
  world_.forget_touched();
  auto& headers = response.headers;
  const auto add = [&](std::string_view name, const std::string& value) {
    if (!has_header(headers, name)) {
      headers.emplace_back(name, value);
    }
  };
  add("x-ms-request-id", call.request_id);
  const auto& s = request.segments;
  if (is_arm_path(s)) {
    const std::string given = request.header("x-ms-correlation-request-id");
    const std::string correlation = given.empty() ? call.request_id : given;
    add("x-ms-correlation-request-id", correlation);
    add("x-ms-routing-request-id", routing_id(call, call.request_id));
    const std::string client = request.header("x-ms-client-request-id");
    if (!client.empty() &&
        equals_ignoring_case(request.header("x-ms-return-client-request-id"), "true")) {
      add("x-ms-client-request-id", client);
    }
    bool gateway = false;
    for (const auto& [key, value] : headers) {
      gateway = gateway || (key == "x-ms-failure-cause" && value == "gateway");
    }
    const bool counted = response.status != 401 && !gateway;
    if (counted) {
      throttle_.add_headers(request, s.size() >= 2 ? s[1] : std::string(), headers);
    }
    if (base::to_lower(request.path).find("/providers/microsoft.network/") != std::string::npos) {
      add("x-ms-arm-service-request-id", base::uuid::random().dashed());
    }
  }
  add("Cache-Control", "no-cache");
  add("Pragma", "no-cache");
  add("Expires", "-1");
  add("Strict-Transport-Security", "max-age=31536000; includeSubDomains");
  add("X-Content-Type-Options", "nosniff");
}

std::vector<emulators::option> service::options() {
  std::vector<emulators::option> list;
  list.push_back(
      {"--timing",
       "instant|fast|realistic|FILE",
       "how long operations take (default: fast)",
       [this](std::string_view value) -> result<void> {
         auto parsed = timing::parse(value);
         if (!parsed) {
           return parsed.error();
         }
         timing_ = *parsed;
         return {};
       }}
  );
  list.push_back(
      {"--enforce-throttling",
       "",
       "refuse with 429 what exceeds the limits of ARM and of its providers",
       [this](std::string_view) -> result<void> {
         throttle_.set_enforced(true);
         return {};
       }}
  );
  list.push_back(
      {"--state",
       "DIR",
       "keep the state in this directory, through restarts and kills",
       [this](std::string_view value) -> result<void> {
         if (value.empty()) {
           return base::error{base::error_code::invalid, "must name a directory"};
         }
         state_directory_ = std::string(value);
         return {};
       }}
  );
  return list;
}

} // namespace siteagent::azure_emulator
