// SPDX-License-Identifier: MIT
#include "core/fleet/egress.hpp"

#include "core/base/text.hpp"
#include "core/net/url.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

namespace siteagent::fleet {

namespace {

using base::error;
using base::error_code;
using base::json;
using base::result;

constexpr std::size_t most_at_once = 8;
constexpr std::size_t longest_answer = 4096;
constexpr std::size_t longest_quote = 80;

struct network {
  std::uint32_t first;
  unsigned prefix;
};

constexpr std::uint32_t of(unsigned a, unsigned b, unsigned c) {
  return (a << 24U) | (b << 16U) | (c << 8U);
}

// Not globally routable.
constexpr std::array special{
    network{of(0, 0, 0), 8},
    network{of(10, 0, 0), 8},
    network{of(100, 64, 0), 10},
    network{of(127, 0, 0), 8},
    network{of(169, 254, 0), 16},
    network{of(172, 16, 0), 12},
    network{of(192, 0, 0), 24},
    network{of(192, 0, 2), 24},
    network{of(192, 168, 0), 16},
    network{of(198, 18, 0), 15},
    network{of(198, 51, 100), 24},
    network{of(203, 0, 113), 24},
    network{of(224, 0, 0), 4},
    network{of(240, 0, 0), 4},
};

bool is_in(std::uint32_t address, const network& n) {
  return (address ^ n.first) >> (32U - n.prefix) == 0;
}

// Four decimal numbers without leading zeros ("010" is 8 to some readers and 10 to others).
std::optional<std::uint32_t> parse_ipv4(std::string_view text) {
  const std::vector<std::string_view> parts = base::split(text, '.');
  if (parts.size() != 4) {
    return std::nullopt;
  }
  std::uint32_t address = 0;
  for (const std::string_view part : parts) {
    const bool is_number =
        !part.empty() && part.size() <= 3 &&
        std::all_of(part.begin(), part.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (!is_number || (part.size() > 1 && part[0] == '0')) {
      return std::nullopt;
    }
    std::uint32_t number = 0;
    for (const char c : part) {
      number = number * 10 + static_cast<std::uint32_t>(c - '0');
    }
    if (number > 255) {
      return std::nullopt;
    }
    address = (address << 8U) | number;
  }
  return address;
}

error refusal(std::string message) {
  return {.code = error_code::refused, .message = std::move(message)};
}

// -4: the rules take IPv4 sources, and a host with both families would answer with the other.
std::vector<std::string> curl_words(const std::string& api_url) {
  return {
      "curl",
      "-4",
      "-fsS",
      "--max-time",
      "20",
      "--proto",
      "=https,http",
      "--",
      api_url + "/api/egress"};
}

error failure_of_curl(int status, const std::string& line) {
  const std::string said = line.empty() ? "" : ": " + line;
  if (status == 127) {
    return refusal("there is no curl; install it there");
  }
  if (status == 22) {
    return refusal("the site refused to tell the address" + said);
  }
  return {
      .code = error_code::transient,
      .message = "curl ended with status " + std::to_string(status) + said};
}

result<egress_record> measure_one(
    channel& c,
    const json& registry,
    const std::string& name,
    const egress_question& q,
    const base::clock& clock,
    const std::stop_token& stop
) {
  const auto host = find_target(registry, name);
  if (!host) {
    return error{
        .code = error_code::not_found,
        .message = "the registry has no target " + printable(name, longest_quote)};
  }
  channel_options o;
  o.cap = q.cap;
  o.stop = stop;
  const auto answer = c.run_words(*host, curl_words(q.api_url), o);
  if (!answer) {
    return answer.error();
  }
  if (answer->status != 0) {
    return failure_of_curl(answer->status, answer->last_error_line());
  }
  auto address = parse_egress_answer(answer->output, q.allow_private);
  if (!address) {
    return address.error();
  }
  return egress_record{.address = *std::move(address), .read_at = base::to_rfc3339(clock.wall())};
}

} // namespace

result<std::string> check_api_url(std::string_view text) {
  const auto wrong = [&](const std::string& rule) {
    // One with a user may carry a password.
    const bool is_quotable = text.find('@') == std::string_view::npos;
    return error{
        .code = error_code::invalid,
        .message = "api.url" + (is_quotable ? " \"" + printable(text, longest_quote) + "\"" : "") +
                   ": " + rule + "; stado config set api.url https://HOST sets it"};
  };
  std::string_view bare = text;
  while (bare.ends_with('/')) {
    bare.remove_suffix(1);
  }
  if (bare.empty()) {
    return wrong("it is not declared");
  }
  const auto url = net::parse_url(bare);
  if (!url) {
    return wrong("it must be an absolute https origin: " + printable(url.error().message));
  }
  if (url->target != "/") {
    return wrong("it must be an origin, without path and query");
  }
  if (url->origin.scheme != "https" && !url->origin.is_loopback()) {
    return wrong("it must use https (http is for loopback addresses only)");
  }
  return url->origin.text();
}

result<std::string> parse_egress_answer(std::string_view body, bool allow_private) {
  if (body.size() > longest_answer) {
    return refusal(
        "the site answered with more than 4096 bytes: \"" + printable(body, longest_quote) + "\""
    );
  }
  std::string text(base::trim(body));
  if (text.starts_with('{')) {
    const auto object = json::parse(text);
    text = object ? (*object)["address"].string_or("") : "";
  }
  const auto address = parse_ipv4(text);
  if (!address) {
    return refusal(
        "the site answered with something other than one IPv4 address: \"" +
        printable(base::trim(body), longest_quote) + "\""
    );
  }
  const bool is_special = std::any_of(special.begin(), special.end(), [&](const network& n) {
    return is_in(*address, n);
  });
  if (is_special && !allow_private) {
    return refusal("the site answered with " + text + ", which is not a public address");
  }
  return text;
}

egress_measurement measure_egress(
    channel& c,
    const json& registry,
    const egress_question& q,
    const base::clock& clock,
    std::stop_token stop
) {
  std::vector<std::optional<result<egress_record>>> answers(q.hosts.size());
  std::atomic<std::size_t> next{0};
  {
    std::vector<std::jthread> askers;
    for (std::size_t n = 0; n < std::min(most_at_once, q.hosts.size()); ++n) {
      askers.emplace_back([&] {
        for (std::size_t i = next++; i < q.hosts.size(); i = next++) {
          answers[i] = measure_one(c, registry, q.hosts[i], q, clock, stop);
        }
      });
    }
  }
  egress_measurement m;
  for (std::size_t i = 0; i < q.hosts.size(); ++i) {
    if (*answers[i]) {
      m.records[q.hosts[i]] = **answers[i];
    } else {
      m.failures.push_back({q.hosts[i], answers[i]->error()});
    }
  }
  return m;
}

std::optional<std::string>
measure_own_egress(runner& programs, const egress_question& q, std::stop_token stop) {
  const auto f = programs.run({.argv = curl_words(q.api_url), .cap = q.cap}, std::move(stop));
  if (!f || f->status != 0) {
    return std::nullopt;
  }
  const auto address = parse_egress_answer(f->output, q.allow_private);
  return address ? std::optional(*address) : std::nullopt;
}

std::vector<std::string> addresses_of(const std::map<std::string, egress_record>& records) {
  std::map<std::uint32_t, std::string> sorted;
  for (const auto& [host, record] : records) {
    if (const auto address = parse_ipv4(record.address)) {
      sorted[*address] = record.address;
    }
  }
  std::vector<std::string> addresses;
  for (const auto& [number, text] : sorted) {
    addresses.push_back(text);
  }
  return addresses;
}

} // namespace siteagent::fleet
