// SPDX-License-Identifier: MIT
#include "prices.hpp"

#include "context.hpp"
#include "prices_filter.hpp"
#include "prices_rows.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"

#include <algorithm>

namespace siteagent::azure_emulator {

using base::decimal;
using base::equals_ignoring_case;
using base::error;
using base::error_code;
using base::json;
using base::result;

price_settings price_settings::defaults() {
  price_settings p;
  const std::pair<const char*, const char*> hourly[] = {
      {"standard_b1s", "0.012"},
      {"standard_b2s", "0.048"},
      {"standard_b2ms", "0.096"},
      {"standard_d2s_v3", "0.12"},
      {"standard_d2s_v5", "0.115"},
      {"standard_d4s_v5", "0.23"},
      {"standard_d8s_v5", "0.46"},
      {"standard_f2s_v2", "0.097"},
      {"standard_f4s_v2", "0.194"},
      {"standard_f16s_v2", "0.776"},
  };
  for (const auto& [size, price] : hourly) {
    p.hourly[size] = *decimal::parse(price);
  }
  const std::pair<const char*, const char*> rates[] = {
      {"USD", "1"}, {"EUR", "0.92"}, {"GBP", "0.79"}, {"CHF", "0.88"}, {"NOK", "10.7"}};
  for (const auto& [code, rate] : rates) {
    p.currencies[code] = *decimal::parse(rate);
  }
  p.traps = all_price_traps();
  return p;
}

decimal price_settings::hourly_of(std::string_view size, std::int64_t cores) const {
  const auto it = hourly.find(base::to_lower(size));
  return it == hourly.end() ? decimal(cores).times(*decimal::parse("0.05")).value_or(decimal(1))
                            : it->second;
}

namespace {

error wrong(const std::string& why) {
  return {error_code::invalid, "seed: prices: " + why};
}

result<void> read_decimals(std::map<std::string, decimal>& out, const json& value, bool lower) {
  for (const auto& [name, number] : value.members()) {
    const auto parsed = decimal::parse(number.number_text().value_or(""));
    if (!parsed) {
      return wrong(name + " is not a decimal number");
    }
    out[lower ? base::to_lower(name) : name] = *parsed;
  }
  return {};
}

} // namespace

result<price_settings> read_prices(const json& value) {
  auto p = price_settings::defaults();
  if (!value.is_object()) {
    return wrong("must be an object");
  }
  for (const auto& [key, part] : value.members()) {
    result<void> done;
    if (key == "hourly" && part.is_object()) {
      done = read_decimals(p.hourly, part, true);
    } else if (key == "currencies" && part.is_object()) {
      done = read_decimals(p.currencies, part, false);
    } else if (key == "traps" && part.is_array()) {
      p.traps.clear();
      for (const auto& name : part.items()) {
        p.traps.insert(name.string_or(""));
        if (all_price_traps().count(name.string_or("")) == 0) {
          return wrong("no such trap: " + name.string_or(""));
        }
      }
    } else if (key == "items" && part.is_array()) {
      p.items = part.items();
    } else if (key == "only_items" && part.is_bool()) {
      p.only_items = part.boolean().value_or(false);
    } else if (key == "page_size" && part.integer().value_or(0) > 0) {
      p.page_size = static_cast<std::size_t>(*part.integer());
    } else {
      return wrong("unknown key or wrong value: " + key);
    }
    if (!done) {
      return done.error();
    }
  }
  return p;
}

namespace {

reply bad_request(const std::string& message) {
  return json_reply(
      400, json::object({{"error", json::object({{"code", "BadRequest"}, {"message", message}})}})
  );
}

// 'EUR' with its quotes, as documented; without them it works, too.
std::string currency_of(const net::server_request& http) {
  std::string text = http.parameter("currencyCode");
  text.erase(std::remove(text.begin(), text.end(), '\''), text.end());
  return text.empty() ? "USD" : text;
}

std::size_t skip_of(const net::server_request& http) {
  std::size_t skip = 0;
  for (const char c : http.parameter("$skip")) {
    if (c < '0' || c > '9' || skip > 1'000'000) {
      return 0;
    }
    skip = skip * 10 + static_cast<std::size_t>(c - '0');
  }
  return skip;
}

std::string
next_page(const net::server_request& http, const emulators::call& call, std::size_t skip) {
  net::query_list query;
  for (const auto& [key, value] : http.parameters) {
    if (!equals_ignoring_case(key, "$skip")) {
      query.emplace_back(key, value);
    }
  }
  query.emplace_back("$skip", std::to_string(skip));
  return call.base_url + http.path + "?" + net::build_query(query);
}

} // namespace

std::optional<net::server_response>
answer_prices(const world& w, const net::server_request& http, const emulators::call& call) {
  const auto& s = http.segments;
  if (s.size() != 3 || !equals_ignoring_case(s[0], "api") ||
      !equals_ignoring_case(s[1], "retail") || !equals_ignoring_case(s[2], "prices")) {
    return std::nullopt;
  }
  if (http.method != "GET") {
    return bad_request("The price list is read with GET.");
  }
  if (!http.header("authorization").empty()) {
    // The real one ignores it. Here it is a leak to be found: a token left its resource manager.
    reply r = json_reply(
        403,
        json::object(
            {{"error",
              json::object(
                  {{"code", "CredentialNotAccepted"},
                   {"message", "The public price list takes no credentials."}}
              )}}
        )
    );
    r.headers.emplace_back(emulators::note_header, "credential sent to the price list");
    return r;
  }
  const std::string version = http.parameter("api-version");
  const std::string currency = currency_of(http);
  const auto rate = w.prices.currencies.find(currency);
  if (rate == w.prices.currencies.end()) {
    return bad_request("The currency '" + currency + "' is not supported.");
  }
  const auto filter =
      price_filter::parse(http.parameter("$filter"), version >= "2023-01-01", is_price_field);
  if (!filter) {
    return bad_request(filter.error().message);
  }
  const std::size_t skip = skip_of(http);
  std::size_t seen = 0;
  json items = json::array();
  bool more = false;
  const bool primary_only = http.parameter("meterRegion").find("primary") != std::string::npos;
  for (const auto& row : price_rows(w, call.now)) {
    if ((primary_only && !row.primary) ||
        !filter->matches([&](std::string_view field) { return field_of(row, field); }) ||
        seen++ < skip) {
      continue;
    }
    if (items.size() == w.prices.page_size) {
      more = true;
      break;
    }
    items.push_back(show_price(row, currency, rate->second, !version.empty()));
  }
  json body = json::object(
      {{"BillingCurrency", currency},
       {"CustomerEntityId", "Default"},
       {"CustomerEntityType", "Retail"}}
  );
  const auto count = items.size();
  body.set("Items", std::move(items));
  body.set("NextPageLink", more ? json(next_page(http, call, skip + count)) : json());
  body.set("Count", count);
  return json_reply(200, body);
}

} // namespace siteagent::azure_emulator
