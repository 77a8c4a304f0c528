// SPDX-License-Identifier: MIT
#include "core/fleet/profile.hpp"

#include "core/base/clock.hpp"
#include "core/base/text.hpp"
#include "core/fleet/egress.hpp"
#include "core/fleet/limits.hpp"
#include "core/fleet/money.hpp"

#include <algorithm>

namespace siteagent::fleet {

namespace {

base::error broken(const std::string& path, std::string_view rule) {
  return {base::error_code::invalid, path + " " + std::string(rule)};
}

bool is_provider_name(std::string_view name) {
  const auto small = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !name.empty() && small(name.front()) && std::all_of(name.begin(), name.end(), [&](char c) {
    return small(c) || c == '-' || c == '_';
  });
}

base::result<std::vector<std::string>>
provider_names(const base::json& document, const std::string& key) {
  std::vector<std::string> names;
  const base::json& list = document[key];
  if (!list.is_null() && !list.is_array()) {
    return broken(key, "is no array of provider names");
  }
  for (std::size_t n = 0; n < list.size(); ++n) {
    const std::string name = base::to_lower(base::trim(list[n].string_or("")));
    if (!is_provider_name(name)) {
      return broken(key + "[" + std::to_string(n) + "]", "is no provider name");
    }
    names.push_back(name);
  }
  return names;
}

base::result<void> check_providers(const base::json& document) {
  const auto enabled = provider_names(document, "providers");
  if (!enabled) {
    return enabled.error();
  }
  const auto disabled = provider_names(document, "providers_disabled");
  if (!disabled) {
    return disabled.error();
  }
  for (std::size_t n = 0; n < disabled->size(); ++n) {
    const std::string& name = (*disabled)[n];
    if (std::find(enabled->begin(), enabled->end(), name) != enabled->end()) {
      return broken(
          "providers_disabled[" + std::to_string(n) + "]",
          "names '" + name + "', which providers names, too; take it out of one of them"
      );
    }
  }
  return {};
}

// Of one of the members that an operator's ruling must have.
base::result<void> check_ruling(const std::string& path, const base::json& ruling) {
  if (!ruling.is_object()) {
    return broken(
        path,
        R"(is no object such as {"id":"ruling-1","amount":500,"currency":"USD","words":"..."})"
    );
  }
  const auto text = [&](std::string_view key) {
    const auto found = ruling[key].string();
    return found && !base::trim(*found).empty();
  };
  if (!text("id")) {
    return broken(path + ".id", "is no text");
  }
  const base::json& amount = ruling["amount"];
  const auto value =
      amount.is_number() ? parse_money(*amount.number_text(), rounding::up) : std::nullopt;
  if (!value || value->is_negative()) {
    return broken(path + ".amount", "is no number from 0 on");
  }
  for (const char* key : {"currency", "words"}) {
    if (!text(key)) {
      return broken(path + "." + key, "is no text");
    }
  }
  const base::json* ruled_at = ruling.find("ruled_at");
  if (ruled_at != nullptr && !base::parse_rfc3339(ruled_at->string_or(""))) {
    return broken(path + ".ruled_at", "is no time such as 2026-01-31T12:00:00Z");
  }
  return {};
}

base::result<void> check_rulings(const base::json& document) {
  for (const auto& [provider, section] : document.members()) {
    const base::json* ruling = section.find("credit_floor");
    if (ruling == nullptr || ruling->is_null() || provider.starts_with("_")) {
      continue;
    }
    if (auto checked = check_ruling(provider + ".credit_floor", *ruling); !checked) {
      return checked;
    }
  }
  return {};
}

// Sections are objects, and settings that are texts are texts.
base::result<void> check_shapes(const base::json& document) {
  for (const char* section : {"storage", "credentials", "api", "cloud_host"}) {
    const base::json& value = document[section];
    if (!value.is_null() && !value.is_object()) {
      return broken(section, "is no object");
    }
  }
  const base::json& local = document["storage"]["local"];
  if (!local.is_null() && !local.is_object()) {
    return broken("storage.local", "is no object");
  }
  const auto text_or_nothing = [](const base::json& value) {
    return value.is_null() || !base::trim(value.string_or("")).empty();
  };
  if (!text_or_nothing(document["storage"]["backend"])) {
    return broken("storage.backend", "is no text");
  }
  if (!text_or_nothing(local["path"])) {
    return broken("storage.local.path", "is no text");
  }
  if (!text_or_nothing(document["credentials"]["store"])) {
    return broken("credentials.store", "is no text");
  }
  const base::json& url = document["api"]["url"];
  if (!text_or_nothing(url)) {
    return broken("api.url", "is no text");
  }
  if (url.is_null()) {
    return {};
  }
  const auto checked = check_api_url(base::trim(*url.string()));
  return checked ? base::result<void>() : checked.error();
}

} // namespace

base::result<void> validate_profile(const base::json& document) {
  if (!document.is_object()) {
    return base::error{base::error_code::invalid, "the root is no JSON object"};
  }
  const base::json* version = document.find("schema_version");
  if (version != nullptr && (!version->is_number() || version->integer() != 1)) {
    return broken("schema_version", "is not 1, the only one this program knows");
  }
  for (const auto check : {check_shapes, check_providers, check_rulings}) {
    if (auto checked = check(document); !checked) {
      return checked;
    }
  }
  if (auto limits = limits_of(document["cloud_host"]["limits"]); !limits) {
    return std::move(limits).error();
  }
  return {};
}

} // namespace siteagent::fleet
