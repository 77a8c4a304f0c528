// SPDX-License-Identifier: MIT
#include "plugins/azure/error_map.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <optional>

namespace siteagent::azure {

namespace {

using base::error_code;

constexpr std::array<std::string_view, 23> reason_names{
    "none",          "stopped",      "ambiguous",  "throttled",     "busy",       "precondition",
    "in_use",        "nic_reserved", "locked",     "group_missing", "reference",  "absent",
    "capacity",      "quota",        "image",      "policy",        "permission", "credentials",
    "configuration", "superseded",   "os_timeout", "half_made",     "invalid"};

struct row {
  std::string_view code;
  reason why;
  error_code result;
  std::string_view for_customer;
  std::string_view advice;
};

constexpr std::string_view no_room = "The cloud has no capacity for this machine size in this "
                                     "location at the moment. Choose another size or location.";
constexpr std::string_view over_quota =
    "The provider's cloud quota does not allow this machine now. Choose a smaller size or another "
    "location, or ask the "
    "provider.";
constexpr std::string_view no_image = "The requested image is not available in this location.";
constexpr std::string_view by_policy =
    "A rule of the provider's cloud subscription does not allow this machine.";
constexpr std::string_view raise_quota =
    "request a quota increase in the Azure portal or offer other sizes";

constexpr auto rows = std::to_array<row>({
    // Credentials and subscription.
    {"AuthenticationFailed",
     reason::credentials,
     error_code::auth,
     "",
     "check tenant_id, client_id and client_secret"},
    {"InvalidAuthenticationToken",
     reason::credentials,
     error_code::auth,
     "",
     "check cloud.audience and the credentials"},
    {"InvalidAuthenticationTokenTenant",
     reason::credentials,
     error_code::auth,
     "",
     "tenant_id is not the tenant of the subscription"},
    {"ExpiredAuthenticationToken",
     reason::credentials,
     error_code::auth,
     "",
     "check the clocks of this machine"},
    {"AuthorizationFailed",
     reason::permission,
     error_code::forbidden,
     "",
     "give the service principal the role that holds this action"},
    {"LinkedAuthorizationFailed",
     reason::permission,
     error_code::forbidden,
     "",
     "give the service principal the right on the linked object"},
    {"SubscriptionNotFound",
     reason::configuration,
     error_code::not_ready,
     "",
     "check subscription_id and tenant_id"},
    {"InvalidSubscriptionId",
     reason::configuration,
     error_code::not_ready,
     "",
     "check subscription_id"},
    {"ReadOnlyDisabledSubscription",
     reason::configuration,
     error_code::not_ready,
     "",
     "the subscription is disabled; re-enable it in the Azure portal"},
    {"MissingSubscriptionRegistration",
     reason::configuration,
     error_code::not_ready,
     "",
     "register the resource provider: az provider register"},
    {"SubscriptionNotRegisteredForFeature",
     reason::configuration,
     error_code::not_ready,
     "",
     "register the feature in the subscription"},
    {"RequestDisallowedByPolicy",
     reason::policy,
     error_code::forbidden,
     by_policy,
     "change the order, the settings or the policy"},
    {"RequestDisallowedByAzure",
     reason::policy,
     error_code::forbidden,
     by_policy,
     "Azure does not allow this region to the subscription"},
    {"ScopeLocked",
     reason::locked,
     error_code::conflict,
     "",
     "remove the management lock in the Azure portal"},
    // Absence.
    {"ResourceNotFound", reason::absent, error_code::not_found, "", ""},
    {"NotFound", reason::absent, error_code::not_found, "", ""},
    {"ResourceGroupNotFound", reason::group_missing, error_code::not_found, "", ""},
    {"ParentResourceNotFound", reason::group_missing, error_code::not_found, "", ""},
    {"InvalidResourceReference",
     reason::reference,
     error_code::permanent,
     "",
     "an object it refers to is missing or in another region"},
    // Busy, order of calls.
    {"AnotherOperationInProgress", reason::busy, error_code::transient, "", ""},
    {"RetryableError", reason::busy, error_code::transient, "", ""},
    {"RetryableErrorDueToAnotherOperation", reason::busy, error_code::transient, "", ""},
    {"ReferencedResourceNotProvisioned", reason::busy, error_code::transient, "", ""},
    {"AttachDiskWhileBeingDetached", reason::busy, error_code::transient, "", ""},
    {"Conflict", reason::busy, error_code::transient, "", ""},
    {"ResourceGroupBeingDeleted",
     reason::busy,
     error_code::transient,
     "",
     "wait until the group is gone"},
    {"OperationPreempted", reason::superseded, error_code::transient, "", ""},
    {"CanceledAndSupersededDueToAnotherOperation",
     reason::superseded,
     error_code::transient,
     "",
     ""},
    {"Canceled", reason::superseded, error_code::transient, "", ""},
    {"PreconditionFailed",
     reason::precondition,
     error_code::conflict,
     "",
     "an object of that name exists"},
    {"NicReservedForAnotherVm",
     reason::nic_reserved,
     error_code::transient,
     "",
     "Azure frees the interface after 180 seconds"},
    {"NicInUse", reason::in_use, error_code::transient, "", ""},
    {"CannotDeleteResource", reason::in_use, error_code::transient, "", ""},
    {"NestedResourcesExist", reason::in_use, error_code::transient, "", ""},
    {"ResourceGroupDeletionBlocked", reason::in_use, error_code::transient, "", ""},
    {"ResourceGroupDeletionTimeout", reason::in_use, error_code::transient, "", ""},
    // Capacity and quota.
    {"SkuNotAvailable",
     reason::capacity,
     error_code::no_capacity,
     no_room,
     "offer other sizes or locations"},
    {"AllocationFailed",
     reason::capacity,
     error_code::no_capacity,
     no_room,
     "offer other sizes or locations"},
    {"ZonalAllocationFailed",
     reason::capacity,
     error_code::no_capacity,
     no_room,
     "offer other sizes or locations"},
    {"OverconstrainedAllocationRequest",
     reason::capacity,
     error_code::no_capacity,
     no_room,
     "offer other sizes or locations"},
    {"OverconstrainedZonalAllocationRequest",
     reason::capacity,
     error_code::no_capacity,
     no_room,
     "offer other sizes or locations"},
    {"SubnetIsFull", reason::quota, error_code::quota, over_quota, "use a larger subnet_cidr"},
    {"QuotaExceeded", reason::quota, error_code::quota, over_quota, raise_quota},
    {"ResourceQuotaExceeded", reason::quota, error_code::quota, over_quota, raise_quota},
    {"ResourceGroupQuotaExceeded", reason::quota, error_code::quota, over_quota, raise_quota},
    // Machine configuration and first boot.
    {"PlatformImageNotFound",
     reason::image,
     error_code::permanent,
     no_image,
     "offer another image"},
    {"ImageNotFound", reason::image, error_code::permanent, no_image, "offer another image"},
    {"GalleryImageNotFound", reason::image, error_code::permanent, no_image, "offer another image"},
    {"ImageVersionDeprecated",
     reason::image,
     error_code::permanent,
     no_image,
     "offer another image version"},
    {"VMMarketplaceInvalidInput",
     reason::image,
     error_code::permanent,
     no_image,
     "the image needs a purchase plan"},
    {"MarketplacePurchaseEligibilityFailed",
     reason::image,
     error_code::permanent,
     no_image,
     "accept the image's terms: az vm image terms accept"},
    {"ResourcePurchaseValidationFailed",
     reason::image,
     error_code::permanent,
     no_image,
     "accept the image's terms: az vm image terms accept"},
    {"LocationNotAvailableForResourceType",
     reason::invalid,
     error_code::permanent,
     "This location is not available.",
     "offer other locations"},
    {"NoRegisteredProviderFound",
     reason::invalid,
     error_code::permanent,
     "This location is not available.",
     "offer other locations"},
    {"LocationNotAvailable",
     reason::invalid,
     error_code::permanent,
     "This location is not available.",
     "offer other locations"},
    {"OSProvisioningTimedOut",
     reason::os_timeout,
     error_code::permanent,
     "The machine did not finish its first boot in time.",
     "check the image and the user data"},
    {"OSProvisioningClientError",
     reason::half_made,
     error_code::permanent,
     "The machine's first boot failed.",
     "check the image, the user name and the user data"},
    {"OSProvisioningInternalError",
     reason::half_made,
     error_code::permanent,
     "The machine's first boot failed.",
     "order again"},
    {"VMStartTimedOut",
     reason::half_made,
     error_code::permanent,
     "The machine did not start in time.",
     "order again"},
    {"InternalExecutionError", reason::half_made, error_code::transient, "", ""},
    {"InternalOperationError", reason::half_made, error_code::transient, "", ""},
    {"NetworkingInternalOperationError", reason::half_made, error_code::transient, "", ""},
    {"StorageInternalError", reason::half_made, error_code::transient, "", ""},
    {"DiskProcessingError", reason::half_made, error_code::transient, "", ""},
    // Ours or the customer's mistake.
    {"InvalidParameter",
     reason::invalid,
     error_code::permanent,
     "Azure does not accept a value of this order.",
     "see Azure's text"},
    {"BadRequest",
     reason::invalid,
     error_code::permanent,
     "Azure does not accept this combination of size and image.",
     "see Azure's text"},
    {"PropertyChangeNotAllowed", reason::invalid, error_code::permanent, "", "see Azure's text"},
    {"InvalidResourceGroupLocation",
     reason::invalid,
     error_code::permanent,
     "",
     "the group exists in another location"},
    {"ConflictingUserInput",
     reason::invalid,
     error_code::conflict,
     "",
     "an object of that name belongs to another machine"},
});

const row* find_row(std::string_view code) {
  const auto* const it = std::find_if(rows.begin(), rows.end(), [&](const row& r) {
    return base::equals_ignoring_case(r.code, code);
  });
  return it == rows.end() ? nullptr : it;
}

bool contains(std::string_view text, std::string_view part) {
  return base::to_lower(text).find(base::to_lower(part)) != std::string::npos;
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() >= tail.size() &&
         base::equals_ignoring_case(text.substr(text.size() - tail.size()), tail);
}

// OperationNotAllowed stands for quota, for "not now" and for "never"; status and text tell.
row operation_not_allowed(const arm::error_node& node) {
  const std::string_view text = node.message;
  if (contains(text, "quota")) {
    return {node.code, reason::quota, error_code::quota, over_quota, raise_quota};
  }
  if (contains(text, "is attached to VM")) {
    return {node.code, reason::in_use, error_code::transient, "", ""};
  }
  if (contains(text, "in progress") || contains(text, "marked for deletion") ||
      contains(text, "another operation")) {
    return {node.code, reason::busy, error_code::transient, "", ""};
  }
  return {node.code, reason::invalid, error_code::permanent, "", "see Azure's text"};
}

std::optional<row> by_pattern(const arm::error_node& node) {
  if (base::equals_ignoring_case(node.code, "OperationNotAllowed")) {
    return operation_not_allowed(node);
  }
  if (ends_with(node.code, "CountLimitReached")) {
    return row{node.code, reason::quota, error_code::quota, over_quota, raise_quota};
  }
  const bool refused_delete = contains(node.code, "CannotBeDeleted") ||
                              contains(node.code, "CannotBeUpdated") ||
                              base::equals_ignoring_case(node.code.substr(0, 5), "InUse") ||
                              contains(node.message, "cannot be deleted because it is");
  if (refused_delete) {
    return row{node.code, reason::in_use, error_code::transient, "", ""};
  }
  return std::nullopt;
}

row by_status(int status) {
  switch (status) {
  case 401:
    return {"", reason::credentials, error_code::auth, "", "check the credentials"};
  case 403:
    return {
        "",
        reason::permission,
        error_code::forbidden,
        "",
        "check the roles of the service principal"};
  case 404:
    // A 404 without a code that says so proves nothing: a proxy or a wrong endpoint may answer.
    return {"", reason::ambiguous, error_code::transient, "", "check cloud.resource_manager"};
  case 408:
  case 500:
  case 502:
  case 503:
  case 504:
    return {"", reason::ambiguous, error_code::transient, "", ""};
  case 409:
    return {"", reason::busy, error_code::transient, "", ""};
  case 412:
    return {"", reason::precondition, error_code::conflict, "", ""};
  default:
    return status >= 500 ? row{"", reason::ambiguous, error_code::transient, "", ""}
                         : row{"", reason::invalid, error_code::permanent, "", "see Azure's text"};
  }
}

bool is_busy_code(std::string_view code) {
  const row* known = find_row(code);
  return known != nullptr && known->why == reason::busy;
}

// The innermost code that says something wins; of the outer ones only the last word is kept.
row judge(const arm::error_body& body) {
  if (body.status == 429) {
    for (const arm::error_node& node : body.nodes) {
      if (is_busy_code(node.code)) {
        return {"", reason::busy, error_code::transient, "", ""};
      }
    }
    return {"", reason::throttled, error_code::throttled, "", ""};
  }
  for (auto node = body.nodes.rbegin(); node != body.nodes.rend(); ++node) {
    if (const row* known = find_row(node->code)) {
      // "Not found" counts only with the status of it.
      if (known->result != error_code::not_found || body.status == 404) {
        return *known;
      }
    }
    if (const auto guessed = by_pattern(*node)) {
      return *guessed;
    }
  }
  return by_status(body.status);
}

} // namespace

std::string_view name_of(reason r) {
  return reason_names.at(static_cast<std::size_t>(r));
}

reason reason_of(const base::error& e) {
  if (e.detail.empty()) {
    return reason::none;
  }
  const auto detail = base::json::parse(e.detail);
  if (!detail) {
    return reason::none;
  }
  const auto name = (*detail)["reason"].string();
  const auto* const it =
      name ? std::find(reason_names.begin(), reason_names.end(), *name) : reason_names.end();
  return it == reason_names.end() ? reason::none : static_cast<reason>(it - reason_names.begin());
}

void add_detail(base::error& e, std::string_view key, base::json value) {
  const auto parsed = base::json::parse(e.detail);
  base::json detail = parsed && parsed->is_object() ? *parsed : base::json::object();
  detail.set(key, std::move(value));
  e.detail = detail.dump();
}

base::error
make_error(reason why, base::error_code code, std::string message, std::string public_message) {
  base::error e;
  e.code = code;
  e.message = std::move(message);
  e.public_message = std::move(public_message);
  if (why != reason::none) {
    add_detail(e, "reason", name_of(why));
  }
  return e;
}

base::error map_error(const arm::error_body& body, std::string_view what) {
  const row verdict = judge(body);
  // The innermost node with words for people.
  const arm::error_node* spoken = &body.outer();
  for (const arm::error_node& node : body.nodes) {
    const std::string_view words = base::trim(node.message);
    if (!words.empty() && words.front() != '{') {
      spoken = &node;
    }
  }
  // Status 200 is the reading of an operation that failed.
  std::string message = std::string(what) + ": ";
  message += body.status == 200 ? "the operation failed" : "HTTP " + std::to_string(body.status);
  if (!body.root().code.empty()) {
    message += " " + body.root().code;
  }
  if (!spoken->message.empty()) {
    message += ": " + spoken->message;
  }
  if (!body.policy.empty()) {
    message += " [policy '" + body.policy + "'";
    message += body.policy_requirement.empty() ? "]" : " wants " + body.policy_requirement + "]";
  }
  if (!verdict.advice.empty()) {
    message += "; " + std::string(verdict.advice);
  }
  base::error e = make_error(
      verdict.why, verdict.result, std::move(message), std::string(verdict.for_customer)
  );
  e.provider_code = body.root().code;
  e.http_status = body.status;
  add_detail(e, "http_status", body.status);
  if (!body.root().code.empty()) {
    add_detail(e, "provider_code", body.root().code);
  }
  if (!body.root().target.empty()) {
    add_detail(e, "target", body.root().target);
  }
  if (!body.policy.empty()) {
    add_detail(e, "assignment", body.policy);
  }
  return e;
}

base::error as_refusal(base::error e) {
  if (e.code == base::error_code::no_capacity) {
    e.code = base::error_code::refused;
  }
  return e;
}

} // namespace siteagent::azure
