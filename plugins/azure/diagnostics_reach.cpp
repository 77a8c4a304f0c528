// SPDX-License-Identifier: MIT
// The resource manager before any credentials: reachability, clocks, the subscription's tenant.
#include "plugins/azure/diagnostics.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/arm/error_body.hpp"

#include <algorithm>

namespace siteagent::azure {

namespace {

using std::chrono::seconds;

constexpr std::string_view subscriptions_version = "2022-12-01";
constexpr arm::milliseconds longest_wait{20'000};
// Beyond this Azure takes tokens for not yet valid or for expired.
constexpr seconds tolerated_skew{300};

check_result check_clock(const net::response& answer, const base::clock& clock) {
  const auto date = answer.header("date");
  const auto theirs = date ? base::parse_http_date(*date) : std::nullopt;
  if (!theirs) {
    return {"clock", true, "not compared: the answer carried no date"};
  }
  const auto ahead = std::chrono::duration_cast<seconds>(clock.wall() - *theirs);
  const seconds apart = ahead < seconds(0) ? -ahead : ahead;
  if (apart <= tolerated_skew) {
    return {"clock", true, std::to_string(apart.count()) + " s apart from Azure's"};
  }
  return {
      "clock",
      false,
      "this machine's clock is " + std::to_string(apart.count()) + " s " +
          (ahead > seconds(0) ? "ahead of" : "behind") +
          " Azure's, so tokens and certificates are refused; synchronise it (chronyd, "
          "systemd-timesyncd)"};
}

// "…" of authorization_uri="https://login…/<tenant>" in a challenge; "": none.
std::string tenant_of(const net::response& answer) {
  const std::string challenge(answer.header("www-authenticate").value_or(""));
  constexpr std::string_view key = "authorization_uri=\"";
  const auto at = challenge.find(key);
  if (at == std::string::npos) {
    return "";
  }
  const auto from = at + key.size();
  std::string uri = challenge.substr(from, challenge.find('"', from) - from);
  while (!uri.empty() && uri.back() == '/') {
    uri.pop_back();
  }
  return uri.substr(uri.rfind('/') + 1);
}

check_result check_tenant(const std::string& owner, const settings& s) {
  const auto theirs = base::uuid::parse(owner);
  const auto ours = base::uuid::parse(s.tenant_id);
  if (!theirs || !ours) {
    // A tenant may also be named by a domain; then only the token endpoint can tell.
    return {"tenant", true, "subscription belongs to tenant " + owner};
  }
  if (*theirs == *ours) {
    return {"tenant", true, owner + " owns the subscription"};
  }
  return {
      "tenant",
      false,
      "subscription " + s.subscription_id + " belongs to tenant " + owner + ", but tenant_id is " +
          s.tenant_id + "; set tenant_id to " + owner + " and use an application of that tenant"};
}

} // namespace

first_contact greet(const services& cloud, const settings& s, const arm::scope& call) {
  const arm::pipeline_options& o = cloud.arm().options();
  const auto origin = net::parse_url(o.resource_manager);
  const std::string name =
      "resource manager " + (origin ? origin->origin.text() : o.resource_manager);
  net::request r;
  r.url = o.resource_manager + "/subscriptions/" + net::encode(s.subscription_id) +
          "?api-version=" + std::string(subscriptions_version);
  r.headers = {{"Accept", "application/json"}};
  r.deadline = std::min(longest_wait, call.remaining());
  r.stop_requested = [&call] { return call.should_stop(); };
  const auto answer = o.transport->perform(r);
  first_contact out;
  if (!answer) {
    out.checks.push_back(
        {name, false, answer.error().message + "; correct cloud.resource_manager or the network"}
    );
    return out;
  }
  const arm::error_body body = arm::parse_error(answer->status, std::string_view(answer->body));
  const bool unknown = body.find("SubscriptionNotFound") != nullptr;
  const bool asked_for_token = answer->status == 401;
  out.reached = asked_for_token || unknown;
  if (!out.reached) {
    out.checks.push_back(
        {name,
         false,
         "answers HTTP " + std::to_string(answer->status) +
             " where a token is asked for (401) was due; " +
             (answer->status == 429 || answer->status >= 500
                  ? "try again later, or check the proxy"
                  : "check that cloud.resource_manager is an Azure Resource Manager")}
    );
    // A passing fault or a proxy: the others may still learn something.
    out.reached = answer->status == 429 || answer->status >= 500;
    return out;
  }
  out.checks.push_back({name, true, "answers"});
  out.checks.push_back(check_clock(*answer, cloud.clock()));
  if (unknown) {
    out.checks.push_back(
        {"tenant",
         false,
         "this cloud knows no subscription " + s.subscription_id +
             "; check subscription_id, and cloud.resource_manager for another cloud"}
    );
  } else if (const std::string owner = tenant_of(*answer); !owner.empty()) {
    out.checks.push_back(check_tenant(owner, s));
  }
  return out;
}

} // namespace siteagent::azure
