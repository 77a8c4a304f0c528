// SPDX-License-Identifier: MIT
#include "paging.hpp"

#include "permissions.hpp"
#include "rules.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <utility>

namespace siteagent::azure_emulator {

using base::json;

namespace {

constexpr std::string_view token_prefix = "after:";

std::int64_t seconds_of(base::wall_time t) {
  return std::chrono::duration_cast<std::chrono::seconds>(t.time_since_epoch()).count();
}

// "after:{until}:{key}": the page behind a key ("" = the first with something in it), good until a
// time (0 = for ever). nullopt: no such token.
struct position {
  std::int64_t until = 0;
  std::string key;
};

std::optional<position> read_token(std::string_view token) {
  const auto text = decode_base64(token);
  if (!text || text->rfind(token_prefix, 0) != 0) {
    return std::nullopt;
  }
  const std::string_view rest = std::string_view(*text).substr(token_prefix.size());
  const auto colon = rest.find(':');
  position p;
  const auto* end = rest.data() + std::min(colon, rest.size());
  const auto [stop, problem] = std::from_chars(rest.data(), end, p.until);
  if (colon == std::string_view::npos || problem != std::errc() || stop != end) {
    return std::nullopt;
  }
  p.key = rest.substr(colon + 1);
  return p;
}

std::string next_link(const context& c, const std::string& last_key) {
  net::query_list query;
  for (const auto& [key, value] : c.http.parameters) {
    if (!base::equals_ignoring_case(key, "$skiptoken")) {
      query.emplace_back(key, value);
    }
  }
  const auto life = c.world.behaviour.next_link_life;
  const auto until = life.count() == 0 ? 0 : seconds_of(c.now() + life);
  query.emplace_back(
      "$skiptoken", base::base64(std::string(token_prefix) + std::to_string(until) + ":" + last_key)
  );
  return c.call.base_url + c.http.path + "?" + net::build_query(query);
}

} // namespace

key_source
keys_below(const world& w, std::string prefix, std::function<bool(const resource& r)> shows) {
  return [&w, prefix = std::move(prefix), shows = std::move(shows)](
             const std::string& from, const std::function<bool(const std::string& key)>& take
         ) {
    w.walk(prefix, from, [&](const std::string& key, const resource& r) {
      return !shows(r) || take(key);
    });
  };
}

key_source keys_of(const std::vector<std::string>& keys) {
  return [&keys](const std::string& from, const std::function<bool(const std::string& key)>& take) {
    auto it = std::lower_bound(keys.begin(), keys.end(), from);
    while (it != keys.end() && take(*it)) {
      ++it;
    }
  };
}

reply page_of(
    const context& c,
    const key_source& all,
    std::size_t page_size,
    const std::function<json(const std::string& key)>& show
) {
  const auto target = target_of(c.http);
  const bool sees_all = may(c.world, c.principal, target.action, target.scope, c.now());
  const std::string token = c.http.parameter("$skiptoken");
  position at;
  if (!token.empty()) {
    const auto known = read_token(token);
    if (!known) {
      return gateway_error(400, {"InvalidSkipToken", "The provided skip token is not valid."});
    }
    at = *known;
    if (at.until != 0 && at.until <= seconds_of(c.now())) {
      return gateway_error(
          410, {"ExpiredSkipToken", "The provided skip token has expired; start the list again."}
      );
    }
  }
  const bool only_a_link = token.empty() && c.world.behaviour.empty_pages;
  json value = json::array();
  std::size_t count = 0;
  std::string last;
  bool more = false;
  all(at.key, [&](const std::string& key) {
    if (!sees_all && !may(c.world, c.principal, target.action, key, c.now())) {
      return true;
    }
    if (!at.key.empty() && key == at.key) { // the last one of the page before
      if (c.world.behaviour.repeats_items) {
        value.push_back(show(key));
      }
      return true;
    }
    more = only_a_link || count == page_size;
    if (!more) {
      value.push_back(show(key));
      last = key;
      ++count;
    }
    return !more;
  });
  json body = json::object();
  body.set("value", std::move(value));
  if (more) {
    body.set("nextLink", next_link(c, last));
  }
  return json_reply(200, body);
}

namespace {

// Takes one quoted value from the front; '' inside stands for one quote.
std::optional<std::string> take_quoted(std::string_view& text) {
  if (text.empty() || text.front() != '\'') {
    return std::nullopt;
  }
  std::string value;
  for (std::size_t i = 1; i < text.size(); ++i) {
    if (text[i] != '\'') {
      value += text[i];
    } else if (i + 1 < text.size() && text[i + 1] == '\'') {
      value += '\'';
      ++i;
    } else {
      text = base::trim(text.substr(i + 1));
      return value;
    }
  }
  return std::nullopt;
}

std::string take_word(std::string_view& text) {
  const auto end = text.find(' ');
  const std::string word(text.substr(0, end));
  text = end == std::string_view::npos ? std::string_view() : base::trim(text.substr(end));
  return word;
}

} // namespace

std::optional<filter_terms> parse_filter(std::string_view text) {
  filter_terms terms;
  text = base::trim(text);
  while (!text.empty()) {
    // The one documented filter of machine lists quotes its field name.
    std::string field;
    if (text.front() == '\'') {
      field = take_quoted(text).value_or("");
    } else {
      field = take_word(text);
    }
    if (!base::equals_ignoring_case(take_word(text), "eq")) {
      return std::nullopt;
    }
    const auto value = take_quoted(text);
    if (!value || field.empty()) {
      return std::nullopt;
    }
    terms.emplace_back(base::to_lower(field), *value);
    if (!text.empty() && !base::equals_ignoring_case(take_word(text), "and")) {
      return std::nullopt;
    }
  }
  return terms;
}

} // namespace siteagent::azure_emulator
