// SPDX-License-Identifier: MIT
#include "billing.hpp"

#include "permissions.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::error;
using base::error_code;
using base::json;
using base::result;

namespace {

error wrong(const std::string& why) {
  return {error_code::invalid, "seed: billing: " + why};
}

result<void> check_keys(const json& object, std::initializer_list<std::string_view> known) {
  for (const auto& [key, value] : object.members()) {
    if (std::find(known.begin(), known.end(), key) == known.end()) {
      return wrong("unknown key " + key);
    }
  }
  return {};
}

result<void> check_account(const json& a) {
  if (auto ok = check_keys(
          a,
          {"name",
           "display_name",
           "agreement",
           "account_type",
           "status",
           "access",
           "profiles",
           "balances",
           "lots",
           "events"}
      );
      !ok) {
    return ok;
  }
  const std::string access = a["access"].string_or("full");
  if (a["name"].string_or("").empty() ||
      (access != "full" && access != "denied" && access != "hidden")) {
    return wrong("an account needs a name; its access is full, denied or hidden");
  }
  for (const auto& p : a["profiles"].items()) {
    if (auto ok = check_keys(
            p,
            {"name",
             "display_name",
             "currency",
             "spending_limit",
             "status",
             "credit",
             "available",
             "lots",
             "events"}
        );
        !ok) {
      return ok;
    }
    if (p["name"].string_or("").empty()) {
      return wrong("a profile needs a name");
    }
  }
  return {};
}

} // namespace

result<json> read_billing(const json& value) {
  if (!value.is_object()) {
    return wrong("must be an object");
  }
  if (auto ok = check_keys(value, {"accounts", "costs"}); !ok) {
    return ok.error();
  }
  for (const auto& a : value["accounts"].items()) {
    if (auto ok = check_account(a); !ok) {
      return ok.error();
    }
  }
  return value;
}

