// SPDX-License-Identifier: MIT
#include "plugins/azure/clients/prices.hpp"

#include "core/net/retry.hpp"
#include "core/net/url.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/naming.hpp"

#include <algorithm>
#include <set>

namespace siteagent::azure {

namespace {

using arm::milliseconds;

constexpr std::string_view what = "read the list prices";
constexpr milliseconds one_exchange{30'000};
constexpr unsigned attempts = 3;
constexpr std::size_t most_pages = 1'000;

base::error unreadable(const std::string& why) {
  return make_error(reason::ambiguous, base::error_code::transient, std::string(what) + ": " + why);
}

// An OData condition; quotes are doubled.
std::string equal(std::string_view field, std::string_view value) {
  std::string out = std::string(field) + " eq '";
  for (const char c : value) {
    out += c;
    if (c == '\'') {
      out += c;
    }
  }
  return out + "'";
}

// Values are compared with their case by the service.
std::string filter_of(std::string_view service, std::string_view location) {
  return equal("serviceName", service) + " and " + equal("priceType", "Consumption") + " and " +
         equal("armRegionName", location);
}

} // namespace

base::result<net::response>
price_client::attempt(const arm::scope& call, const std::string& url) const {
  milliseconds held{0};
  {
    const std::lock_guard guard(mutex_);
    held = std::chrono::ceil<milliseconds>(not_before_ - o_.clock->steady());
  }
  if (held > milliseconds(0)) {
    base::error e =
        unreadable("too many questions; next try in " + std::to_string(held.count()) + " ms");
    e.retry_after = held;
    return e;
  }
  net::request r;
  r.url = url;
  r.headers = {{"Accept", "application/json"}};
  r.deadline = std::min(one_exchange, call.remaining());
  r.stop_requested = [&call] { return call.should_stop(); };
  auto answer = o_.transport->perform(r);
  if (answer && answer->status == 429) {
    const milliseconds pause = net::retry_after(*answer, o_.clock->wall()).value_or(o_.floor * 30);
    const std::lock_guard guard(mutex_);
    not_before_ = std::max(not_before_, o_.clock->steady() + pause);
  }
  return answer;
}

base::result<base::json> price_client::page(const arm::scope& call, const std::string& url) const {
  const net::backoff pause{o_.floor, o_.floor * 10};
  for (unsigned tried = 0;; ++tried) {
    if (auto go_on = call.check(); !go_on) {
      return base::with_context(go_on.error(), what);
    }
    auto answer = attempt(call, url);
    base::error failure;
    bool passing = true;
    if (answer && answer->status == 200) {
      auto body = base::json::parse(answer->body);
      if (body && (*body)["Items"].is_array()) {
        return std::move(*body);
      }
      failure = unreadable("the answer of " + o_.origin + " holds no rows");
    } else if (answer) {
      failure = unreadable(o_.origin + " answers HTTP " + std::to_string(answer->status));
      failure.http_status = answer->status;
      passing = net::is_transient_status(answer->status) && answer->status != 429;
    } else {
      failure = answer.error();
      passing = failure.code == base::error_code::transient && !failure.retry_after;
    }
    if (!passing || tried + 1 >= attempts) {
      return failure.message.rfind(what, 0) == 0 ? failure : base::with_context(failure, what);
    }
    if (auto slept = call.wait(pause.delay(tried, net::random_jitter())); !slept) {
      return base::with_context(slept.error(), what);
    }
  }
}

base::result<prices_by_name> price_client::query(
    const arm::scope& call, const std::string& filter, std::string_view location, row_reader add
) const {
  const auto ours = net::parse_url(o_.origin);
  if (!ours) {
    return make_error(
        reason::configuration,
        base::error_code::not_ready,
        std::string(what) + ": this cloud has no public price list; set cloud.prices"
    );
  }
  prices_by_name out;
  std::set<std::string> seen;
  std::string next = o_.origin + "/api/retail/prices?api-version=2023-01-01-preview&currencyCode=" +
                     net::encode("'" + o_.currency + "'") + "&$filter=" + net::encode(filter);
  while (!next.empty()) {
    if (!seen.insert(next).second || seen.size() > most_pages) {
      return unreadable("the pages of " + o_.origin + " have no end");
    }
    auto answer = page(call, next);
    if (!answer) {
      return answer.error();
    }
    for (const base::json& row : (*answer)["Items"].items()) {
      if (normal_location(row["armRegionName"].string_or("")) == location) {
        add(out, row, o_.currency);
      }
    }
    next = (*answer)["NextPageLink"].string_or("");
    const auto link = net::parse_url(next);
    if (!next.empty() && (!link || !(link->origin == ours->origin))) {
      return unreadable(o_.origin + " handed out a link to another host");
    }
  }
  return out;
}

base::result<prices_by_name>
price_client::machines(const arm::scope& call, std::string_view location) const {
  return query(call, filter_of("Virtual Machines", location), location, add_machine_hour);
}

base::result<prices_by_name> price_client::machine(
    const arm::scope& call, std::string_view location, std::string_view size
) const {
  return query(
      call,
      filter_of("Virtual Machines", location) + " and " + equal("armSkuName", size),
      location,
      add_machine_hour
  );
}

base::result<prices_by_name> price_client::disks(
    const arm::scope& call, std::string_view location, std::string_view product
) const {
  return query(
      call,
      filter_of("Storage", location) + " and " + equal("productName", product),
      location,
      add_disk_month
  );
}

base::result<prices_by_name>
price_client::addresses(const arm::scope& call, std::string_view location) const {
  return query(
      call,
      filter_of("Virtual Network", location) + " and " + equal("productName", "IP Addresses"),
      location,
      add_address_hour
  );
}

} // namespace siteagent::azure
