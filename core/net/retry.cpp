// SPDX-License-Identifier: MIT
#include "core/net/retry.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

namespace siteagent::net {

namespace {

using std::chrono::milliseconds;

constexpr milliseconds longest_advice = std::chrono::hours(24);

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// "12", "1.5", "-3" in units of `unit`; negative is 0, too large is the longest advice.
std::optional<milliseconds> parse_amount(std::string_view text, milliseconds unit) {
  const bool is_negative = !text.empty() && text.front() == '-';
  if (is_negative) {
    text.remove_prefix(1);
  }
  if (text.empty() || !is_digit(text.front())) {
    return std::nullopt;
  }
  std::int64_t total = 0;
  std::int64_t weight = unit.count();
  bool is_fraction = false;
  for (const char c : text) {
    if (c == '.' && !is_fraction) {
      is_fraction = true;
    } else if (!is_digit(c)) {
      return std::nullopt;
    } else if (is_fraction) {
      weight /= 10;
      total += (c - '0') * weight;
    } else {
      // Beyond the cap more digits change nothing, and the sum must not overflow.
      total = std::min(total * 10 + (c - '0') * unit.count(), 10 * longest_advice.count());
    }
  }
  return is_negative ? milliseconds{0} : std::min(milliseconds{total}, longest_advice);
}

// The server's own clock, when it sent it, is the one its date was made with.
std::optional<milliseconds>
parse_date(const response& r, std::string_view text, base::wall_time now) {
  const auto then = base::parse_http_date(text);
  if (!then) {
    return std::nullopt;
  }
  if (const auto date = r.header("date")) {
    now = base::parse_http_date(base::trim(*date)).value_or(now);
  }
  const auto wait = std::chrono::duration_cast<milliseconds>(*then - now);
  return std::clamp(wait, milliseconds{0}, longest_advice);
}

// One element of a Link header: the text between < and >, and its parameters.
struct link {
  std::string_view target;
  std::string_view parameters;
};

// Takes the first element off `text`; nullopt at the end. Commas inside <> and quotes do not count.
std::optional<link> take_link(std::string_view& text) {
  const auto open = text.find('<');
  if (open == std::string_view::npos) {
    return std::nullopt;
  }
  const auto close = text.find('>', open);
  if (close == std::string_view::npos) {
    return std::nullopt;
  }
  bool is_quoted = false;
  auto end = close + 1;
  for (; end < text.size() && (is_quoted || text[end] != ','); ++end) {
    is_quoted = is_quoted != (text[end] == '"');
  }
  const link out{text.substr(open + 1, close - open - 1), text.substr(close + 1, end - close - 1)};
  text.remove_prefix(std::min(end + 1, text.size()));
  return out;
}

bool is_next(const link& l) {
  for (const std::string_view parameter : base::split(l.parameters, ';')) {
    const auto equals = parameter.find('=');
    if (equals == std::string_view::npos ||
        !base::equals_ignoring_case(base::trim(parameter.substr(0, equals)), "rel")) {
      continue;
    }
    std::string_view value = base::trim(parameter.substr(equals + 1));
    if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
      value = value.substr(1, value.size() - 2);
    }
    const auto words = base::split(value, ' ');
    return std::any_of(words.begin(), words.end(), [](std::string_view word) {
      return base::equals_ignoring_case(word, "next");
    });
  }
  return false;
}

std::string page_of(std::string_view target) {
  const auto question = target.find('?');
  if (question == std::string_view::npos) {
    return {};
  }
  for (auto& [key, value] : parse_query(target.substr(question + 1))) {
    if (key == "page") {
      return value;
    }
  }
  return {};
}

} // namespace

std::optional<std::string_view> response::header(std::string_view name) const {
  for (const auto& [key, value] : headers) {
    if (key == name) {
      return value;
    }
  }
  return std::nullopt;
}

std::optional<milliseconds> retry_after(const response& r, base::wall_time now) {
  for (const std::string_view name : {"retry-after-ms", "x-ms-retry-after-ms"}) {
    if (const auto value = r.header(name)) {
      if (const auto wait = parse_amount(base::trim(*value), milliseconds{1})) {
        return wait;
      }
    }
  }
  const auto value = r.header("retry-after");
  if (!value) {
    return std::nullopt;
  }
  const std::string_view text = base::trim(*value);
  const auto wait = parse_amount(text, std::chrono::seconds(1));
  return wait ? wait : parse_date(r, text, now);
}

bool is_transient_status(int status) {
  constexpr std::array<int, 6> transient = {408, 429, 500, 502, 503, 504};
  return std::find(transient.begin(), transient.end(), status) != transient.end();
}

milliseconds
backoff::delay(unsigned attempt, double jitter, std::optional<milliseconds> advice) const {
  milliseconds base = std::min(std::max(first, milliseconds{0}), cap);
  for (unsigned i = 0; i < attempt && base.count() > 0 && base < cap; ++i) {
    base = std::min(base > cap / 2 ? cap : base * 2, cap);
  }
  const double factor = 0.5 + std::clamp(jitter, 0.0, 1.0) / 2.0;
  const milliseconds wait{static_cast<std::int64_t>(static_cast<double>(base.count()) * factor)};
  return std::max(wait, advice.value_or(milliseconds{0}));
}

double random_jitter() {
  thread_local std::minstd_rand generator{std::random_device{}()};
  return std::uniform_real_distribution<double>(0.0, 1.0)(generator);
}

std::optional<std::string> next_page(const response& r) {
  for (const auto& [name, value] : r.headers) {
    if (name != "link") {
      continue;
    }
    std::string_view rest = value;
    while (const auto l = take_link(rest)) {
      if (is_next(*l)) {
        return page_of(l->target);
      }
    }
  }
  return std::nullopt;
}

} // namespace siteagent::net