namespace {

constexpr std::string_view root = "/providers/Microsoft.Billing/billingAccounts";

// Money is a JSON number with a fraction, as the service writes it.
json amount(const json& value, const std::string& currency) {
  std::string text(value.number_text().value_or("0"));
  if (text.find('.') == std::string::npos) {
    text += ".0";
  }
  return json::object({{"currency", currency}, {"value", json::number(text)}});
}

json plain_amount(const json& value) {
  return amount(value, "")["value"];
}

std::string account_id(const json& a) {
  return std::string(root) + "/" + a["name"].string_or("");
}

std::string profile_id(const json& a, const json& p) {
  return account_id(a) + "/billingProfiles/" + p["name"].string_or("");
}

std::string agreement_of(const json& a) {
  return a["agreement"].string_or("MicrosoftCustomerAgreement");
}

json account_body(const json& a) {
  return json::object(
      {{"id", account_id(a)},
       {"name", a["name"]},
       {"type", "Microsoft.Billing/billingAccounts"},
       {"properties",
        json::object(
            {{"displayName", a["display_name"].string_or("Emulated account")},
             {"agreementType", agreement_of(a)},
             {"accountType", a["account_type"].string_or("Enterprise")},
             {"accountStatus", a["status"].string_or("Active")},
             {"hasReadAccess", true}}
        )}}
  );
}

json profile_body(const json& a, const json& p) {
  return json::object(
      {{"id", profile_id(a, p)},
       {"name", p["name"]},
       {"type", "Microsoft.Billing/billingAccounts/billingProfiles"},
       {"properties",
        json::object(
            {{"displayName", p["display_name"].string_or("Emulated profile")},
             {"currency", p["currency"].string_or("USD")},
             {"spendingLimit", p["spending_limit"].string_or("Off")},
             {"status", p["status"].string_or("Active")}}
        )}}
  );
}

reply not_found(const context& c) {
  return error_reply(404, {"NotFound", "The resource '" + c.http.path + "' was not found."});
}

reply balance_summary(const json& a, const json& p) {
  const auto& credit = p["credit"];
  if (!credit.is_object()) {
    return empty_reply(204);
  }
  const std::string currency = p["currency"].string_or("USD");
  const auto& current = credit["current"].is_null() ? credit["estimated"] : credit["current"];
  return json_reply(
      200,
      json::object(
          {{"id", profile_id(a, p) + "/providers/Microsoft.Consumption/credits/balanceSummary1"},
           {"name", "balanceSummary1"},
           {"type", "Microsoft.Consumption/credits/balanceSummary"},
           {"eTag", "\"1d681a8fc67f77a\""},
           {"properties",
            json::object(
                {{"creditCurrency", currency},
                 {"billingCurrency", currency},
                 {"balanceSummary",
                  json::object(
                      {{"estimatedBalance", amount(credit["estimated"], currency)},
                       {"currentBalance", amount(current, currency)}}
                  )},
                 {"pendingCreditAdjustments", amount(credit["pending_adjustments"], currency)},
                 {"expiredCredit", amount(credit["expired"], currency)},
                 {"pendingEligibleCharges", amount(credit["pending_charges"], currency)},
                 {"isEstimatedBalance", credit["is_estimated"].boolean().value_or(false)}}
            )}}
      )
  );
}

// [{"source", "original", "closed", "start", "expires", "status", "po"}]
reply lots(const std::string& scope, const json& list, const std::string& currency) {
  json value = json::array();
  for (const auto& item : list.items()) {
    const std::string name = "lot" + std::to_string(value.size() + 1);
    value.push_back(json::object(
        {{"id", scope + "/providers/Microsoft.Consumption/lots/" + name},
         {"name", name},
         {"type", "Microsoft.Consumption/lots"},
         {"properties",
          json::object(
              {{"originalAmount", amount(item["original"], currency)},
               {"closedBalance", amount(item["closed"], currency)},
               {"source", item["source"].string_or("PromotionalCredit")},
               {"startDate", item["start"].string_or("2020-01-01T00:00:00.000Z")},
               {"expirationDate", item["expires"].string_or("2099-01-01T00:00:00.000Z")},
               {"poNumber", item["po"].string_or("")},
               {"status", item["status"].string_or("Active")},
               {"creditCurrency", currency},
               {"billingCurrency", currency}}
          )}}
    ));
  }
  return json_reply(200, json::object({{"value", value}}));
}

// [{"date", "description", "charges", "closed", "type"}] between two days.
reply events(
    const context& c, const std::string& scope, const json& list, const std::string& currency
) {
  const std::string from = c.http.parameter("startDate");
  const std::string until = c.http.parameter("endDate");
  if (from.empty() || until.empty()) {
    return error_reply(
        400, {"BadRequest", "The query parameters startDate and endDate are required."}
    );
  }
  json value = json::array();
  for (const auto& item : list.items()) {
    const std::string date = item["date"].string_or("2020-01-01");
    if (date.substr(0, 10) < from.substr(0, 10) || date.substr(0, 10) > until.substr(0, 10)) {
      continue;
    }
    const std::string name = "event" + std::to_string(value.size() + 1);
    value.push_back(json::object(
        {{"id", scope + "/providers/Microsoft.Consumption/events/" + name},
         {"name", name},
         {"type", "Microsoft.Consumption/events"},
         {"properties",
          json::object(
              {{"transactionDate", date},
               {"description", item["description"].string_or("")},
               {"charges", amount(item["charges"], currency)},
               {"closedBalance", amount(item["closed"], currency)},
               {"eventType", item["type"].string_or("SettledCharges")},
               {"creditCurrency", currency},
               {"billingCurrency", currency}}
          )}}
    ));
  }
  return json_reply(200, json::object({{"value", value}}));
}

reply available_balance(const json& a, const json& p) {
  return json_reply(
      200,
      json::object(
          {{"id", profile_id(a, p) + "/availableBalance/default"},
           {"name", "default"},
           {"type", "Microsoft.Billing/billingAccounts/billingProfiles/availableBalance"},
           {"properties",
            json::object(
                {{"amount", amount(p["available"], p["currency"].string_or("USD"))},
                 {"paymentsOnAccount", json::array()},
                 {"totalPaymentsOnAccount", amount(json(), p["currency"].string_or("USD"))}}
            )}}
      )
  );
}

// The monetary commitment of an enrollment: "balances" {"currency", "beginning", ...}.
reply enrollment_balances(const context& c, const json& a) {
  const auto& b = a["balances"];
  if (!b.is_object()) {
    return not_found(c);
  }
  json properties = json::object({{"currency", b["currency"].string_or("USD")}});
  const std::pair<const char*, const char*> fields[] = {
      {"beginning", "beginningBalance"},
      {"ending", "endingBalance"},
      {"new_purchases", "newPurchases"},
      {"adjustments", "adjustments"},
      {"utilized", "utilized"},
      {"service_overage", "serviceOverage"},
      {"charges_billed_separately", "chargesBilledSeparately"},
      {"total_overage", "totalOverage"},
      {"total_usage", "totalUsage"},
      {"marketplace_charges", "azureMarketplaceServiceCharges"},
  };
  for (const auto& [seeded, shown] : fields) {
    properties.set(shown, plain_amount(b[seeded]));
  }
  properties.set("billingFrequency", "Month").set("priceHidden", false);
  return json_reply(
      200,
      json::object(
          {{"id", account_id(a) + "/providers/Microsoft.Consumption/balances/balance1"},
           {"name", "balance1"},
           {"type", "Microsoft.Consumption/balances"},
           {"properties", properties}}
      )
  );
}

using parts = std::vector<std::string>;

bool is(const parts& p, std::size_t i, std::string_view word) {
  return i < p.size() && equals_ignoring_case(p[i], word);
}

const json* named(const json& list, std::string_view name) {
  for (const auto& item : list.items()) {
    if (equals_ignoring_case(item["name"].string_or(""), name)) {
      return &item;
    }
  }
  return nullptr;
}

reply profile_answer(const context& c, const json& a, const json& p, const parts& rest) {
  const std::string currency = p["currency"].string_or("USD");
  if (rest.empty()) {
    return json_reply(200, profile_body(a, p));
  }
  if (is(rest, 0, "availableBalance") && rest.size() <= 2) {
    return available_balance(a, p);
  }
  if (!is(rest, 0, "providers") || !is(rest, 1, "Microsoft.Consumption")) {
    return not_found(c);
  }
  if (is(rest, 2, "credits") && is(rest, 3, "balanceSummary")) {
    return balance_summary(a, p);
  }
  if (is(rest, 2, "lots")) {
    return lots(profile_id(a, p), p["lots"], currency);
  }
  return is(rest, 2, "events") ? events(c, profile_id(a, p), p["events"], currency) : not_found(c);
}

// rest: the segments behind the account's name.
reply account_answer(const context& c, const json& a, const parts& rest) {
  if (rest.empty()) {
    return json_reply(200, account_body(a));
  }
  if (is(rest, 0, "billingProfiles")) {
    if (rest.size() == 1) {
      json value = json::array();
      for (const auto& p : a["profiles"].items()) {
        value.push_back(profile_body(a, p));
      }
      return json_reply(200, json::object({{"value", value}}));
    }
    const auto* p = named(a["profiles"], rest[1]);
    return p == nullptr ? not_found(c)
                        : profile_answer(c, a, *p, parts(rest.begin() + 2, rest.end()));
  }
  // One period is like the other here.
  const std::size_t at = is(rest, 0, "billingPeriods") ? 2 : 0;
  if (!is(rest, at, "providers") || !is(rest, at + 1, "Microsoft.Consumption")) {
    return not_found(c);
  }
  const std::string currency = a["balances"]["currency"].string_or("USD");
  if (is(rest, at + 2, "balances")) {
    return enrollment_balances(c, a);
  }
  if (is(rest, at + 2, "lots")) {
    return lots(account_id(a), a["lots"], currency);
  }
  return is(rest, at + 2, "events") ? events(c, account_id(a), a["events"], currency)
                                    : not_found(c);
}

reply denied(const context& c) {
  const auto target = target_of(c.http);
  return gateway_error(
      403,
      {"AuthorizationFailed",
       "The client '" + c.principal + "' with object id '" + c.principal +
           "' does not have authorization to perform action '" + target.action + "' over scope '" +
           target.scope +
           "' or the scope is invalid. If access was recently granted, please refresh your "
           "credentials."}
  );
}

bool is_listed(const context& c, const json& a) {
  return a["access"].string_or("full") == "full" &&
         may(c.world, c.principal, "Microsoft.Billing/billingAccounts/read", account_id(a), c.now()
         );
}

} // namespace

