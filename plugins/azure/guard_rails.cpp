// SPDX-License-Identifier: MIT
#include "plugins/azure/guard_rails.hpp"

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "plugins/azure/error_map.hpp"
#include "plugins/azure/list_prices.hpp"
#include "plugins/azure/own_network.hpp"

#include <set>

namespace siteagent::azure {

namespace {

using arm::milliseconds;

constexpr milliseconds a_minute = std::chrono::minutes(1);
constexpr milliseconds afresh{-1};

std::string uuid_key(const std::string& value) {
  const auto id = base::uuid::parse(value);
  return id ? id->hex() : base::to_lower(value);
}

base::error price_refusal(const std::string& text) {
  return make_error(reason::invalid, base::error_code::refused, text, text);
}

// The machines of the offering, by their resources.
struct head_count {
  std::set<std::string> present;
  base::steady_time begun{};

  std::size_t beside(const std::string& resource) const {
    return present.size() - present.count(resource);
  }
};

base::result<machine_census> read_census(const rail_check& r) {
  machine_census out;
  out.begun = r.cloud.clock().steady();
  auto listed = r.cloud.compute().each_machine(r.call, [&](base::json&& m) {
    out.machines.push_back(base::json::object({{"id", m["id"]}, {"tags", m["tags"]}}));
  });
  if (!listed) {
    return listed.error();
  }
  return out;
}

base::result<head_count> count_machines(const rail_check& r, milliseconds age) {
  const auto census =
      r.cloud.facts().census.get(r.call, r.cloud.clock(), "", age, [&] { return read_census(r); });
  if (!census) {
    return census.error();
  }
  head_count out;
  out.begun = (*census)->begun;
  for (const base::json& m : (*census)->machines) {
    if (carries(m, r.offering_tags)) {
      const std::string resource = tag_of(m, r.who.tag);
      out.present.insert(resource.empty() ? id_key(m["id"].string_or("")) : uuid_key(resource));
    }
  }
  return out;
}

std::string full_text(const rail_check& r) {
  return "This offering is limited to " + std::to_string(*r.s.max_machines) +
         " machines, and all of them are in use";
}

base::error full_for_now(const rail_check& r) {
  return make_error(
      reason::busy,
      base::error_code::transient,
      "create virtual machine for " + r.order.name + ": max_machines " +
          std::to_string(*r.s.max_machines) +
          " is reached; the order goes on when a machine of this offering is gone",
      full_text(r) + "."
  );
}

base::result<void> check_place(const rail_check& r) {
  return check_own_subnet(r.cloud, r.call, r.s, r.order);
}

// Only figures read just now are believed when they say no.
base::result<evaluation> evaluate_room(const rail_check& r) {
  if (!r.s.max_machines) {
    return evaluation{};
  }
  const auto limit = static_cast<std::size_t>(*r.s.max_machines);
  const std::string resource = uuid_key(r.who.value);
  for (const milliseconds age : {a_minute, afresh}) {
    const auto now = count_machines(r, age);
    if (!now) {
      return now.error();
    }
    const std::size_t others = now->beside(resource);
    const std::size_t running =
        r.cloud.slots().beside(r.offering_tags.dump(), resource, now->present, now->begun);
    if (now->present.count(resource) != 0 || others + running < limit) {
      return evaluation{};
    }
    if (age == afresh) {
      return others >= limit
                 ? evaluation{decision::reject, full_text(r) + "; try again when one is free."}
                 : evaluation{decision::wait, "the last places below max_machines are being taken"};
    }
  }
  return evaluation{};
}

// Rejections have words for the customer; trouble is not his: the order waits.
base::result<evaluation> as_evaluation(const base::error& e) {
  if (arm::is_stop(e) || e.code == base::error_code::auth) {
    return e;
  }
  const base::error_class kind = base::class_of(e.code);
  const bool refused = kind == base::error_class::refused || kind == base::error_class::permanent;
  return refused && !e.public_message.empty() ? evaluation{decision::reject, e.public_message}
                                              : evaluation{decision::wait, e.message};
}

} // namespace

base::json offering_tags_of(const base::json& body) {
  const std::string uuid_tag = body["uuid_tag"].string_or("");
  const std::string offering = uuid_key(body.at({"offering", "uuid"}).string_or(""));
  base::json named = base::json::object();
  base::json shared = base::json::object();
  for (const auto& [name, value] : body["tags"].members()) {
    if (base::equals_ignoring_case(name, uuid_tag)) {
      continue;
    }
    shared.set(name, value);
    if (!offering.empty() && uuid_key(value.string_or("")) == offering) {
      named.set(name, value);
    }
  }
  return named.size() > 0 ? named : shared;
}

base::result<void> check_price(const rail_check& r) {
  if (!r.s.max_hourly_price) {
    return {};
  }
  const auto known = machine_hours(r.cloud, r.call, r.order.location);
  if (!known) {
    return base::with_context(known.error(), "hold the order against max_hourly_price");
  }
  const std::string size = "Azure size '" + r.order.size + "' in " + r.order.location;
  const auto hour = price_at(**known, r.order.size, r.cloud.clock().wall());
  if (!hour) {
    return price_refusal(
        size + " has no list price, and this offering has a price limit; choose another size"
    );
  }
  if (*hour > *r.s.max_hourly_price) {
    return price_refusal(
        size + " has a list price of " + hour->to_string() + " " + r.s.currency +
        " an hour; this offering allows at most " + r.s.max_hourly_price->to_string() + " " +
        r.s.currency + ". Choose a smaller size"
    );
  }
  return {};
}

base::result<evaluation> evaluate_rails(const rail_check& r) {
  for (const auto& check : {check_place, check_price}) {
    if (const auto checked = check(r); !checked) {
      return as_evaluation(checked.error());
    }
  }
  auto room = evaluate_room(r);
  return room ? room : as_evaluation(room.error());
}

held_slot::held_slot(held_slot&& other) noexcept
    : cloud_(std::exchange(other.cloud_, nullptr)), offering_(std::move(other.offering_)),
      resource_(std::move(other.resource_)) {}

held_slot::~held_slot() {
  if (cloud_ != nullptr) {
    cloud_->slots().end(offering_, resource_, cloud_->clock().steady());
  }
}

base::result<held_slot> take_slot(const rail_check& r) {
  if (!r.s.max_machines) {
    return held_slot();
  }
  const std::string offering = r.offering_tags.dump();
  const std::string resource = uuid_key(r.who.value);
  for (const milliseconds age : {a_minute, afresh}) {
    const auto now = count_machines(r, age);
    if (!now) {
      return now.error();
    }
    const auto limit = static_cast<std::size_t>(*r.s.max_machines);
    if (r.cloud.slots().take(offering, resource, now->present, now->begun, limit)) {
      return held_slot(r.cloud, offering, resource);
    }
  }
  return full_for_now(r);
}

} // namespace siteagent::azure
