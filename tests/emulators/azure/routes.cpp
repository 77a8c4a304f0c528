// SPDX-License-Identifier: MIT
#include "routes.hpp"

#include "activity.hpp"
#include "billing.hpp"
#include "deployments.hpp"
#include "handlers.hpp"
#include "locks.hpp"
#include "operations.hpp"
#include "permissions.hpp"
#include "resource_graph.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

using parts = std::vector<std::string>;

bool is(const parts& p, std::size_t i, std::string_view word) {
  return i < p.size() && equals_ignoring_case(p[i], word);
}

parts tail(const parts& p, std::size_t from) {
  return from < p.size() ? parts(p.begin() + static_cast<std::ptrdiff_t>(from), p.end()) : parts();
}

reply not_allowed(const context& c) {
  return gateway_error(
      405,
      {"MethodNotAllowed",
       "The HTTP method '" + c.http.method + "' is not supported at this resource."}
  );
}

reply unknown_type(const context& c, std::string_view provider, std::string_view type) {
  if (c.world.offer.provider_state(provider).empty()) {
    return gateway_error(
        404,
        {"InvalidResourceNamespace",
         "The resource namespace '" + std::string(provider) + "' is invalid."}
    );
  }
  return gateway_error(
      404,
      {"InvalidResourceType",
       "The resource type '" + std::string(type) + "' could not be found in the namespace '" +
           std::string(provider) + "' for api version '" + c.api_version + "'."}
  );
}

bool is_get(const context& c) {
  return c.http.method == "GET";
}

bool is_write(const context& c) {
  return c.http.method == "PUT" || c.http.method == "PATCH";
}

reply put_kind(context& c, const resource_path& path) {
  if (path.child.empty()) {
    if (auto bad = check_tags(c.body)) {
      return *bad;
    }
  }
  if (auto bad = check_name(path)) {
    return *bad;
  }
  if (is_network(path.kind)) {
    return put_network(c, path);
  }
  if (path.kind == kind::ssh_key) {
    return put_ssh_key(c, path);
  }
  if (path.kind == kind::availability_set) {
    return put_availability_set(c, path);
  }
  return path.kind == kind::virtual_machine ? put_machine(c, path) : put_disk(c, path);
}

reply patch_kind(context& c, const resource_path& path) {
  if (path.kind == kind::virtual_machine) {
    return patch_machine(c, path);
  }
  if (path.kind == kind::disk) {
    return patch_disk(c, path);
  }
  return path.child.empty() ? patch_tags(c, path) : not_allowed(c);
}

reply delete_kind(context& c, const resource_path& path) {
  if (is_network(path.kind)) {
    return delete_network(c, path);
  }
  if (path.kind == kind::ssh_key) {
    return delete_ssh_key(c, path);
  }
  if (path.kind == kind::availability_set) {
    return delete_availability_set(c, path);
  }
  return path.kind == kind::virtual_machine ? delete_machine(c, path) : delete_disk(c, path);
}

reply route_resource(context& c, const resource_path& path) {
  const std::string& m = c.http.method;
  if (m == "GET") {
    return path.kind == kind::virtual_machine ? get_machine(c, path) : get_resource(c, path);
  }
  if (m == "HEAD") {
    const int status = get_resource(c, path).status;
    return empty_reply(status == 200 ? 204 : status);
  }
  if (m == "PUT") {
    return put_kind(c, path);
  }
  if (m == "PATCH") {
    return patch_kind(c, path);
  }
  if (m == "DELETE") {
    return delete_kind(c, path);
  }
  return not_allowed(c);
}

// A machine's own sub-paths: views and actions.
reply route_machine(context& c, const resource_path& path, const std::string& word) {
  if (c.http.method == "POST") {
    return machine_action(c, path, word);
  }
  if (is_get(c) && equals_ignoring_case(word, "instanceView")) {
    return get_instance_view(c, path);
  }
  if (is_get(c) && equals_ignoring_case(word, "vmSizes")) {
    return list_machine_sizes(c, path);
  }
  return unknown_type(c, "Microsoft.Compute", "virtualMachines/" + word);
}

