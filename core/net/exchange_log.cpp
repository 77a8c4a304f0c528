// SPDX-License-Identifier: MIT
#include "core/net/exchange_log.hpp"

#include "core/base/text.hpp"

#include <algorithm>
#include <chrono>

namespace siteagent::net {

namespace {

bool is_named(const std::vector<std::string>& allowed, std::string_view name) {
  return std::any_of(allowed.begin(), allowed.end(), [&](const std::string& a) {
    return base::equals_ignoring_case(a, name);
  });
}

// Origin and path as they are; of the query only the keys, and the values that may be shown.
std::string shown_url(const std::string& text, const std::vector<std::string>& allowed) {
  const auto parsed = parse_url(text);
  if (!parsed) {
    return "an unreadable URL";
  }
  const std::string& target = parsed->target;
  const auto mark = target.find('?');
  std::string out = parsed->origin.text() + target.substr(0, mark);
  if (mark == std::string::npos) {
    return out;
  }
  char separator = '?';
  for (const std::string_view pair : base::split(std::string_view(target).substr(mark + 1), '&')) {
    const auto equals = pair.find('=');
    const std::string_view key = pair.substr(0, equals);
    out += separator;
    out += is_named(allowed, decode(key)) ? std::string(pair) : std::string(key) + "=*";
    separator = '&';
  }
  return out;
}

std::string shown_headers(const header_list& headers, const std::vector<std::string>& allowed) {
  std::string out;
  for (const auto& [name, value] : headers) {
    if (is_named(allowed, name)) {
      out += " " + base::to_lower(name) + "=" + value;
    }
  }
  return out;
}

class logging_transport final : public transport {
public:
  logging_transport(std::unique_ptr<transport> inner, exchange_log log)
      : inner_(std::move(inner)), log_(std::move(log)) {}

  base::result<response> perform(const request& r) override {
    if (log_.is_wanted && !log_.is_wanted()) {
      return inner_->perform(r);
    }
    const auto start = log_.clock->steady();
    auto answer = inner_->perform(r);
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(log_.clock->steady() - start);
    std::string line = r.method + " " + shown_url(r.url, log_.query_keys) + " -> ";
    line += answer ? std::to_string(answer->status) : std::string(name_of(answer.error().code));
    line += " in " + std::to_string(took.count()) + " ms";
    line += shown_headers(r.headers, log_.headers);
    if (answer) {
      line += shown_headers(answer->headers, log_.headers);
    }
    log_.write(line);
    return answer;
  }

private:
  const std::unique_ptr<transport> inner_;
  const exchange_log log_;
};

} // namespace

std::unique_ptr<transport> log_exchanges(std::unique_ptr<transport> inner, exchange_log log) {
  return std::make_unique<logging_transport>(std::move(inner), std::move(log));
}

} // namespace siteagent::net
