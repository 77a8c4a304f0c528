// SPDX-License-Identifier: MIT
// What holds orders back before approval, and the operator's own tags.
#include "plugins/azure/settings_parts.hpp"

#include "core/base/text.hpp"
#include "plugins/azure/naming.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace siteagent::azure::parts {

namespace {

// Azure takes 50 tags on an object; ten are kept for the agent's own.
constexpr std::size_t most_tags = 40;
constexpr std::size_t longest_tag_name = 512;
constexpr std::size_t longest_tag_value = 256;
constexpr std::int64_t most_machines = 1'000'000;
constexpr std::string_view public_manager = "https://management.azure.com";
constexpr std::string_view public_prices = "https://prices.azure.com";

// Azure counts characters the way its own programs hold them, in UTF-16 units.
std::size_t characters(std::string_view utf8) {
  std::size_t count = 0;
  for (const char c : utf8) {
    const auto byte = static_cast<unsigned char>(c);
    count += (byte & 0xC0U) != 0x80U ? 1U : 0U; // not a continuation
    count += byte >= 0xF0U ? 1U : 0U;           // outside the first plane: a pair
  }
  return count;
}

bool has_control_characters(std::string_view text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
  });
}

std::string objection_to_tag_name(const std::string& name) {
  const std::string lower = base::to_lower(name);
  for (const std::string_view prefix : {"microsoft", "azure", "windows"}) {
    if (lower.rfind(prefix, 0) == 0) {
      return "begins with '" + std::string(prefix) + "', which Azure keeps for itself";
    }
  }
  if (lower == display_name_tag) {
    return "is written by the agent itself";
  }
  if (name.empty() || characters(name) > longest_tag_name) {
    return "must have 1 to 512 characters";
  }
  if (name.find_first_of("<>%&\\?/") != std::string::npos || has_control_characters(name)) {
    return "holds a character Azure does not allow in a tag's name: < > % & \\ ? /";
  }
  return "";
}

base::result<void> read_lists(const base::json& d, settings& out) {
  for (const auto& [key, target] :
       {std::pair<std::string_view, std::vector<std::string>*>{"allowed_sizes", &out.allowed_sizes},
        {"allowed_locations", &out.allowed_locations},
        {"allowed_images", &out.allowed_images}}) {
    auto given = texts_of(d, key);
    if (!given) {
      return given.error();
    }
    *target = std::move(*given);
  }
  for (const std::string& image : out.allowed_images) {
    const auto fields = base::split(image, ':');
    const bool complete = std::none_of(fields.begin(), fields.end(), [](std::string_view part) {
      return base::trim(part).empty();
    });
    if (!complete || (fields.size() != 3 && fields.size() != 4)) {
      return bad(
          "allowed_images",
          "'" + image + "' is not publisher:offer:sku, nor publisher:offer:sku:version"
      );
    }
  }
  return {};
}

base::result<void> read_currency(const base::json& d, settings& out) {
  const std::string given = text_of(d, "currency");
  if (given.empty()) {
    return {};
  }
  const bool plain = given.size() == 3 && std::all_of(given.begin(), given.end(), [](char c) {
                       return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
                     });
  if (!plain) {
    return bad("currency", "'" + given + "' is not a currency code such as USD or EUR");
  }
  out.currency = given;
  std::transform(out.currency.begin(), out.currency.end(), out.currency.begin(), [](char c) {
    return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return {};
}

base::result<void> read_price_origin(const base::json& d, settings& out) {
  // The price list exists for the public cloud alone.
  out.prices = out.resource_manager == public_manager ? public_prices : "";
  return read_origin(d["cloud"], "prices", out.prices);
}

// 0.25, "0.25" or "0.25 EUR".
base::result<void> read_price_limit(const base::json& d, settings& out) {
  constexpr std::string_view key = "max_hourly_price";
  if (d[key].is_null()) {
    return {};
  }
  const std::string text(base::trim(d[key].number_text().value_or("")));
  const auto space = text.find(' ');
  const auto limit = base::decimal::parse(text.substr(0, space));
  if (!limit || limit->is_negative() || limit->is_zero()) {
    return bad(key, "'" + text + "' is not a price above zero such as 0.25 or '0.25 EUR'");
  }
  if (space != std::string::npos) {
    const std::string currency(base::trim(std::string_view(text).substr(space)));
    if (text_of(d, "currency").empty()) {
      if (auto r = read_currency(base::json::object({{"currency", currency}}), out); !r) {
        return bad(key, "'" + text + "' is not a price above zero such as 0.25 or '0.25 EUR'");
      }
    }
    if (!base::equals_ignoring_case(currency, out.currency)) {
      return bad(key, "'" + text + "' is in another currency than currency '" + out.currency + "'");
    }
  }
  if (out.prices.empty()) {
    return bad(
        key,
        "this cloud has no public price list to hold orders against; set cloud.prices or remove it"
    );
  }
  out.max_hourly_price = limit;
  return {};
}

base::result<void> read_machine_limit(const base::json& d, settings& out) {
  if (d["max_machines"].is_null()) {
    return {};
  }
  const auto limit = d["max_machines"].integer();
  if (!limit || *limit < 0 || *limit > most_machines) {
    return bad("max_machines", "must be a whole number from 0 to 1000000");
  }
  out.max_machines = limit;
  return {};
}

} // namespace

base::result<void> read_tags(const base::json& d, settings& out) {
  const base::json& tags = d["tags"];
  if (!tags.is_null() && !tags.is_object()) {
    return bad("tags", "must be a map of names to texts");
  }
  if (tags.size() > most_tags) {
    return bad(
        "tags",
        "holds " + std::to_string(tags.size()) +
            " tags; Azure takes 50 on an object and the agent needs ten, so at most 40 are possible"
    );
  }
  std::set<std::string> seen; // Azure compares names without case
  for (const auto& [name, value] : tags.members()) {
    if (const std::string why = objection_to_tag_name(name); !why.empty()) {
      return bad("tags", "'" + name + "' " + why);
    }
    if (!seen.insert(base::to_lower(name)).second) {
      return bad("tags", "'" + name + "' is there twice; Azure compares names without case");
    }
    const auto text = value.number_text();
    if (!text || characters(*text) > longest_tag_value || has_control_characters(*text)) {
      return bad("tags", "the value of '" + name + "' must be a text of at most 256 characters");
    }
    out.tags.emplace(name, *text);
  }
  return {};
}

base::result<void> read_rails(const base::json& d, settings& out) {
  for (const auto step :
       {read_lists, read_currency, read_price_origin, read_price_limit, read_machine_limit}) {
    if (auto r = step(d, out); !r) {
      return r;
    }
  }
  return {};
}

} // namespace siteagent::azure::parts