// p: the segments behind "providers" inside a group: namespace, type, name, child, name.
reply route_in_group(context& c, const std::string& group, const parts& p) {
  if (p.size() < 2) {
    return unknown_type(c, p.empty() ? "" : p[0], "");
  }
  if (is(p, 0, "Microsoft.Resources") && is(p, 1, "deployments")) {
    return route_deployments(c, group, tail(p, 2));
  }
  const auto k = find_kind(p[0], p[1], "");
  if (!k) {
    return unknown_type(c, p[0], p[1]);
  }
  if (p.size() == 2) {
    if (!is_get(c)) {
      return not_allowed(c);
    }
    return *k == kind::virtual_machine ? list_machines(c, group, "") : list_kind(c, *k, group);
  }
  resource_path path;
  path.kind = *k;
  path.subscription = c.subscription_id();
  path.group = group;
  path.name = p[2];
  if (p.size() == 3) {
    return route_resource(c, path);
  }
  if (*k == kind::virtual_machine && p.size() == 4) {
    return route_machine(c, path, p[3]);
  }
  if (*k == kind::ssh_key && p.size() == 4 && is(p, 3, "generateKeyPair")) {
    return c.http.method == "POST" ? generate_ssh_key(c, path) : not_allowed(c);
  }
  if (*k == kind::security_group && is(p, 3, "defaultSecurityRules") && is_get(c)) {
    return get_default_rule(c, path, p.size() > 4 ? p[4] : std::string());
  }
  if (*k == kind::network_interface && is(p, 3, "ipConfigurations") && is_get(c)) {
    return get_ip_configurations(c, path, p.size() > 4 ? p[4] : std::string());
  }
  const auto child = find_kind(p[0], p[1], p[3]);
  if (!child || p.size() > 5) {
    return unknown_type(c, p[0], p[1] + "/" + p[3]);
  }
  if (p.size() == 4) {
    return is_get(c) ? list_children(c, path) : not_allowed(c);
  }
  path.kind = *child;
  path.child = p[4];
  return route_resource(c, path);
}

reply route_group(context& c, const std::string& name) {
  const std::string& m = c.http.method;
  if (m == "PUT") {
    return put_group(c, name);
  }
  if (m == "GET") {
    return get_group(c, name);
  }
  if (m == "HEAD") {
    return head_group(c, name);
  }
  if (m == "PATCH") {
    return patch_group(c, name);
  }
  return m == "DELETE" ? delete_group(c, name) : not_allowed(c);
}

// p: namespace, "locations", location, what, ...
reply route_location(context& c, const parts& p) {
  const std::string location = normalized_location(p[2]);
  const std::string what = p.size() > 3 ? base::to_lower(p[3]) : std::string();
  if (!is_get(c)) {
    return not_allowed(c);
  }
  if (p.size() == 5 && (what == "operations" || what == "diskoperations")) {
    return read_monitor(c, p[4], false);
  }
  if (p.size() == 5 && what == "operationresults") {
    return read_monitor(c, p[4], true);
  }
  if (c.world.offer.find_location(location) == nullptr) {
    return gateway_error(
        400,
        {"NoRegisteredProviderFound",
         "No registered resource provider found for location '" + p[2] + "' and API version '" +
             c.api_version + "' for type 'locations/" + what + "'."}
    );
  }
  const bool compute = is(p, 0, "Microsoft.Compute");
  if (what == "usages") {
    return compute ? list_compute_usages(c, location) : list_network_usages(c, location);
  }
  if (compute && what == "vmsizes") {
    return list_sizes(c, location);
  }
  if (compute && what == "virtualmachines") {
    return list_machines(c, "", location);
  }
  if (compute && what == "publishers") {
    return browse_images(c, location, tail(p, 4));
  }
  return unknown_type(c, p[0], "locations/" + what);
}

// p: the segments behind "/subscriptions/{id}/providers".
reply route_providers(context& c, const parts& p) {
  if (p.empty()) {
    return is_get(c) ? list_providers(c) : not_allowed(c);
  }
  if (p.size() == 1) {
    return is_get(c) ? get_provider(c, p[0]) : not_allowed(c);
  }
  if (p.size() == 2 && c.http.method == "POST" &&
      (is(p, 1, "register") || is(p, 1, "unregister"))) {
    return register_provider(c, p[0], is(p, 1, "register"));
  }
  if (is(p, 0, "Microsoft.MarketplaceOrdering")) {
    const auto answer = route_marketplace(c, tail(p, 1));
    return answer ? *answer : unknown_type(c, p[0], p[1]);
  }
  if (is(p, 0, "Microsoft.Insights") && is(p, 1, "eventtypes") && is(p, 2, "management") &&
      is(p, 3, "values")) {
    return is_get(c) ? list_activity(c) : not_allowed(c);
  }
  if (p.size() == 2 && is(p, 0, "Microsoft.CostManagement") && is(p, 1, "query")) {
    return c.http.method == "POST" ? query_costs(c) : not_allowed(c);
  }
  const bool ours = is(p, 0, "Microsoft.Compute") || is(p, 0, "Microsoft.Network");
  if (ours && p.size() > 3 && is(p, 1, "locations")) {
    return route_location(c, p);
  }
  if (is(p, 0, "Microsoft.Compute") && p.size() == 2 && is(p, 1, "skus")) {
    return is_get(c) ? list_skus(c) : not_allowed(c);
  }
  const auto k = find_kind(p[0], p[1], "");
  if (!k || p.size() > 2) {
    return unknown_type(c, p[0], p[1]);
  }
  if (!is_get(c)) {
    return not_allowed(c);
  }
  return *k == kind::virtual_machine ? list_machines(c, "", "") : list_kind(c, *k, "");
}

