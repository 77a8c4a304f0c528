// SPDX-License-Identifier: MIT
#include "core/fleet/provider_answers.hpp"

#include "core/base/text.hpp"
#include "core/fleet/money.hpp"

#include <arpa/inet.h>

#include <algorithm>

namespace siteagent::fleet {

namespace {

using base::json;
using answer = std::vector<json>;

std::string item(std::string_view list, std::size_t i) {
  return std::string(list) + "[" + std::to_string(i) + "]";
}

// Money is text, never a JSON number: a number may have been a binary float on its way.
std::optional<base::decimal> money(
    answer_reader& read,
    const json& o,
    const std::string& where,
    std::string_view key,
    rounding direction
) {
  const auto text = o[key].string();
  const auto amount = text ? parse_money(*text, direction) : std::nullopt;
  if (!amount) {
    read.complain(where + (where.empty() ? "" : ".") + std::string(key), "is no decimal text");
  }
  return amount;
}

bool is_address(const std::string& text) {
  unsigned char bytes[sizeof(in6_addr)];
  return ::inet_pton(AF_INET, text.c_str(), bytes) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes) == 1;
}

check_line read_check(answer_reader& read, const json& o, const std::string& where) {
  check_line c;
  c.name = read.text(o, where, "name");
  c.ok = read.flag(o, where, "ok");
  c.detail = read.optional_text(o, where, "detail");
  c.needed = o["needed"].is_null() || read.flag(o, where, "needed");
  return c;
}

template <class Value>
base::result<Value> unless_faulty(const answer_reader& read, Value value) {
  if (auto fault = read.fault()) {
    return *fault;
  }
  return value;
}

} // namespace

base::result<std::string> read_size(const std::string& what, const answer& a) {
  answer_reader read(what);
  return unless_faulty(read, read.text(read.only(a), "", "size"));
}

base::result<price_answer> read_prices(const std::string& what, const answer& a) {
  answer_reader read(what);
  const json& said = read.only(a);
  price_answer made;
  made.size = read.text(said, "", "size");
  made.source = read.text(said, "", "source");
  const json& quotes = read.list(said, "", "quotes");
  for (std::size_t i = 0; i < quotes.size(); ++i) {
    const std::string at = item("quotes", i);
    const auto hour = money(read, quotes[i], at, "hour", rounding::up);
    if (hour && (hour->is_negative() || hour->is_zero())) {
      read.complain(at + ".hour", "is not above zero");
    }
    made.quotes.push_back(
        {.location = base::to_lower(read.text(quotes[i], at, "location")),
         .hour = hour.value_or(base::decimal()),
         .currency = read.text(quotes[i], at, "currency"),
         .meter = read.optional_text(quotes[i], at, "meter")}
    );
  }
  return unless_faulty(read, std::move(made));
}

base::result<credit_answer> read_credit(const std::string& what, const answer& a) {
  answer_reader read(what);
  const json& said = read.only(a);
  credit_answer made;
  made.reported = read.flag(said, "", "reported");
  made.reason = read.optional_text(said, "", "reason");
  made.scope = read.optional_text(said, "", "scope");
  made.currency = read.optional_text(said, "", "currency");
  if (!made.reported) {
    return unless_faulty(read, std::move(made));
  }
  if (!said["current"].is_null()) {
    made.current = money(read, said, "", "current", rounding::down);
  }
  if (!said["estimated"].is_null()) {
    made.estimated = money(read, said, "", "estimated", rounding::down);
  }
  if ((made.current || made.estimated) && made.currency.empty()) {
    read.complain("currency", "is missing beside a figure");
  }
  return unless_faulty(read, std::move(made));
}

base::result<admission> read_admission(
    const std::string& what, const answer& a, const admission_request& asked, bool dry_run
) {
  answer_reader read(what);
  const json& said = read.only(a);
  admission made;
  const json& locations = read.list(said, "", "locations");
  for (std::size_t i = 0; i < locations.size(); ++i) {
    const std::string at = item("locations", i);
    const json& each = locations[i];
    admitted_location l;
    l.location = base::to_lower(read.text(each, at, "location"));
    const bool is_due =
        !dry_run && asked.ensure_location && base::to_lower(*asked.ensure_location) == l.location;
    l.group_id =
        is_due ? read.text(each, at, "group_id") : read.optional_text(each, at, "group_id");
    l.rule = read.word(each, at, "rule", {"created", "updated", "unchanged", "none"});
    if (!each["priority"].is_null()) {
      l.priority = read.integer(each, at, "priority");
    }
    made.locations.push_back(std::move(l));
  }
  const json& hosts = read.list(said, "", "hosts");
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    const std::string at = item("hosts", i);
    made.hosts.push_back(
        {.name = read.text(hosts[i], at, "name"),
         .outcome = read.word(hosts[i], at, "outcome", {"updated", "unchanged", "absent"})}
    );
  }
  if (!said["warnings"].is_null()) {
    made.warnings = read.texts(said, "", "warnings");
  }
  for (const std::string& wanted : asked.locations) {
    const auto is_it = [&](const admitted_location& l) {
      return l.location == base::to_lower(wanted);
    };
    if (std::none_of(made.locations.begin(), made.locations.end(), is_it)) {
      read.complain("locations", "lacks " + wanted);
    }
  }
  for (const known_host& wanted : asked.hosts) {
    const auto is_it = [&](const admitted_host& h) { return h.name == wanted.name; };
    if (std::none_of(made.hosts.begin(), made.hosts.end(), is_it)) {
      read.complain("hosts", "lacks " + wanted.name);
    }
  }
  return unless_faulty(read, std::move(made));
}

