// SPDX-License-Identifier: MIT
#include "core/fleet/credit_gate.hpp"

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/fleet/money.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace siteagent::fleet {

namespace {

constexpr std::string_view currency = "USD";

base::error refused(std::string message) {
  return {.code = base::error_code::refused, .message = std::move(message)};
}

std::string key_of(std::string_view provider) {
  return std::string(provider) + ".credit_floor";
}

// The operator's words as they are, but on one line whatever they hold.
std::string on_one_line(std::string_view words) {
  static constexpr std::array<char, 17> digits{"0123456789abcdef"};
  std::string out;
  for (const char c : words) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte != 0x7f) {
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else {
      out += "\\x";
      out += digits[byte >> 4U];
      out += digits[byte & 0xfU];
    }
  }
  return out;
}

std::string ruling_of(const credit_floor& f) {
  return format_money(f.amount) + " " + f.currency + " (the operator's ruling " + f.id + ": \"" +
         on_one_line(f.words) + "\")";
}

base::error too_large() {
  return refused("the hours of the cloud hosts are too large to be added up; correct hourly_usd in "
                 "the registry");
}

// One hour that counts: of a declared host, or of one that is being created.
base::result<void> count(
    burn& b,
    std::string_view name,
    const std::optional<base::decimal>& hourly,
    std::string_view where
) {
  if (!hourly || hourly->is_negative()) {
    return refused(
        "the hour of cloud host " + std::string(name) + " cannot be read (" + std::string(where) +
        "), so the hourly burn cannot be bounded; write its price there"
    );
  }
  const auto sum = b.running.plus(*hourly);
  if (!sum) {
    return too_large();
  }
  b.running = *sum;
  ++b.hosts;
  return {};
}

} // namespace

base::result<credit_floor> credit_floor_of(const profile& p, std::string_view provider) {
  const std::string key = key_of(provider);
  const base::json* found = p.find(key);
  if (found == nullptr || found->is_null()) {
    return refused(
        "there is no ruling on the credit floor: stado config set " + key +
        " '{\"id\":\"<id>\",\"amount\":<amount>,\"currency\":\"USD\",\"words\":\"<the operator's "
        "words>\"}' declares it"
    );
  }
  const auto bad = [&](std::string_view field, std::string_view rule) {
    return base::error{
        .code = base::error_code::invalid,
        .message = key + std::string(field.empty() ? "" : ".") + std::string(field) + " " +
                   std::string(rule) + "; correct it with stado config set " + key};
  };
  if (!found->is_object()) {
    return bad("", "must be an object with id, amount, currency and words");
  }
  credit_floor out;
  const auto text_of = [&](std::string_view field) -> std::optional<std::string> {
    const auto text = (*found)[field].string();
    if (!text || base::trim(*text).empty()) {
      return std::nullopt;
    }
    return std::string(*text);
  };
  if (const auto id = text_of("id")) {
    out.id = *id;
  } else {
    return bad("id", "must be a text that is not empty");
  }
  const base::json& amount = (*found)["amount"];
  const auto value = amount.is_number() ? parse_money(*amount.number_text(), rounding::up)
                                        : std::optional<base::decimal>{};
  if (!value || value->is_negative()) {
    return bad("amount", "must be a number that is not negative");
  }
  out.amount = *value;
  if (const auto text = text_of("currency")) {
    out.currency = *text;
  } else {
    return bad("currency", "must be a text that is not empty");
  }
  if (const auto words = text_of("words")) {
    out.words = *words;
  } else {
    return bad("words", "must be a text that is not empty");
  }
  if (const base::json& at = (*found)["ruled_at"]; !at.is_null()) {
    if (!base::parse_rfc3339(at.string_or(""))) {
      return bad("ruled_at", "must be a time such as 2026-01-31T12:00:00Z");
    }
  }
  return out;
}