// What access control keeps at any scope: "{scope}/providers/Microsoft.Authorization/...".
std::optional<reply> route_authorization(context& c) {
  const auto& s = c.http.segments;
  for (std::size_t at = s.size(); at-- > 0;) {
    if (!is(s, at, "providers") || !is(s, at + 1, "Microsoft.Authorization") || s.size() < at + 3) {
      continue;
    }
    std::string scope;
    for (std::size_t i = 0; i < at; ++i) {
      scope += "/" + s[i];
    }
    if (is(s, at + 2, "locks") && s.size() <= at + 4) {
      return route_locks(c, scope, s.size() == at + 4 ? s[at + 3] : std::string());
    }
    if (is(s, at + 2, "permissions") && s.size() == at + 3 && is_get(c)) {
      return list_permissions(c, scope);
    }
  }
  return std::nullopt;
}

} // namespace

reply route_subscription(context& c) {
  const auto& s = c.http.segments;
  if (s.size() == 2) {
    return is_get(c) ? get_subscription(c) : not_allowed(c);
  }
  if (is_write(c) && !c.body.is_object()) {
    return gateway_error(
        400,
        {"InvalidRequestContent",
         "The request content was invalid and could not be deserialized: a JSON object is "
         "required."}
    );
  }
  if (auto answer = route_authorization(c)) {
    return *answer;
  }
  if (is(s, 2, "locations") && s.size() == 3) {
    return list_locations(c);
  }
  if (is(s, 2, "resources") && s.size() == 3) {
    return is_get(c) ? list_resources(c, "") : not_allowed(c);
  }
  if (is(s, 2, "operationresults") && s.size() == 4) {
    return read_monitor(c, s[3], true);
  }
  if (is(s, 2, "providers")) {
    return route_providers(c, tail(s, 3));
  }
  if (is(s, 2, "resourceGroups")) {
    if (s.size() == 3) {
      return is_get(c) ? list_groups(c) : not_allowed(c);
    }
    if (s.size() == 4) {
      return route_group(c, s[3]);
    }
    if (is(s, 4, "resources") && s.size() == 5) {
      settle(c.world, {key_of(group_id(c.subscription_id(), s[3]))}, c.now());
      return c.world.find_group(c.subscription_id(), s[3]) == nullptr ? group_not_found(s[3])
                                                                      : list_resources(c, s[3]);
    }
    if (is(s, 4, "providers")) {
      return route_in_group(c, s[3], tail(s, 5));
    }
  }
  return gateway_error(
      404, {"NotFound", "The path '" + c.http.path + "' is not served by this emulator."}
  );
}

reply route_tenant(context& c) {
  const auto& s = c.http.segments;
  if (auto answer = route_authorization(c)) {
    return *answer;
  }
  if (auto answer = route_billing(c)) {
    return *answer;
  }
  if (is_resource_graph(c.http)) {
    return c.http.method == "POST" ? query_graph(c) : not_allowed(c);
  }
  if (s.size() == 1 && is(s, 0, "subscriptions")) {
    return list_subscriptions(c);
  }
  if (s.size() == 1 && is(s, 0, "tenants")) {
    return list_tenants(c);
  }
  if (s.size() >= 2 && is(s, 0, "providers")) {
    return unknown_type(c, s[1], s.size() > 2 ? s[2] : std::string());
  }
  return gateway_error(
      404, {"NotFound", "The path '" + c.http.path + "' is not served by this emulator."}
  );
}

} // namespace siteagent::azure_emulator
