// SPDX-License-Identifier: MIT
#include "plugins/azure/object_list.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/answers.hpp"
#include "plugins/azure/kinds.hpp"
#include "plugins/azure/list_prices.hpp"
#include "plugins/azure/metadata.hpp"
#include "plugins/azure/ownership.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

namespace siteagent::azure {

namespace {

using optional_price = std::optional<base::decimal>;

const kind* kind_of_object(const base::json& object) {
  const auto id = resource_id::parse(id_of(object));
  return id ? find_kind(id->type()) : nullptr;
}

bool holds(const std::vector<base::json>& objects, kind_id which) {
  return std::any_of(objects.begin(), objects.end(), [&](const base::json& o) {
    const kind* k = kind_of_object(o);
    return k != nullptr && k->id == which;
  });
}

std::string location_of(const base::json& object) {
  return normal_location(object["location"].string_or(""));
}

optional_price month_of(const optional_price& hour) {
  return hour ? hour->times(base::decimal(hours_of_month)) : std::nullopt;
}

// Costs of objects; what Azure or the price list does not tell stays unknown.
class price_tags {
public:
  price_tags(const services& cloud, const arm::scope& call) : cloud_(cloud), call_(call) {}

  void look_at(const std::vector<base::json>& objects) {
    if (holds(objects, kind_id::virtual_machine)) {
      note(cloud_.compute().each_machine(call_, [&](base::json&& m) {
        sizes_.insert_or_assign(
            id_key(id_of(m)), m.at({"properties", "hardwareProfile", "vmSize"}).string_or("")
        );
      }));
      note(cloud_.compute().each_machine_state(call_, [&](base::json&& m) {
        const auto power = power_of(m.at({"properties", "instanceView", "statuses"}));
        powers_.insert_or_assign(id_key(id_of(m)), power.value_or(""));
      }));
    }
    if (holds(objects, kind_id::disk)) {
      note(cloud_.compute().each_disk(call_, [&](base::json&& d) {
        const auto gib = d.at({"properties", "diskSizeGB"}).integer();
        if (auto offer = offer_of_disk(d["sku"]["name"].string_or(""), gib.value_or(0))) {
          disks_.insert_or_assign(id_key(id_of(d)), std::move(*offer));
        }
      }));
    }
  }

  optional_price month(const base::json& object) {
    const kind* k = kind_of_object(object);
    if (k == nullptr) {
      return std::nullopt;
    }
    switch (k->id) {
    case kind_id::virtual_machine:
      return machine(object);
    case kind_id::disk:
      return disk(object);
    case kind_id::public_ip_address:
      return address(object);
    default:
      return base::decimal(0); // groups, networks, interfaces and rules are free
    }
  }

private:
  void note(const base::result<void>& read) {
    if (!read) {
      cloud_.warn("some prices are unknown: " + read.error().message);
    }
  }

  optional_price look_up(const base::result<known_prices>& prices, std::string_view name) {
    if (prices) {
      return price_at(**prices, name, cloud_.clock().wall());
    }
    if (!std::exchange(warned_, true)) {
      cloud_.warn("some prices are unknown: " + prices.error().message);
    }
    return std::nullopt;
  }

  optional_price machine(const base::json& object) {
    const std::string key = id_key(id_of(object));
    const auto size = sizes_.find(key);
    const auto power = powers_.find(key);
    if (size == sizes_.end() || power == powers_.end() || power->second.empty()) {
      return std::nullopt;
    }
    // A machine that is only stopped inside keeps its place, and its price.
    if (power->second == "deallocated") {
      return base::decimal(0);
    }
    return month_of(look_up(machine_hours(cloud_, call_, location_of(object)), size->second));
  }

  optional_price disk(const base::json& object) {
    const auto offer = disks_.find(id_key(id_of(object)));
    if (offer == disks_.end()) {
      return std::nullopt;
    }
    const auto prices = disk_months(cloud_, call_, location_of(object), offer->second.product);
    return look_up(prices, offer->second.tier);
  }

  optional_price address(const base::json& object) {
    const std::string sku = object["sku"]["name"].string_or("Standard");
    return base::equals_ignoring_case(sku, "Standard")
               ? month_of(look_up(address_hours(cloud_, call_, location_of(object)), ""))
               : std::nullopt;
  }

  const services& cloud_;
  const arm::scope& call_;
  std::map<std::string, std::string> sizes_;
  std::map<std::string, std::string> powers_;
  std::map<std::string, disk_offer> disks_;
  bool warned_ = false;
};

// Azure does not always tell a group's age; it is as old as the oldest object in it.
std::map<std::string, std::string> oldest_by_group(const std::vector<base::json>& objects) {
  std::map<std::string, std::string> out;
  std::map<std::string, base::wall_time> times;
  for (const base::json& o : objects) {
    const auto id = resource_id::parse(id_of(o));
    const std::string text = o["createdTime"].string_or("");
    const auto time = base::parse_rfc3339(text);
    if (!id || !time) {
      continue;
    }
    const std::string group = base::to_lower(id->group);
    const auto known = times.find(group);
    if (known == times.end() || *time < known->second) {
      times.insert_or_assign(group, *time);
      out.insert_or_assign(group, text);
    }
  }
  return out;
}

base::json row_of(
    const base::json& object,
    std::string_view uuid_tag,
    const std::map<std::string, std::string>& oldest
) {
  base::json row = base::json::object(
      {{"id", id_of(object)}, {"kind", kind_word(object)}, {"uuid", tag_of(object, uuid_tag)}}
  );
  std::string created = object["createdTime"].string_or("");
  const auto id = resource_id::parse(id_of(object));
  if (created.empty() && id && id->is_group()) {
    const auto it = oldest.find(base::to_lower(id->group));
    created = it == oldest.end() ? "" : it->second;
  }
  if (!created.empty()) {
    row.set("created_at", created);
  }
  return row;
}

} // namespace

base::result<std::vector<base::json>>
object_rows(const services& cloud, const arm::scope& call, const base::json& body) {
  const base::json::member& narrow = narrowest_tag(body["tags"]);
  const std::string value = narrow.second.string_or("");
  auto objects = cloud.resources().tagged(call, narrow.first, value);
  if (!objects) {
    return objects.error();
  }
  auto groups = cloud.resources().tagged_groups(call, narrow.first, value);
  if (!groups) {
    return groups.error();
  }
  objects->insert(objects->end(), groups->begin(), groups->end());
  std::erase_if(*objects, [&](const base::json& o) { return !carries(o, body["tags"]); });
  const bool priced = body["prices"].boolean().value_or(false);
  price_tags prices(cloud, call);
  if (priced) {
    prices.look_at(*objects);
  }
  const auto oldest = oldest_by_group(*objects);
  const auto rank = [](const base::json& o) {
    const auto id = resource_id::parse(id_of(o));
    return id ? deletion_rank(*id) : 0;
  };
  std::stable_sort(objects->begin(), objects->end(), [&](const base::json& a, const base::json& b) {
    return rank(a) > rank(b);
  });
  std::vector<base::json> out;
  for (const base::json& o : *objects) {
    base::json row = row_of(o, body["uuid_tag"].string_or(""), oldest);
    const optional_price month = priced ? prices.month(o) : std::nullopt;
    if (month) {
      row.set("price_month", month->is_zero() ? "0" : month->to_fixed(2));
      row.set("currency", cloud.prices().currency());
    }
    out.push_back(std::move(row));
  }
  return out;
}

} // namespace siteagent::azure