base::result<priced_size> highest_hour(
    const price_answer& a, std::string_view location, const std::vector<std::string>& asked
) {
  const std::string here = base::to_lower(location);
  const price_quote* best = nullptr;
  bool is_sold_here = false;
  for (const price_quote& q : a.quotes) {
    if (q.currency != currency) {
      return refused(
          "size " + a.size + " is quoted in " + q.currency + " in " + q.location +
          ", and the credit gate counts in USD only"
      );
    }
    is_sold_here = is_sold_here || base::to_lower(q.location) == here;
    const bool is_better = best == nullptr || q.hour > best->hour ||
                           (q.hour == best->hour && best->location != here &&
                            (q.location == here || q.location < best->location));
    if (is_better) {
      best = &q;
    }
  }
  if (best == nullptr) {
    return refused(
        "no on-demand hour of size " + a.size + " is quoted in " + base::join(asked, ", ") +
        "; choose another size or location"
    );
  }
  if (!is_sold_here) {
    return refused(
        "size " + a.size + " is not quoted in " + std::string(location) +
        " (asked: " + base::join(asked, ", ") + "; quoted in " + best->location +
        "), so it is not sold there; choose another size or location"
    );
  }
  return priced_size{.size = a.size, .hour = best->hour, .where = best->location};
}

base::result<burn> projected_burn(
    const base::json& registry,
    std::string_view provider,
    const base::decimal& hour,
    std::string_view except
) {
  burn out;
  std::set<std::string, std::less<>> counted;
  for (const target& t : cloud_hosts_of(registry, provider)) {
    if (t.name == except) {
      continue;
    }
    counted.insert(t.name);
    if (auto done = count(out, t.name, t.cloud->hourly, "targets[].cloud.hourly_usd"); !done) {
      return done.error();
    }
  }
  for (const creating_host& c : creating_of(registry, provider)) {
    // Recorded meanwhile: counted above.
    if (c.name == except || counted.contains(c.name)) {
      continue;
    }
    const std::string where = "cloud_hosts_creating." + c.name + ".hourly_usd";
    if (auto done = count(out, c.name, c.hourly, where); !done) {
      return done.error();
    }
  }
  const auto total = out.running.plus(hour);
  if (!total) {
    return too_large();
  }
  out.total = *total;
  return out;
}

std::string burn_line(const burn& b, std::string_view name, const priced_size& p) {
  return "projected hourly burn: " + format_money(b.total) + " USD (" + std::string(name) + " " +
         p.size + " at " + format_money(p.hour) + " USD, " + p.where + "; " +
         std::to_string(b.hosts) + " cloud host(s) already running at " + format_money(b.running) +
         " USD)";
}

base::result<gate_decision> judge_credit(
    const credit_answer& credit,
    const credit_floor& floor,
    const burn& b,
    const priced_size& p,
    std::string_view name,
    std::string_view location,
    const provider_description& d
) {
  const std::string whose = "the " + d.display_name + " credit balance";
  if (!credit.reported || (!credit.current && !credit.estimated)) {
    return refused(
        whose + " is not told" + (credit.reason.empty() ? "" : " (" + credit.reason + ")") +
        ", and no host is rented without it"
    );
  }
  if (credit.currency != currency) {
    return refused(
        whose + " is in " + credit.currency + ", and the credit gate counts in USD only"
    );
  }
  if (floor.currency != credit.currency) {
    return refused(
        "the ruling " + floor.id + " is in " + floor.currency + " and " + whose + " in " +
        credit.currency + "; state the floor in " + credit.currency + " with stado config set " +
        key_of(d.id)
    );
  }
  gate_decision out;
  out.balance = credit.current && credit.estimated
                    ? std::min(*credit.current, *credit.estimated)
                    : (credit.current ? *credit.current : *credit.estimated);
  const auto after = out.balance.minus(b.total);
  if (!after) {
    return too_large();
  }
  out.after = *after;
  out.allowed = out.after > floor.amount;
  if (out.allowed) {
    out.line = "credit: balance " + format_money(out.balance) + " USD, " + format_money(out.after) +
               " USD after one hour of all of them, above the floor " + ruling_of(floor);
  } else {
    out.line = "creating cloud host " + std::string(name) + " (" + p.size + ") in " +
               std::string(location) + " is refused: " + whose + " " + format_money(out.balance) +
               " USD less one hour of " + p.size + " (" + format_money(p.hour) + " USD, " +
               p.where + ") and one hour of the machines already running (" +
               format_money(b.running) + " USD) is not above the floor " + ruling_of(floor) +
               "; raise the balance or change the ruling with stado config set " + key_of(d.id);
  }
  return out;
}

} // namespace siteagent::fleet
