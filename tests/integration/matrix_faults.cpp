// SPDX-License-Identifier: MIT
// The troubles of the matrix and where each can happen.
#include "tests/integration/matrix.hpp"

#include <array>
#include <chrono>
#include <ctime>

namespace siteagent::integration::matrix {

namespace {

json headers_of(json more) {
  more.set("Content-Type", "application/json; charset=utf-8");
  return more;
}

json answer(int status, const json& body, json headers = json::object()) {
  return json::object(
      {{"status", status}, {"headers", headers_of(std::move(headers))}, {"body", body}}
  );
}

json arm_error(std::string_view code, std::string_view message) {
  return json::object({{"error", json::object({{"code", code}, {"message", message}})}});
}

// A second or two from now, as a server writes it.
std::string http_date_soon() {
  const std::time_t when = std::chrono::system_clock::to_time_t(
      std::chrono::system_clock::now() + std::chrono::seconds(2)
  );
  std::tm parts{};
  ::gmtime_r(&when, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return text.data();
}

// Valid JSON in which nothing is what it should be.
json wrong_types() {
  return *json::parse(
      R"({"id":7,"name":[],"type":{},"location":1,"tags":[1],"etag":0,"properties":"none",)"
      R"("value":{"x":1},"status":[],"statuses":"x","nextLink":5,"access_token":{},)"
      R"("expires_in":"soon","error":"none","uuid":3,"state":null})"
  );
}

constexpr std::string_view quota_text =
    "Operation could not be completed as it results in exceeding approved Total Regional Cores "
    "quota. Additional details - Deployment Model: Resource Manager, Location: westeurope, Current "
    "Limit: 10, Current Usage: 10, Additional Required: 1, (Minimum) New Limit Required: 11.";
constexpr std::string_view not_allowed_text =
    "The client '33333333-3333-3333-3333-333333333333' does not have authorization to perform "
    "this action over scope '/subscriptions/11111111-1111-1111-1111-111111111111'.";
constexpr std::string_view busy_text =
    "Another operation on this or dependent resource is in progress. To retrieve status of the "
    "operation use uri: https://management.azure.com/subscriptions/S/x.";

std::string absent_code(const step& s) {
  if (s.object == "resource-group" || (s.what == call::write && s.method == "PUT")) {
    return s.object == "subnet" ? "ParentResourceNotFound" : "ResourceGroupNotFound";
  }
  return s.what == call::monitor ? "NotFound" : "ResourceNotFound";
}

class collector {
public:
  explicit collector(const step& s) : s_(s) {}

  void transport() {
    add({"cut_before", "cut_before", json("cut"), false});
    if (s_.what != call::read && s_.what != call::list && s_.what != call::monitor) {
      add({"cut_after", "cut_after", json("cut"), true});
    }
    add({"truncated", "truncated", json("truncate"), true});
    add({"500", "5xx", answer(500, arm_error("InternalServerError", "An error has occurred."))});
    add(
        {"502_html",
         "502_html",
         json::object(
             {{"status", 502},
              {"headers", json::object({{"Content-Type", "text/html"}})},
              {"body", "<html><body><h1>502 Bad Gateway</h1></body></html>"}}
         )}
    );
    add({"503", "5xx", answer(503, arm_error("ServerTimeout", "The request timed out."))});
    add(
        {"504_after",
         "504_after",
         answer(504, arm_error("GatewayTimeout", "The gateway did not receive a response.")),
         true}
    );
    add({"wrong_types", "wrong_types", answer(200, wrong_types()), true});
  }

  void throttling() {
    const json body =
        arm_error("SubscriptionRequestsThrottled", "Number of requests for subscription exceeded.");
    const auto form = [&](const char* name, json headers) {
      const std::string word(name);
      const bool timed = word != "zero" && word != "missing";
      add({"429_" + word, timed ? "429_timed" : "429_untimed", answer(429, body, headers)});
    };
    form("seconds", json::object({{"Retry-After", "1"}}));
    form("zero", json::object({{"Retry-After", "0"}}));
    form("date", json::object({{"Retry-After", http_date_soon()}}));
    form("missing", json::object());
    form("ms", json::object({{"retry-after-ms", "40"}}));
    form("x_ms", json::object({{"x-ms-retry-after-ms", "40"}}));
  }

  void refusals_of_arm() {
    add(
        {"401_expired",
         "401_expired",
         answer(
             401,
             arm_error(
                 "ExpiredAuthenticationToken", "The access token expiry UTC time is in the past."
             )
         )}
    );
    fault forbidden{"403", "403", answer(403, arm_error("AuthorizationFailed", not_allowed_text))};
    forbidden.end = ending::either;
    forbidden.code = "AuthorizationFailed";
    add(forbidden);
    fault absent{
        "404_once",
        "404_once",
        answer(404, arm_error(absent_code(s_), "The resource could not be found."))};
    if (s_.object == "image" || s_.object == "catalogue") {
      absent.end = ending::either; // there "not found" is an answer, not a trouble
    }
    add(absent);
    if (s_.what == call::write) {
      add({"409_busy", "409_busy", answer(409, arm_error("AnotherOperationInProgress", busy_text))}
      );
      add(
          {"412",
           "412",
           answer(
               412,
               arm_error("PreconditionFailed", "The condition given in the request was not met.")
           )}
      );
    }
  }

  // Once, and for no good reason: what was carried out in the cloud is told again later.
  void refusals_of_waldur() {
    const auto once = [&](const char* name, const char* family, int status, const char* detail) {
      add({name, family, answer(status, json::object({{"detail", detail}}))});
    };
    once("400", "400", 400, "Invalid.");
    once("401", "401_expired", 401, "Invalid token.");
    once("403", "403", 403, "You do not have permission to perform this action.");
    once("404", "404_once", 404, "Not found.");
    once("409", "409_busy", 409, "Order state is not valid for this operation.");
    once("412", "412", 412, "Precondition failed.");
  }

  void operations() {
    if (!s_.starts_operation) {
      return;
    }
    const bool machine = s_.object == "virtual-machine" && s_.op == operation::create;
    const auto ends = [&](const char* name, const char* word, const char* code, ending end) {
      json what = json::object({{"operation", word}});
      if (*code != '\0') {
        what.set("code", code);
      }
      fault f{name, name, what};
      f.end = end;
      add(f);
    };
    // A machine is never made twice: a create that Azure gave up is refused.
    ends("canceled", "Canceled", "", machine ? ending::either : ending::finishes);
    ends(
        "superseded",
        "Canceled",
        "CanceledAndSupersededDueToAnotherOperation",
        machine ? ending::either : ending::finishes
    );
    ends("stuck", "stuck", "", ending::overdue);
  }

  // An operation that ends as Failed with that code.
  void failed(const char* family, const char* code, ending end) {
    if (s_.starts_operation) {
      fault f{
          std::string("failed_") + code,
          std::string("failed_") + family,
          json::object({{"operation", "Failed"}, {"code", code}})};
      f.end = end;
      f.code = code;
      add(f);
    }
  }

  // A write that is answered with that code, as long as it is tried.
  void refused(
      const char* family, int status, const char* code, ending end, std::string_view text = "No."
  ) {
    fault f{
        std::string("refused_") + code,
        std::string("refused_") + family,
        answer(status, arm_error(code, text))};
    f.end = end;
    f.code = code;
    f.lasting = end == ending::refused || end == ending::waits;
    if (std::string_view(code) == "OperationNotAllowed") {
      f.name += std::string("_") + family;
    }
    add(f);
  }

  std::vector<fault> take() { return std::move(out_); }

private:
  void add(fault f) { out_.push_back(std::move(f)); }

  const step& s_;
  std::vector<fault> out_;
};

void create_codes(collector& out, const std::string& object) {
  out.refused("forever", 403, "RequestDisallowedByPolicy", ending::refused);
  out.refused("lock", 409, "ScopeLocked", ending::refused);
  out.refused("forever", 400, "LocationNotAvailableForResourceType", ending::refused);
  out.refused("subscription", 409, "ReadOnlyDisabledSubscription", ending::waits);
  out.refused("subscription", 409, "MissingSubscriptionRegistration", ending::waits);
  out.refused("busy", 409, "Conflict", ending::finishes);
  out.refused("busy", 409, "OperationPreempted", ending::finishes);
  if (object == "resource-group") {
    out.refused("quota", 409, "ResourceGroupQuotaExceeded", ending::refused);
    out.refused("busy", 409, "ResourceGroupBeingDeleted", ending::finishes);
  } else if (object == "virtual-network") {
    out.refused("quota", 400, "VirtualNetworkCountLimitReached", ending::refused);
  } else if (object == "public-ip-address") {
    out.refused("quota", 400, "PublicIPCountLimitReached", ending::refused);
  } else if (object == "network-security-group") {
    out.refused("quota", 400, "NetworkSecurityGroupCountLimitReached", ending::refused);
  } else if (object == "network-interface") {
    out.refused("quota", 400, "NetworkInterfaceCountLimitReached", ending::refused);
    out.refused("quota", 400, "SubnetIsFull", ending::refused);
    out.refused("busy", 400, "InvalidResourceReference", ending::finishes);
    out.refused("busy", 429, "RetryableError", ending::finishes);
  }
  if (object != "virtual-machine") {
    out.failed("internal", "InternalExecutionError", ending::finishes);
    out.failed("internal", "NetworkingInternalOperationError", ending::finishes);
  }
}

void create_machine_codes(collector& out) {
  out.refused("quota", 409, "OperationNotAllowed", ending::refused, quota_text);
  out.refused("quota", 409, "QuotaExceeded", ending::refused, quota_text);
  for (const char* code : {"SkuNotAvailable", "AllocationFailed"}) {
    out.refused("capacity", 409, code, ending::refused);
  }
  for (const char* code :
       {"InvalidParameter", "BadRequest", "NetworkNotFound", "InvalidResourceLocation"}) {
    out.refused("forever", 400, code, ending::refused);
  }
  for (const char* code :
       {"ImageNotFound", "PlatformImageNotFound", "GalleryImageNotFound", "NotFound"}) {
    out.refused("forever", 404, code, ending::refused);
  }
  out.refused("forever", 403, "SubscriptionNotAuthorizedForImage", ending::refused);
  for (const char* code :
       {"VMMarketplaceInvalidInput",
        "MarketplacePurchaseEligibilityFailed",
        "ResourcePurchaseValidationFailed"}) {
    out.refused("forever", 400, code, ending::refused);
  }
  out.refused("busy", 400, "NicReservedForAnotherVm", ending::finishes);
  for (const char* code :
       {"AllocationFailed",
        "ZonalAllocationFailed",
        "OverconstrainedAllocationRequest",
        "OverconstrainedZonalAllocationRequest"}) {
    out.failed("capacity", code, ending::refused);
  }
  out.failed("first_boot", "OSProvisioningTimedOut", ending::either);
  for (const char* code :
       {"OSProvisioningClientError", "OSProvisioningInternalError", "VMStartTimedOut"}) {
    out.failed("first_boot", code, ending::refused);
  }
  for (const char* code : {"VMAgentStatusCommunicationError", "VMExtensionProvisioningError"}) {
    out.failed("first_boot", code, ending::either);
  }
  for (const char* code :
       {"DiskProcessingError",
        "DiskImageNotReady",
        "DiskPreparationError",
        "DiskEncryptionInternalError"}) {
    out.failed("internal", code, ending::either);
  }
  for (const char* code :
       {"InternalExecutionError",
        "InternalOperationError",
        "NetworkingInternalOperationError",
        "StorageInternalError",
        "OperationPreempted"}) {
    out.failed("internal", code, ending::either);
  }
}

void delete_codes(collector& out, const std::string& object) {
  out.failed("internal", "InternalExecutionError", ending::finishes);
  out.failed("internal", "OperationPreempted", ending::finishes);
  // A subnet goes with its network.
  out.refused("lock", 409, "ScopeLocked", object == "subnet" ? ending::finishes : ending::waits);
  if (object == "resource-group") {
    out.failed("internal", "ResourceGroupDeletionBlocked", ending::finishes);
    out.failed("internal", "ResourceGroupDeletionTimeout", ending::finishes);
    out.refused("busy", 409, "CannotDeleteResource", ending::finishes);
  } else if (object == "virtual-machine") {
    out.refused(
        "busy",
        409,
        "OperationNotAllowed",
        ending::finishes,
        "A power state change operation is in progress."
    );
  } else if (object == "network-interface") {
    out.refused("busy", 400, "NicInUse", ending::finishes);
    out.refused("busy", 400, "NicReservedForAnotherVm", ending::finishes);
  } else if (object == "public-ip-address") {
    out.refused("busy", 400, "PublicIPAddressCannotBeDeleted", ending::finishes);
  } else if (object == "subnet") {
    out.refused("busy", 400, "InUseSubnetCannotBeDeleted", ending::finishes);
  } else if (object == "network-security-group") {
    out.refused("busy", 400, "InUseNetworkSecurityGroupCannotBeDeleted", ending::finishes);
  } else if (object == "virtual-network") {
    out.refused("busy", 409, "CannotDeleteResource", ending::finishes);
  }
}

void power_codes(collector& out, operation op) {
  out.failed("internal", "InternalExecutionError", ending::finishes);
  out.failed("internal", "OperationPreempted", ending::finishes);
  out.refused(
      "busy",
      409,
      "OperationNotAllowed",
      ending::finishes,
      "A power state change operation is in progress."
  );
  if (op == operation::pause) {
    return;
  }
  out.failed("capacity", "AllocationFailed", ending::finishes);
  out.failed("capacity", "ZonalAllocationFailed", ending::finishes);
  out.failed("first_boot", "VMStartTimedOut", ending::either);
  out.refused("capacity", 409, "AllocationFailed", ending::waits);
  out.refused("capacity", 409, "SkuNotAvailable", ending::waits);
  out.refused("quota", 409, "OperationNotAllowed", ending::either, quota_text);
}

} // namespace

std::vector<fault> faults_at(const step& s) {
  collector out(s);
  out.transport();
  out.throttling();
  if (s.what == call::record) {
    out.refusals_of_waldur();
    return out.take();
  }
  if (s.what == call::login) {
    return out.take();
  }
  out.refusals_of_arm();
  if (s.what != call::write) {
    return out.take();
  }
  out.operations();
  if (s.method == "PUT") {
    create_codes(out, s.object);
    if (s.object == "virtual-machine") {
      create_machine_codes(out);
    }
  } else if (s.method == "DELETE") {
    delete_codes(out, s.object);
  } else {
    power_codes(out, s.op);
  }
  return out.take();
}

json fault::rule(const step& s, unsigned nth) const {
  return json::object(
      {{"match",
        json::object(
            {{"method", s.method}, {"path", s.path}, {"nth", nth}, {"times", lasting ? 0 : 1}}
        )},
       {"when", after ? "after" : "before"},
       {"do", what}}
  );
}

} // namespace siteagent::integration::matrix