std::optional<reply> route_billing(context& c) {
  const auto& s = c.http.segments;
  if (!is(s, 0, "providers") || !is(s, 1, "Microsoft.Billing") || !is(s, 2, "billingAccounts")) {
    return std::nullopt;
  }
  if (c.http.method != "GET") {
    return gateway_error(
        405,
        {"MethodNotAllowed",
         "The HTTP method '" + c.http.method + "' is not supported at this resource."}
    );
  }
  const auto& accounts = c.world.billing["accounts"];
  if (s.size() == 3) {
    json value = json::array();
    for (const auto& a : accounts.items()) {
      if (is_listed(c, a)) {
        value.push_back(account_body(a));
      }
    }
    return json_reply(200, json::object({{"value", value}}));
  }
  const auto* a = named(accounts, s[3]);
  if (a == nullptr || (*a)["access"].string_or("full") == "hidden") {
    return not_found(c);
  }
  if ((*a)["access"].string_or("full") == "denied") {
    return denied(c);
  }
  if (auto bad = check_permission(c, target_of(c.http))) {
    return *bad;
  }
  return account_answer(c, *a, parts(s.begin() + 4, s.end()));
}

namespace {

const json& cost_of(const context& c) {
  for (const auto& item : c.world.billing["costs"].items()) {
    const std::string subscription = item["subscription"].string_or("");
    if (subscription.empty() || equals_ignoring_case(subscription, c.subscription_id())) {
      return item;
    }
  }
  return json()["none"];
}

std::optional<reply> check_query(const json& body) {
  const std::string type = body["type"].string_or("");
  const std::string frame = body["timeframe"].string_or("");
  constexpr std::string_view types[] = {"ActualCost", "AmortizedCost", "Usage"};
  constexpr std::string_view frames[] = {
      "MonthToDate", "BillingMonthToDate", "TheLastMonth", "TheLastBillingMonth", "Custom"};
  const auto known = [](const auto& list, std::string_view word) {
    return std::any_of(std::begin(list), std::end(list), [&](std::string_view item) {
      return equals_ignoring_case(item, word);
    });
  };
  std::string problem;
  if (!known(types, type)) {
    problem = "Invalid query definition: type '" + type + "' is not supported.";
  } else if (!known(frames, frame)) {
    problem = "Invalid query definition: timeframe '" + frame + "' is not supported.";
  } else if (equals_ignoring_case(frame, "Custom") && !body["timePeriod"].is_object()) {
    problem = "Invalid query definition: timePeriod is required.";
  } else if (!body["dataset"].is_object()) {
    problem = "Invalid query definition: Missing dataset.";
  }
  return problem.empty() ? std::nullopt : std::optional(error_reply(400, {"BadRequest", problem}));
}

json column(std::string_view name, std::string_view type) {
  return json::object({{"name", name}, {"type", type}});
}

} // namespace

