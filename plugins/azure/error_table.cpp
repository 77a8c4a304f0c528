// SPDX-License-Identifier: MIT
#include "plugins/azure/error_table.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure {

namespace {

using base::error_code;

constexpr int any = 0;
constexpr said_in either = said_in::either;
constexpr said_in answer = said_in::answer;
constexpr said_in operation = said_in::operation;

// Outcomes.
constexpr outcome credentials{reason::credentials, error_code::auth, ""};
constexpr outcome permission{reason::permission, error_code::forbidden, ""};
constexpr outcome configuration{reason::configuration, error_code::not_ready, ""};
constexpr outcome policy{
    reason::policy,
    error_code::forbidden,
    "A rule of the provider's cloud subscription does not allow this machine."};
constexpr outcome locked{reason::locked, error_code::conflict, ""};
constexpr outcome throttled{reason::throttled, error_code::throttled, ""};
constexpr outcome busy{reason::busy, error_code::transient, ""};
constexpr outcome in_use{reason::in_use, error_code::transient, ""};
constexpr outcome nic_reserved{reason::nic_reserved, error_code::transient, ""};
constexpr outcome superseded{reason::superseded, error_code::transient, ""};
constexpr outcome ambiguous{reason::ambiguous, error_code::transient, ""};
constexpr outcome half_made{reason::half_made, error_code::transient, ""};
constexpr outcome precondition{reason::precondition, error_code::conflict, ""};
constexpr outcome absent{reason::absent, error_code::not_found, ""};
constexpr outcome group_missing{reason::group_missing, error_code::not_found, ""};
constexpr outcome reference{reason::reference, error_code::permanent, ""};
constexpr outcome bug{reason::invalid, error_code::permanent, ""};
constexpr outcome capacity{
    reason::capacity,
    error_code::no_capacity,
    "The cloud has no capacity for this machine size in this location at the moment. Choose "
    "another "
    "size or location."};
constexpr outcome quota{
    reason::quota,
    error_code::quota,
    "The provider's cloud quota does not allow this machine now. Choose a smaller size or another "
    "location, or ask the provider."};
constexpr outcome image{
    reason::image, error_code::permanent, "The requested image is not available in this location."};
constexpr outcome location{
    reason::invalid, error_code::permanent, "This location is not available."};
constexpr outcome bad_value{
    reason::invalid, error_code::permanent, "Azure does not accept a value of this order."};
constexpr outcome bad_match{
    reason::invalid,
    error_code::permanent,
    "Azure does not accept this combination of size and image."};
constexpr outcome os_timeout{
    reason::os_timeout,
    error_code::permanent,
    "The machine did not finish its first boot in time."};
constexpr outcome os_failed{
    reason::half_made, error_code::permanent, "The machine's first boot failed."};
constexpr outcome not_started{
    reason::half_made, error_code::permanent, "The machine did not start in time."};
constexpr outcome name_taken{reason::invalid, error_code::conflict, ""};

// Advice given more than once.
constexpr std::string_view raise_quota =
    "request a quota increase in the Azure portal or offer other sizes";
constexpr std::string_view offer_others = "offer other sizes or locations";
constexpr std::string_view offer_locations = "offer other locations";
constexpr std::string_view other_image = "offer another image";
constexpr std::string_view accept_terms = "accept the image's terms: az vm image terms accept";
constexpr std::string_view our_bug =
    "this is a fault of the plugin: report it with Azure's text and request id";
constexpr std::string_view see_text = "see Azure's text";

constexpr auto rows = std::to_array<error_row>({
    // Credentials, rights, subscription.
    {"AuthenticationFailed",
     any,
     either,
     "",
     credentials,
     "check tenant_id, client_id and the credentials"},
    {"InvalidAuthenticationToken",
     any,
     either,
     "",
     credentials,
     "check cloud.audience and the credentials"},
    {"InvalidAuthenticationTokenTenant",
     any,
     either,
     "",
     credentials,
     "tenant_id is not the tenant of the subscription"},
    {"ExpiredAuthenticationToken",
     any,
     either,
     "",
     credentials,
     "check the clocks of this machine"},
    {"AuthorizationFailed",
     any,
     either,
     "",
     permission,
     "give the service principal the role that holds this action"},
    {"LinkedAuthorizationFailed",
     any,
     either,
     "",
     permission,
     "give the service principal the right on the linked object, if that still exists"},
    {"SubscriptionNotFound", any, either, "", configuration, "check subscription_id and tenant_id"},
    {"InvalidSubscriptionId", any, either, "", configuration, "check subscription_id"},
    {"ReadOnlyDisabledSubscription",
     any,
     either,
     "",
     configuration,
     "the subscription is disabled; re-enable it in the Azure portal"},
    {"MissingSubscriptionRegistration",
     any,
     either,
     "",
     configuration,
     "let an owner of the subscription register it: az provider register --namespace <namespace>"},
    {"SubscriptionNotRegisteredForFeature",
     any,
     either,
     "",
     configuration,
     "register the feature in the subscription"},
    {"InvalidApiVersionParameter",
     any,
     either,
     "",
     configuration,
     "this cloud does not know the API version; check cloud.resource_manager"},
    {"MissingApiVersionParameter", any, either, "", bug, our_bug},
    {"InvalidResourceType", any, either, "", ambiguous, "check cloud.resource_manager"},
    {"NoRegisteredProviderFound", any, either, "", location, offer_locations},
    {"LocationNotAvailableForResourceType", any, either, "", location, offer_locations},
    {"LocationNotAvailable", any, either, "", location, offer_locations},
    {"RequestDisallowedByAzure",
     any,
     either,
     "",
     policy,
     "Azure does not allow this region to the subscription"},
    {"RequestDisallowedByPolicy",
     any,
     either,
     "",
     policy,
     "change the order, the settings or the policy"},
    {"InvalidTemplateDeployment", any, either, "", bad_value, see_text},
    {"ScopeLocked", any, either, "", locked, "remove the management lock in the Azure portal"},
    // Absence. Only a 404 is one.
    {"NotFound", any, either, "VMImage", image, other_image},
    {"ResourceNotFound", 404, either, "", absent, ""},
    {"NotFound", 404, either, "", absent, ""},
    {"ResourceGroupNotFound", 404, either, "", group_missing, ""},
    {"ParentResourceNotFound", 404, either, "", group_missing, ""},
    {"InvalidResourceReference",
     any,
     either,
     "",
     reference,
     "an object it refers to is missing or in another region"},
    {"NetworkNotFound", any, either, "", reference, "the network it refers to is missing"},
    // Throttling.
    {"SubscriptionRequestsThrottled", any, either, "", throttled, ""},
    {"TenantRequestsThrottled", any, either, "", throttled, ""},
    {"TooManyRequests", any, either, "", throttled, ""},
    {"OperationNotAllowed", 429, either, "", throttled, ""},
    // Busy, overtaken, in doubt.
    {"AnotherOperationInProgress", any, either, "", busy, ""},
    {"RetryableError", any, either, "", busy, ""},
    {"RetryableErrorDueToAnotherOperation", any, either, "", busy, ""},
    {"ReferencedResourceNotProvisioned", any, either, "", busy, ""},
    {"AttachDiskWhileBeingDetached", any, either, "", busy, ""},
    {"ResourceGroupBeingDeleted", any, either, "", busy, "wait until the group is gone"},
    {"Conflict", any, either, "", busy, ""},
    {"OperationPreempted", any, either, "", superseded, ""},
    {"CanceledAndSupersededDueToAnotherOperation", any, either, "", superseded, ""},
    {"Canceled", any, either, "", superseded, ""},
    {"PreconditionFailed", any, either, "", precondition, "an object of that name exists"},
    {"PreconditionFailedEtagMismatch",
     any,
     either,
     "",
     precondition,
     "the object was changed meanwhile"},
    {"InternalOperationError", any, either, "", half_made, ""},
    {"InternalExecutionError", any, either, "", half_made, ""},
    {"NetworkingInternalOperationError", any, either, "", half_made, ""},
    {"StorageInternalError", any, either, "", half_made, ""},
    {"GatewayTimeout", any, operation, "", half_made, ""},
    {"ServiceUnavailable", any, operation, "", half_made, ""},
    {"ServerTimeout", any, operation, "", half_made, ""},
    {"InternalServerError", any, operation, "", half_made, ""},
    {"ServerBusy", any, operation, "", half_made, ""},
    {"GatewayTimeout", any, answer, "", ambiguous, ""},
    {"ServiceUnavailable", any, answer, "", ambiguous, ""},
    {"ServerTimeout", any, answer, "", ambiguous, ""},
    {"InternalServerError", any, answer, "", ambiguous, ""},
    {"ServerBusy", any, answer, "", ambiguous, ""},
    // In use, order of calls.
    {"NicReservedForAnotherVm",
     any,
     either,
     "",
     nic_reserved,
     "Azure frees the interface after 180 seconds"},
    {"NicInUse", any, either, "", in_use, ""},
    {"PublicIPAddressInUse",
     any,
     either,
     "",
     bug,
     "an object of that name belongs to another machine"},
    {"InUse*", any, either, "", in_use, ""},
    {"CannotDeleteResource", any, either, "", in_use, ""},
    {"NestedResources*", any, either, "", in_use, ""},
    {"ResourceGroupDeletionBlocked", any, either, "", in_use, ""},
    {"ResourceGroupDeletionTimeout", any, either, "", in_use, ""},
    {"SecurityRuleConflict",
     any,
     either,
     "",
     bug,
     "another rule of the security group has the priority"},
    {"ConflictingUserInput",
     any,
     either,
     "",
     name_taken,
     "an object of that name belongs to another machine"},
    {"PropertyChangeNotAllowed", any, either, "", bug, see_text},
    // Capacity and quota.
    {"SkuNotAvailable", any, either, "", capacity, offer_others},
    {"AllocationFailed", any, either, "", capacity, offer_others},
    {"ZonalAllocationFailed", any, either, "", capacity, offer_others},
    {"Overconstrained*", any, either, "", capacity, offer_others},
    {"SpotOverconstrained*", any, either, "", capacity, offer_others},
    {"LowPriority*", any, either, "", capacity, offer_others},
    {"InvalidParameter",
     any,
     either,
     "is not available in the current region",
     capacity,
     offer_others},
    {"OperationNotAllowed", any, either, "hardware cluster", capacity, offer_others},
    {"OperationNotAllowed", any, either, "quota", quota, raise_quota},
    {"QuotaExceeded", any, either, "", quota, raise_quota},
    {"ResourceQuotaExceeded", any, either, "", quota, raise_quota},
    {"ResourceGroupQuotaExceeded", any, either, "", quota, raise_quota},
    {"*CountLimitReached", any, either, "", quota, raise_quota},
    {"SubnetIsFull", any, either, "", quota, "use a larger subnet_cidr"},
    // OperationNotAllowed also stands for "not now" and for "never".
    {"OperationNotAllowed", any, either, "is attached to VM", in_use, ""},
    {"OperationNotAllowed", any, either, "in progress", busy, ""},
    {"OperationNotAllowed", any, either, "marked for deletion", busy, ""},
    {"OperationNotAllowed", any, either, "another operation", busy, ""},
    {"OperationNotAllowed", any, either, "", bug, see_text},
    // Image, configuration and first boot of a machine.
    {"PlatformImageNotFound", any, either, "", image, other_image},
    {"ImageNotFound", any, either, "", image, other_image},
    {"GalleryImageNotFound", any, either, "", image, other_image},
    {"ImageVersionDeprecated", any, either, "", image, "offer another image version"},
    {"SubscriptionNotAuthorizedForImage",
     any,
     either,
     "",
     image,
     "give the subscription access to the image, or offer another one"},
    {"VMMarketplaceInvalidInput",
     any,
     either,
     "",
     image,
     "the image needs a purchase plan, or another one"},
    {"MarketplacePurchaseEligibilityFailed", any, either, "", image, accept_terms},
    {"ResourcePurchaseValidationFailed", any, either, "", image, accept_terms},
    {"OSProvisioningTimedOut", any, either, "", os_timeout, "check the image and the user data"},
    {"OSProvisioningClientError",
     any,
     either,
     "",
     os_failed,
     "check the image, the user name and the user data"},
    {"OSProvisioningInternalError", any, either, "", os_failed, "order again"},
    {"VMStartTimedOut*", any, either, "", not_started, "order again"},
    {"VMAgentStatusCommunicationError",
     any,
     either,
     "",
     half_made,
     "a policy may put an extension on the machine that fails"},
    {"VMExtensionProvisioningError",
     any,
     either,
     "",
     half_made,
     "a policy may put an extension on the machine that fails"},
    {"DiskProcessingError", any, either, "", half_made, ""},
    {"DiskImageNotReady", any, either, "", half_made, ""},
    {"DiskPreparationError", any, either, "", half_made, ""},
    {"DiskEncryptionInternalError", any, either, "", half_made, ""},
    {"InvalidParameter", any, either, "", bad_value, see_text},
    {"BadRequest", any, either, "", bad_match, see_text},
    {"InvalidResourceLocation", any, either, "", bug, "the object exists in another location"},
    {"InvalidResourceGroupLocation", any, either, "", bug, "the group exists in another location"},
    {"BootDiagnostics*", any, either, "", bug, see_text},
    {"StorageAccount*", any, either, "", bug, see_text},
    {"InvalidRequestContent", any, either, "", bug, our_bug},
    {"InvalidRequestFormat", any, either, "", bug, our_bug},
    {"InvalidJson", any, either, "", bug, our_bug},
    // Families of codes.
    {"*CannotBeDeleted*", any, either, "", in_use, ""},
    {"*CannotBeUpdated*", any, either, "", in_use, ""},
    // An operation that failed and does not say why.
    {"", any, operation, "", half_made, ""},
    // Any code, by status and text.
    {"*", 400, answer, "cannot be deleted because it is", in_use, ""},
    {"*", 401, answer, "", credentials, "check the credentials"},
    {"*", 403, answer, "", permission, "check the roles of the service principal"},
    // A 404 without a code that says so proves nothing: a proxy or a wrong endpoint may answer.
    {"*", 404, answer, "", ambiguous, "check cloud.resource_manager"},
    {"*", 408, answer, "", ambiguous, ""},
    {"*", 409, answer, "", busy, ""},
    {"*", 412, answer, "", precondition, ""},
    {"*", 429, answer, "", throttled, ""},
    {"*", any, either, "", bug, see_text},
});

bool contains(std::string_view text, std::string_view part) {
  return base::to_lower(text).find(base::to_lower(part)) != std::string::npos;
}

bool fits_code(std::string_view pattern, std::string_view code) {
  const bool open_front = !pattern.empty() && pattern.front() == '*';
  const bool open_back = pattern.size() > 1 && pattern.back() == '*';
  pattern.remove_prefix(open_front ? 1 : 0);
  pattern.remove_suffix(open_back ? 1 : 0);
  if (open_front && open_back) {
    return contains(code, pattern);
  }
  if (!open_front && !open_back) {
    return base::equals_ignoring_case(code, pattern);
  }
  if (code.size() < pattern.size()) {
    return false;
  }
  return base::equals_ignoring_case(
      open_back ? code.substr(0, pattern.size()) : code.substr(code.size() - pattern.size()),
      pattern
  );
}

bool fits_place(const error_row& row, int status, std::string_view message) {
  const bool in_operation = status == 200;
  const bool here = row.where == said_in::either || (row.where == operation) == in_operation;
  return here && (row.status == any || row.status == status) &&
         (row.text.empty() || contains(message, row.text));
}

// A 429 is "not now" whatever its code says: busy or throttled, never a verdict.
bool fits_throttling(const error_row& row, int status) {
  return status != 429 || row.what.why == reason::busy || row.what.why == reason::throttled;
}

} // namespace

std::span<const error_row> error_rows() {
  return rows;
}

const error_row* find_error_row(int status, std::string_view code, std::string_view message) {
  const auto* const it = std::find_if(rows.begin(), rows.end(), [&](const error_row& r) {
    return r.code != "*" && fits_code(r.code, code) && fits_place(r, status, message) &&
           fits_throttling(r, status);
  });
  return it == rows.end() ? nullptr : &*it;
}

const error_row& error_row_of_status(int status, std::string_view message) {
  // All the statuses of servers in trouble, the ones nobody has listed, too.
  const int shown = status >= 500 ? 408 : status;
  return *std::find_if(rows.begin(), rows.end(), [&](const error_row& r) {
    return r.code == "*" && fits_place(r, shown, message);
  });
}

} // namespace siteagent::azure