base::result<created_host> read_created(const std::string& what, const answer& a) {
  answer_reader read(what);
  const json& said = read.only(a);
  created_host made;
  made.address = read.text(said, "", "address");
  if (!is_address(made.address)) {
    read.complain("address", "is no IP literal");
  }
  const std::int64_t port = said["ssh_port"].is_null() ? 22 : read.integer(said, "", "ssh_port");
  if (port < 1 || port > 65535) {
    read.complain("ssh_port", "is not from 1 to 65535");
  }
  made.ssh_port = static_cast<int>(std::clamp<std::int64_t>(port, 1, 65535));
  made.vm_id = read.text(said, "", "vm_id");
  made.created_at = read.optional_text(said, "", "created_at");
  made.resources = read.object(said, "", "resources");
  return unless_faulty(read, std::move(made));
}

base::result<std::vector<check_line>> read_dry_run(const std::string& what, const answer& a) {
  answer_reader read(what);
  const json& checks = read.list(read.only(a), "", "checks");
  std::vector<check_line> made;
  for (std::size_t i = 0; i < checks.size(); ++i) {
    made.push_back(read_check(read, checks[i], item("checks", i)));
  }
  return unless_faulty(read, std::move(made));
}

base::result<std::vector<check_line>> read_checks(const std::string& what, const answer& a) {
  answer_reader read(what);
  std::vector<check_line> made;
  for (std::size_t i = 0; i < a.size(); ++i) {
    made.push_back(read_check(read, a[i], item("object", i)));
  }
  return unless_faulty(read, std::move(made));
}

base::result<std::string> read_state(const std::string& what, const answer& a) {
  answer_reader read(what);
  return unless_faulty(read, read.text(read.only(a), "", "state"));
}

base::result<std::vector<listed_host>> read_hosts(const std::string& what, const answer& a) {
  answer_reader read(what);
  std::vector<listed_host> made;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::string at = item("object", i);
    listed_host h;
    h.name = read.text(a[i], at, "name");
    h.vm_id = read.optional_text(a[i], at, "vm_id");
    h.location = read.text(a[i], at, "location");
    h.state = read.text(a[i], at, "state");
    h.created_at = read.optional_text(a[i], at, "created_at");
    h.tags = read.object(a[i], at, "tags");
    h.resources = read.object(a[i], at, "resources");
    const json& objects = read.list(a[i], at, "objects");
    for (std::size_t o = 0; o < objects.size(); ++o) {
      const std::string object_at = at + "." + item("objects", o);
      h.objects.push_back(
          {.kind = read.text(objects[o], object_at, "kind"),
           .id = read.text(objects[o], object_at, "id")}
      );
    }
    made.push_back(std::move(h));
  }
  return unless_faulty(read, std::move(made));
}

base::result<removal> read_removal(const std::string& what, const answer& a) {
  answer_reader read(what);
  const json& said = read.only(a);
  removal made;
  const json& released = read.list(said, "", "released");
  for (std::size_t i = 0; i < released.size(); ++i) {
    const std::string at = item("released", i);
    made.released.push_back(
        {.kind = read.text(released[i], at, "kind"),
         .id = read.text(released[i], at, "id"),
         .outcome = read.word(released[i], at, "outcome", {"deleted", "already_gone"})}
    );
  }
  const json& held = read.list(said, "", "held");
  for (std::size_t i = 0; i < held.size(); ++i) {
    const std::string at = item("held", i);
    made.held.push_back(
        {.kind = read.text(held[i], at, "kind"),
         .id = read.text(held[i], at, "id"),
         .cause = read.text(held[i], at, "cause"),
         .retryable = read.optional_flag(held[i], at, "retryable")}
    );
  }
  return unless_faulty(read, std::move(made));
}

} // namespace siteagent::fleet
