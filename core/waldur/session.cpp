// SPDX-License-Identifier: MIT
#include "core/waldur/session.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/retry.hpp"
#include "core/waldur/failure.hpp"

#include <algorithm>
#include <charconv>
#include <set>
#include <thread>
#include <utility>

namespace siteagent::waldur {

namespace {

constexpr unsigned most_attempts = 3;
constexpr std::chrono::milliseconds longest_pause{60'000};
constexpr std::chrono::milliseconds call_deadline{60'000};
constexpr std::size_t longest_words = 500;
constexpr std::string_view page_size = "100";
constexpr int most_pages = 10'000;

base::error cancelled(const std::string& what) {
  return {base::error_code::cancelled, "waldur: " + what + ": stopped before it was sent"};
}

base::error unusable(const std::string& what, std::string_view why) {
  return {base::error_code::transient, "waldur: " + what + ": " + std::string(why)};
}

bool is_worth_repeating(const base::error& e) {
  return base::class_of(e.code) == base::error_class::transient &&
         e.code != base::error_code::cancelled &&
         e.retry_after.value_or(longest_pause) <= longest_pause;
}

// The page after `current`; 0: the last one was read; nullopt: the link leads nowhere new.
std::optional<int> page_after(int current, const net::response& r) {
  const auto written = net::next_page(r);
  if (!written) {
    return 0;
  }
  int page = 0;
  const auto [end, problem] =
      std::from_chars(written->data(), written->data() + written->size(), page);
  const bool is_number = problem == std::errc{} && end == written->data() + written->size();
  return is_number && page > current ? std::optional(page) : std::nullopt;
}

// Rows the server counted; nullopt when it does not say.
std::optional<std::int64_t> counted_rows(const net::response& r) {
  const auto written = r.header("x-result-count");
  return written ? base::json(*written).integer() : std::nullopt;
}

} // namespace

session::session(client_options options, std::shared_ptr<net::transport> transport)
    : options_(std::move(options)), transport_(std::move(transport)),
      authorizer_(options_, *transport_) {
  while (options_.api_root.ends_with('/')) {
    options_.api_root.pop_back();
  }
}

void session::warn(std::string text) const {
  if (options_.on_warning) {
    options_.on_warning(authorizer_.scrub(text));
  }
}

base::error session::not_json(const std::string& what, const net::response& r) const {
  const std::string words = authorizer_.scrub(server_words(r.body));
  base::error e = unusable(
      what,
      "HTTP " + std::to_string(r.status) + ", " +
          (words.empty() ? "but without a body" : std::string(base::truncated(words, longest_words))
          )
  );
  e.http_status = r.status;
  return e;
}

bool session::is_stopped() const {
  return options_.stop_requested && options_.stop_requested();
}

void session::pause(std::chrono::milliseconds wait) const {
  if (options_.sleep) {
    options_.sleep(wait);
    return;
  }
  constexpr std::chrono::milliseconds step{50};
  const auto until = std::chrono::steady_clock::now() + wait;
  while (!is_stopped() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::min(step, wait));
  }
}

std::string session::url_of(std::string_view path, const net::query_list& query) const {
  const std::string text = net::build_query(query);
  return options_.api_root + "/api/" + std::string(path) + (text.empty() ? "" : "?" + text);
}

net::request session::new_request(std::string_view method, std::string url) const {
  net::request q;
  q.method = std::string(method);
  q.url = std::move(url);
  q.headers = {{"Accept", "application/json"}};
  if (!options_.user_agent.empty()) {
    q.headers.emplace_back("User-Agent", options_.user_agent);
  }
  q.deadline = call_deadline;
  q.stop_requested = options_.stop_requested;
  return q;
}

base::error session::failure(const std::string& what, const net::response& r, bool is_write) const {
  const std::string words = authorizer_.scrub(server_words(r.body));
  return status_failure(
      "waldur: " + what, r, base::truncated(words, longest_words), is_write, options_.clock->wall()
  );
}

// Authorizes and sends. A 401 answers a request that was not carried out, so that it may be sent
// once more with a new access token, writes too.
base::result<net::response> session::exchange(const std::string& what, net::request q) {
  for (bool is_first = true;; is_first = false) {
    auto header = authorizer_.header();
    if (!header) {
      return base::with_context(std::move(header).error(), "waldur: " + what);
    }
    net::request signed_request = q;
    signed_request.headers.emplace_back("Authorization", std::string(header->reveal()));
    auto answer = transport_->perform(signed_request);
    if (!answer) {
      base::error e = base::with_context(std::move(answer).error(), "waldur: " + what);
      e.message = authorizer_.scrub(e.message);
      return e;
    }
    if (answer->status != 401 || !is_first || !authorizer_.renew(*header)) {
      return answer;
    }
  }
}

base::result<session::page> session::read_once(const std::string& what, const std::string& url) {
  auto answer = exchange(what, new_request("GET", url));
  if (!answer) {
    return std::move(answer).error();
  }
  if (answer->status != 200) {
    return failure(what, *answer, false);
  }
  auto body = base::json::parse(answer->body);
  if (!body) {
    return not_json(what, *answer);
  }
  return page{*std::move(answer), *std::move(body)};
}

base::result<session::page> session::read(const std::string& what, const std::string& url) {
  for (unsigned attempt = 0;; ++attempt) {
    if (is_stopped()) {
      return cancelled(what);
    }
    auto answer = read_once(what, url);
    if (answer || attempt + 1 == most_attempts || !is_worth_repeating(answer.error())) {
      return answer;
    }
    pause(net::backoff{}.delay(attempt, net::random_jitter(), answer.error().retry_after));
  }
}

base::result<base::json>
session::get(const std::string& what, std::string_view path, const net::query_list& query) {
  auto answer = read(what, url_of(path, query));
  if (!answer) {
    return std::move(answer).error();
  }
  return std::move(answer->body);
}

base::result<std::vector<base::json>>
session::list(const std::string& what, std::string_view path, net::query_list query) {
  query.emplace_back("page_size", page_size);
  std::vector<base::json> rows;
  std::set<base::uuid> seen;
  std::int64_t received = 0;
  int number = 1;
  for (int pages = 0; pages < most_pages; ++pages) {
    net::query_list here = query;
    if (number > 1) {
      here.emplace_back("page", std::to_string(number));
    }
    auto answer = read(what, url_of(path, here));
    if (!answer) {
      base::error e = std::move(answer).error();
      if (number > 1 && e.http_status == 404) {
        e.code = base::error_code::transient; // the list shrank; nothing is known to be absent
        e.message += "; the list changed while it was read";
      }
      return e;
    }
    if (!answer->body.is_array()) {
      return unusable(what, "HTTP 200, but the answer is no list");
    }
    received += static_cast<std::int64_t>(answer->body.size());
    for (base::json& row : answer->body.items()) {
      const auto id = base::uuid::parse(row["uuid"].string_or(""));
      if (!id || seen.insert(*id).second) {
        rows.push_back(std::move(row));
      }
    }
    const auto next = page_after(number, answer->head);
    if (!next) {
      return unusable(what, "the link to the next page does not lead further");
    }
    if (*next == 0) {
      if (const auto total = counted_rows(answer->head); total && *total > received) {
        return unusable(
            what,
            "X-Result-Count is " + std::to_string(*total) + ", but the pages ended after " +
                std::to_string(received) + " rows"
        );
      }
      return rows;
    }
    number = *next;
  }
  return unusable(what, "more than " + std::to_string(most_pages) + " pages");
}

base::result<base::json> session::write(
    const std::string& what,
    std::string_view method,
    std::string_view path,
    const base::json* body,
    const std::vector<int>& success
) {
  if (is_stopped()) {
    return cancelled(what);
  }
  net::request q = new_request(method, url_of(path, {}));
  if (body != nullptr) {
    q.body = body->dump();
  }
  auto answer = exchange(what, std::move(q));
  if (!answer) {
    return std::move(answer).error();
  }
  if (std::find(success.begin(), success.end(), answer->status) == success.end()) {
    return failure(what, *answer, true);
  }
  if (base::trim(answer->body).empty()) {
    return base::json{};
  }
  auto parsed = base::json::parse(answer->body);
  if (!parsed) {
    // A portal page in front of Waldur may have answered in its place.
    base::error e = not_json(what, *answer);
    e.code = base::error_code::outcome_unknown;
    e.may_have_been_sent = true;
    return e;
  }
  return *std::move(parsed);
}

} // namespace siteagent::waldur
