// SPDX-License-Identifier: MIT
#include "core/fleet/profile.hpp"

#include "core/base/text.hpp"
#include "core/fleet/files.hpp"

#include <algorithm>
#include <charconv>

namespace siteagent::fleet {

namespace {

constexpr unsigned most_levels = 200;

std::vector<std::string> items_of(const std::vector<std::string_view>& parts) {
  std::vector<std::string> items;
  for (const std::string_view part : parts) {
    if (const std::string_view item = base::trim(part); !item.empty()) {
      items.emplace_back(item);
    }
  }
  return items;
}

} // namespace

base::result<base::json> parse_document(const std::string& file, std::string_view text) {
  base::json_limits limits;
  limits.depth = most_levels;
  auto parsed = base::json::parse(text, limits);
  if (parsed) {
    return parsed;
  }
  // "not JSON at line 3, column 5: why" becomes "FILE:3:5: not JSON: why".
  constexpr std::string_view start = "not JSON at line ";
  constexpr std::string_view middle = ", column ";
  const std::string_view message = parsed.error().message;
  const std::size_t comma = message.find(middle);
  const std::size_t colon = message.find(": ");
  const bool placed =
      message.starts_with(start) && comma < colon && colon != std::string_view::npos;
  if (!placed) {
    return with_context(parsed.error(), file);
  }
  const std::string_view line = message.substr(start.size(), comma - start.size());
  const std::size_t after = comma + middle.size();
  const std::string_view column = message.substr(after, colon - after);
  std::string placed_message = file;
  placed_message.append(":").append(line).append(":").append(column);
  placed_message.append(": not JSON").append(message.substr(colon));
  return base::error{base::error_code::invalid, placed_message};
}

base::json value_from(std::string_view text) {
  base::json_limits limits;
  limits.depth = most_levels;
  if (auto parsed = base::json::parse(text, limits)) {
    return *std::move(parsed);
  }
  // A number that the parser finds too large is no text; writing it is then refused.
  const base::json number = base::json::number(text);
  return number.is_null() ? base::json(text) : number;
}

profile::profile(environment env, std::string file, base::json document)
    : env_(std::move(env)), file_(std::move(file)), document_(std::move(document)) {}

std::vector<std::string> profile_places(const environment& env, const folders& f) {
  if (const auto chosen = env("STADO_CONFIG")) {
    return {f.expand(*chosen)};
  }
  return {"./stado.config.json", f.home + "/.config/stado/config.json", f.state + "/config.json"};
}

base::result<profile> profile::load(const environment& env, const folders& f) {
  for (const std::string& file : profile_places(env, f)) {
    const auto text = read_file(file);
    if (!text && text.error().code == base::error_code::not_found) {
      continue;
    }
    if (!text) {
      return text.error();
    }
    auto document = parse_document(file, *text);
    if (!document) {
      return std::move(document).error();
    }
    if (const auto valid = validate_profile(*document); !valid) {
      return with_context(valid.error(), file);
    }
    return profile(env, file, *std::move(document));
  }
  return profile(env, "", base::json::object());
}

const base::json* profile::find(std::string_view path) const {
  const base::json* here = &document_;
  for (const std::string_view key : base::split(path, '.')) {
    if (here->is_array()) {
      std::size_t index = 0;
      const auto [end, failed] = std::from_chars(key.data(), key.data() + key.size(), index);
      here = failed == std::errc() && end == key.data() + key.size() && index < here->size()
                 ? &here->items()[index]
                 : nullptr;
    } else {
      here = here->find(key);
    }
    if (here == nullptr) {
      return nullptr;
    }
  }
  return here;
}

std::optional<std::string> profile::text(std::string_view path, std::string_view variable) const {
  std::string found;
  if (auto set = variable.empty() ? std::nullopt : env_(variable)) {
    found = *std::move(set);
  } else if (const base::json* value = find(path)) {
    if (const auto scalar = value->number_text()) { // of a number or a string
      found = *scalar;
    } else if (const auto flag = value->boolean()) {
      found = *flag ? "true" : "false";
    }
  }
  const std::string_view trimmed = base::trim(found);
  return trimmed.empty() ? std::nullopt : std::optional<std::string>(trimmed);
}

base::result<std::optional<std::vector<std::string>>>
profile::list(std::string_view path, std::string_view variable) const {
  if (const auto set = variable.empty() ? std::nullopt : env_(variable)) {
    return std::optional(items_of(base::split(*set, ',')));
  }
  const base::json* value = find(path);
  if (value == nullptr || value->is_null()) {
    return std::optional<std::vector<std::string>>();
  }
  std::vector<std::string_view> texts;
  for (const base::json& item : value->items()) {
    if (const auto text = item.string()) {
      texts.push_back(*text);
    }
  }
  if (!value->is_array() || texts.size() != value->size()) {
    return base::error{
        base::error_code::invalid, file_ + ": " + std::string(path) + " is no array of texts"};
  }
  return std::optional(items_of(texts));
}

base::result<provider_lists> provider_lists_of(const profile& p) {
  provider_lists lists;
  const auto read = [&](std::string_view path,
                        std::string_view variable,
                        std::vector<std::string>& into) -> base::result<void> {
    auto found = p.list(path, variable);
    if (!found) {
      return std::move(found).error();
    }
    for (const std::string& name : found->value_or(std::vector<std::string>())) {
      into.push_back(base::to_lower(name));
    }
    return {};
  };
  if (auto done = read("providers", "WC_PROVIDERS", lists.enabled); !done) {
    return std::move(done).error();
  }
  if (auto done = read("providers_disabled", "WC_DISABLED_PROVIDERS", lists.disabled); !done) {
    return std::move(done).error();
  }
  return lists;
}

base::result<void> check_enabled(const profile& p, std::string_view provider) {
  const auto lists = provider_lists_of(p);
  if (!lists) {
    return lists.error();
  }
  const std::string name = base::to_lower(base::trim(provider));
  const auto holds = [&](const std::vector<std::string>& names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  const auto source = [&](std::string_view key, std::string_view variable) {
    return p.variables()(variable)
               ? "the variable " + std::string(variable)
               : std::string(key) + " of the profile" + (p.file().empty() ? "" : " " + p.file());
  };
  if (holds(lists->disabled)) {
    const std::string where = source("providers_disabled", "WC_DISABLED_PROVIDERS");
    return base::error{
        base::error_code::refused,
        "PROVIDER_DISABLED: " + name + " is named in " + where + "; take it out there to use it"};
  }
  if (!holds(lists->enabled)) {
    const std::string where = source("providers", "WC_PROVIDERS");
    return base::error{
        base::error_code::refused,
        "PROVIDER_NOT_ENABLED: " + name + " is not named in " + where +
            "; stado config set providers declares it"};
  }
  return {};
}

} // namespace siteagent::fleet
