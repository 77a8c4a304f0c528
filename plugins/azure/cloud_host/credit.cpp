// SPDX-License-Identifier: MIT
#include "plugins/azure/cloud_host/credit.hpp"

#include "core/base/clock.hpp"
#include "core/base/decimal.hpp"
#include "core/base/text.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/error_map.hpp"

#include <algorithm>
#include <array>

namespace siteagent::azure::cloud_host {

namespace {

using base::json;

constexpr std::string_view consumption_version = "2024-08-01";
constexpr std::string_view billing_version = "2024-04-01";
constexpr std::array<std::string_view, 2> with_credit{
    "MicrosoftCustomerAgreement", "EnterpriseAgreement"};

// Account ids hold colons, which the service wants as they are.
std::string path_part(std::string_view text) {
  std::string out;
  for (const auto part : base::split(text, ':')) {
    out += (out.empty() ? "" : ":") + net::encode(part);
  }
  return out;
}

std::string account_path(const billing_settings& b) {
  return "/providers/Microsoft.Billing/billingAccounts/" + path_part(b.account);
}

struct credit_scope {
  std::string name; // for people and the answer
  std::string path;
};

std::optional<credit_scope> scope_of(const billing_settings& b) {
  const std::string profiles = account_path(b) + "/billingProfiles/";
  const auto consumption = [](std::string_view what) {
    return "/providers/Microsoft.Consumption/" + std::string(what) +
           "?api-version=" + std::string(consumption_version);
  };
  if (!b.account.empty() && !b.profile_system_id.empty()) {
    return credit_scope{
        "credit of billing profile " + b.profile_system_id,
        profiles + path_part(b.profile_system_id) + consumption("credits/balanceSummary")};
  }
  if (!b.account.empty() && !b.profile.empty()) {
    return credit_scope{
        "available balance of billing profile " + b.profile,
        profiles + path_part(b.profile) +
            "/availableBalance/default?api-version=" + std::string(billing_version)};
  }
  if (!b.account.empty()) {
    return credit_scope{
        "balance of billing account " + b.account, account_path(b) + consumption("balances")};
  }
  if (!b.subscription_id.empty()) {
    return credit_scope{
        "balance of subscription " + b.subscription_id,
        "/subscriptions/" + path_part(b.subscription_id) + consumption("balances")};
  }
  return std::nullopt;
}

// A number, the same as text, or an object with it as "value".
std::optional<std::string> figure(const json& node) {
  const json& value = node.is_object() ? node["value"] : node;
  const auto text = value.number_text();
  const auto number = text ? base::decimal::parse(base::trim(*text)) : std::nullopt;
  return number ? std::optional(number->to_string()) : std::nullopt;
}

std::optional<std::string> first_figure(std::initializer_list<const json*> nodes) {
  for (const json* node : nodes) {
    if (auto found = figure(*node)) {
      return found;
    }
  }
  return std::nullopt;
}

std::string currency_of(const json& p) {
  const json& own = p.at({"balanceSummary", "currentBalance"});
  for (const json* node :
       {&p["creditCurrency"],
        &p["billingCurrency"],
        &own["currency"],
        &p["amount"]["currency"],
        &p["availableBalance"]["currency"],
        &p["currency"]}) {
    if (const std::string text = node->string_or(""); !text.empty()) {
      return text;
    }
  }
  return "";
}

base::error no_figure(const std::string& scope, const std::string& what) {
  return make_error(
      reason::invalid,
      base::error_code::permanent,
      "read the " + scope + ": the answer holds no " + what + "; nothing is rented without it"
  );
}

json unreported(const credit_scope& where, const std::string& why, base::wall_time now) {
  return json::object(
      {{"reported", false},
       {"reason", why},
       {"scope", where.name},
       {"read_at", base::to_rfc3339(now)}}
  );
}

// An account of a kind that has no credit API answers in many ways; its own words decide.
base::result<json> explain_refusal(
    const services& billing,
    const arm::scope& call,
    const billing_settings& b,
    const credit_scope& where,
    base::error refusal
) {
  const bool about_kind = refusal.http_status == 400 || refusal.http_status == 404;
  if (b.account.empty() || !about_kind) {
    return refusal;
  }
  const auto account = billing.arm().read(
      call,
      account_path(b) + "?api-version=" + std::string(billing_version),
      "read billing account " + b.account
  );
  if (!account) {
    return refusal;
  }
  const std::string kind = account->body.at({"properties", "agreementType"}).string_or("");
  const bool known = std::any_of(with_credit.begin(), with_credit.end(), [&](auto k) {
    return base::equals_ignoring_case(k, kind);
  });
  if (kind.empty() || known) {
    return refusal;
  }
  return unreported(
      where, "this agreement (" + kind + ") has no credit API", billing.clock().wall()
  );
}

} // namespace

base::result<json>
read_credit(const services& billing, const arm::scope& call, const billing_settings& b) {
  const auto where = scope_of(b);
  if (!where) {
    return make_error(
        reason::invalid,
        base::error_code::invalid,
        "read the credit: the stored billing credential names no scope; it needs billing_account "
        "with billing_profile_system_id or billing_profile, billing_account alone for an "
        "enrollment, or subscription_id"
    );
  }
  auto answer = billing.arm().read(call, where->path, "read the " + where->name);
  if (!answer) {
    base::error e = std::move(answer).error();
    if (e.code == base::error_code::not_found) {
      e.code = base::error_code::permanent;
    }
    return explain_refusal(billing, call, b, *where, std::move(e));
  }
  const base::wall_time now = billing.clock().wall();
  if (answer->status == 204) {
    return unreported(*where, "Azure reports no credit there (HTTP 204)", now);
  }
  const json& body = answer->body;
  const json& p = body["properties"].is_object() ? body["properties"] : body;
  const auto current = first_figure(
      {&p.at({"balanceSummary", "currentBalance"}),
       &p["amount"],
       &p["availableBalance"],
       &p["endingBalance"]}
  );
  const auto estimated = figure(p.at({"balanceSummary", "estimatedBalance"}));
  const std::string currency = currency_of(p);
  if (!current && !estimated) {
    return no_figure(where->name, "figure");
  }
  if (currency.empty()) {
    return no_figure(where->name, "currency");
  }
  json out = json::object({{"reported", true}});
  if (current) {
    out.set("current", *current);
  }
  if (estimated) {
    out.set("estimated", *estimated);
  }
  out.set("currency", currency);
  out.set("scope", where->name);
  out.set("read_at", base::to_rfc3339(now));
  return out;
}

} // namespace siteagent::azure::cloud_host
