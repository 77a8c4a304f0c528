// SPDX-License-Identifier: MIT
// Terms of marketplace images: read, accepted, withdrawn per subscription.
#include "handlers.hpp"

#include "core/base/text.hpp"

namespace siteagent::azure_emulator {

using base::equals_ignoring_case;
using base::json;

namespace {

struct plan_name {
  std::string publisher;
  std::string offer;
  std::string plan;

  std::string key() const { return base::to_lower(publisher + ":" + offer + ":" + plan); }
};

bool is_sold(const world& w, const plan_name& p) {
  for (const auto* list : {&w.offer.images, &w.offer.own_images}) {
    for (const auto& image : *list) {
      if (equals_ignoring_case(image.plan["publisher"].string_or(""), p.publisher) &&
          equals_ignoring_case(image.plan["product"].string_or(""), p.offer) &&
          equals_ignoring_case(image.plan["name"].string_or(""), p.plan)) {
        return true;
      }
    }
  }
  return false;
}

json agreement(const context& c, const plan_name& p) {
  const auto& accepted = c.world.behaviour.accepted_terms;
  const bool is_accepted = accepted.count("*") != 0 || accepted.count(p.key()) != 0;
  const std::string terms = "https://mpcprodsa.blob.core.windows.net/legalterms/" + p.publisher +
                            "/" + p.offer + "/" + p.plan + ".txt";
  return json::object(
      {{"id",
        "/subscriptions/" + c.subscription_id() +
            "/providers/Microsoft.MarketplaceOrdering/offertypes/virtualmachine/publishers/" +
            p.publisher + "/offers/" + p.offer + "/plans/" + p.plan + "/agreements/current"},
       {"name", p.plan},
       {"type", "Microsoft.MarketplaceOrdering/offertypes"},
       {"properties",
        json::object(
            {{"publisher", p.publisher},
             {"product", p.offer},
             {"plan", p.plan},
             {"licenseTextLink", terms},
             {"privacyPolicyLink", terms},
             {"retrieveDatetime", compute_time(c.now())},
             {"signature", "EMULATED"},
             {"accepted", is_accepted}}
        )}}
  );
}

} // namespace

// segments: "offerTypes/virtualmachine/publishers/P/offers/O/plans/S/agreements/current", or
// "agreements/P/offers/O/plans/S[/sign|/cancel]"
std::optional<reply> route_marketplace(context& c, const std::vector<std::string>& segments) {
  const auto at = [&](std::size_t i) { return i < segments.size() ? segments[i] : std::string(); };
  const auto is = [&](std::size_t i, std::string_view word) {
    return equals_ignoring_case(at(i), word);
  };
  const std::string& method = c.http.method;
  plan_name p;
  std::optional<bool> accept;
  if (segments.size() == 10 && is(0, "offerTypes") && is(2, "publishers") && is(4, "offers") &&
      is(6, "plans") && is(8, "agreements")) {
    p = {at(3), at(5), at(7)};
    if (method == "PUT") {
      accept = c.body.at({"properties", "accepted"}).boolean().value_or(false);
    } else if (method != "GET") {
      return std::nullopt;
    }
  } else if (segments.size() >= 6 && is(0, "agreements") && is(2, "offers") && is(4, "plans")) {
    p = {at(1), at(3), at(5)};
    const bool posts = method == "POST" && segments.size() == 7;
    if (posts && (is(6, "sign") || is(6, "cancel"))) {
      accept = is(6, "sign");
    } else if (method != "GET" || segments.size() != 6) {
      return std::nullopt;
    }
  } else {
    return std::nullopt;
  }
  if (!is_sold(c.world, p)) {
    return error_reply(
        400,
        {"BadRequest",
         "Offer with PublisherId: " + p.publisher + ", OfferId: " + p.offer + " not found."}
    );
  }
  auto& accepted = c.world.behaviour.accepted_terms;
  if (accept && *accept) {
    accepted.insert(p.key());
  } else if (accept) {
    accepted.erase(p.key());
  }
  return json_reply(200, agreement(c, p));
}

} // namespace siteagent::azure_emulator
