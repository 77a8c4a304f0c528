// SPDX-License-Identifier: MIT
#include "admission.hpp"

#include "locks.hpp"
#include "operations.hpp"
#include "policies.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

using verb_kind = request_target::verb_kind;

bool is_tracked_namespace(const request_target& t) {
  return equals_ignoring_case(t.provider, "Microsoft.Compute") ||
         equals_ignoring_case(t.provider, "Microsoft.Network");
}

std::optional<reply> check_registration(const context& c, const request_target& t) {
  if (t.type.empty() || t.verb == verb_kind::remove || !is_tracked_namespace(t)) {
    return std::nullopt;
  }
  const std::string state = c.world.provider_state(c.subscription_id(), t.provider, c.now());
  if (state == "Registered" || state == "Registering") {
    return std::nullopt;
  }
  const std::string text = "The subscription is not registered to use namespace '" + t.provider +
                           "'. See https://aka.ms/rps-not-found for how to register subscriptions.";
  return gateway_error(
      409,
      {"MissingSubscriptionRegistration",
       text,
       "",
       json::array({json::object(
           {{"code", "MissingSubscriptionRegistration"}, {"target", t.provider}, {"message", text}}
       )})}
  );
}

std::optional<reply> check_group(const context& c, const request_target& t) {
  if (t.group.empty() || t.type.empty()) {
    return std::nullopt; // the group itself answers for itself
  }
  const auto* g = c.world.find_group(c.subscription_id(), t.group);
  if (g == nullptr) {
    return group_not_found(t.group);
  }
  if (g->state == provisioning::deleting && t.verb != verb_kind::remove) {
    return gateway_error(
        409,
        {"ResourceGroupBeingDeleted",
         "The resource group '" + t.group +
             "' is in deprovisioning state and cannot perform this operation."}
    );
  }
  return std::nullopt;
}

} // namespace

std::optional<reply> check_subscription(const context& c) {
  const std::string& state = c.subscription->state;
  const std::string& method = c.http.method;
  if (equals_ignoring_case(state, "Deleted")) {
    return gateway_error(
        404,
        {"SubscriptionNotFound",
         "The subscription '" + c.subscription_id() + "' could not be found."}
    );
  }
  // A warned or disabled subscription can still be read and emptied.
  const bool frozen =
      equals_ignoring_case(state, "Disabled") || equals_ignoring_case(state, "Warned");
  if (!frozen || method == "GET" || method == "HEAD" || method == "DELETE") {
    return std::nullopt;
  }
  return gateway_error(
      409,
      {"ReadOnlyDisabledSubscription",
       "The subscription '" + c.subscription_id() +
           "' is disabled and therefore marked as read only. You cannot perform any write actions "
           "on this subscription until it is re-enabled."}
  );
}

std::optional<reply> admit(context& c, const request_target& target) {
  if (c.http.method == "GET" || c.http.method == "HEAD") {
    return check_permission(c, target);
  }
  auto bad = check_registration(c, target);
  if (!bad) {
    bad = check_group(c, target);
  }
  if (!bad) {
    bad = check_permission(c, target);
  }
  if (!bad) {
    bad = check_linked(c, target);
  }
  if (!bad) {
    bad = check_locks(c, target);
  }
  return bad ? bad : apply_policies(c, target);
}

std::optional<reply>
check_version(const context& c, const request_target& target, std::string_view region) {
  const auto slash = target.type.find('/');
  const auto k = find_kind(
      target.provider,
      std::string_view(target.type).substr(0, slash),
      slash == std::string::npos ? std::string_view()
                                 : std::string_view(target.type).substr(slash + 1)
  );
  if (!k || c.api_version >= info_of(*k).since) {
    return std::nullopt;
  }
  std::vector<std::string> places;
  for (const auto& l : c.world.offer.locations) {
    places.push_back(l.name);
  }
  return gateway_error(
      400,
      {"NoRegisteredProviderFound",
       "No registered resource provider found for location '" + std::string(region) +
           "' and API version '" + c.api_version + "' for type '" + target.type +
           "'. The supported api-versions are '" + base::join(versions_of(*k), ", ") +
           "'. The supported locations are '" + base::join(places, ", ") + "'."}
  );
}

std::optional<reply> check_place(const context& c, const request_target& target) {
  if (c.http.method != "PUT" || !c.body.is_object()) {
    return std::nullopt;
  }
  const std::string location = normalized_location(c.body["location"].string_or(""));
  for (const auto& denied : c.world.offer.denied_locations) {
    if (denied == location) {
      return gateway_error(
          403,
          {"RequestDisallowedByAzure",
           "Resource '" + target.name +
               "' was disallowed by Azure: This policy maintains a set of best available regions "
               "where your subscription can deploy resources. The location '" +
               location + "' is not among them. Please use another region.",
           target.name}
      );
    }
  }
  const auto path = parse_resource_id(target.scope);
  return path && path->child.empty() ? check_location(c, *path, c.world.find(path->key()))
                                     : std::nullopt;
}

} // namespace siteagent::azure_emulator