reply query_costs(context& c) {
  if (auto bad = check_query(c.body)) {
    return *bad;
  }
  if (c.subscription->quota_id.rfind("Sponsored_", 0) == 0) {
    return error_reply(
        400, {"BadRequest", "Cost management is not supported for this type of subscription."}
    );
  }
  const auto& cost = cost_of(c);
  const auto& dataset = c.body["dataset"];
  json columns = json::array();
  json row = json::array();
  for (const auto& [alias, aggregation] : dataset["aggregation"].members()) {
    columns.push_back(column(aggregation["name"].string_or(alias), "Number"));
    row.push_back(plain_amount(cost["amount"]));
  }
  if (equals_ignoring_case(dataset["granularity"].string_or("None"), "Daily")) {
    std::string date = base::to_rfc3339(c.now()).substr(0, 10);
    date.erase(std::remove(date.begin(), date.end(), '-'), date.end());
    columns.push_back(column("UsageDate", "Number"));
    row.push_back(json::number(date));
  }
  for (const auto& group : dataset["grouping"].items()) {
    columns.push_back(column(group["name"].string_or(""), "String"));
    row.push_back("");
  }
  columns.push_back(column("Currency", "String"));
  row.push_back(cost["currency"].string_or("USD"));
  json rows = json::array();
  if (!cost.is_null()) {
    rows.push_back(row);
  }
  const std::string name = c.call.request_id;
  return json_reply(
      200,
      json::object(
          {{"id",
            "subscriptions/" + c.subscription_id() + "/providers/Microsoft.CostManagement/query/" +
                name},
           {"name", name},
           {"type", "Microsoft.CostManagement/query"},
           {"properties",
            json::object({{"nextLink", json()}, {"columns", columns}, {"rows", rows}})}}
      )
  );
}

} // namespace siteagent::azure_emulator
