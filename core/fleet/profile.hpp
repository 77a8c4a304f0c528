// SPDX-License-Identifier: MIT
// The deployment profile: one JSON file, read once per process; the environment overrides single
// settings for one invocation and is never written anywhere.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/fleet/surroundings.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

class profile {
public:
  // Searches $STADO_CONFIG (set: only that), ./stado.config.json, ~/.config/stado/config.json,
  // ~/.stado/config.json. No file at all is an empty profile. `invalid` naming the file (and line
  // and column) when it is no JSON object, or breaks a rule of validate_profile.
  static base::result<profile> load(const environment& env, const folders& f);

  // "" when there is none.
  const std::string& file() const { return file_; }

  const base::json& document() const { return document_; }

  // The file's value at a dotted path; nullptr when absent.
  const base::json* find(std::string_view path) const;

  // Environment, then file. Scalars only; blank text and other types count as absent. `variable` ""
  // = none.
  std::optional<std::string> text(std::string_view path, std::string_view variable = {}) const;
  // The same for lists: the variable is split at commas; in the file an array of texts (`invalid`
  // when it is something else). Items are trimmed, empty ones dropped. nullopt: declared nowhere.
  base::result<std::optional<std::vector<std::string>>>
  list(std::string_view path, std::string_view variable = {}) const;

  const environment& variables() const { return env_; }

private:
  profile(environment env, std::string file, base::json document);

  environment env_;
  std::string file_;
  base::json document_;
};

// Where load looks, in its order.
std::vector<std::string> profile_places(const environment& env, const folders& f);

// Rules of the file as a whole; the first broken one, with its dotted path. What another machine
// may have and this one lacks (plugins, a store) is no rule here.
base::result<void> validate_profile(const base::json& document);

// Providers as the environment and the file have it, each in lower case; the fence is not applied.
struct provider_lists {
  std::vector<std::string> enabled;
  std::vector<std::string> disabled;
};

base::result<provider_lists> provider_lists_of(const profile& p);

// A document's text, or `invalid` with "FILE:LINE:COLUMN: why". 200 levels at most.
base::result<base::json> parse_document(const std::string& file, std::string_view text);
// A value as an operator writes it: JSON, or else the text itself.
base::json value_from(std::string_view text);

struct profile_change {
  std::string file;
  std::string path;
  base::json previous; // null when there was none
  base::json value;    // null when unset
};

// `stado config set|unset`. `text` is JSON, or a plain string when it is none. Locked, validated as
// a whole, then replaced with its mode kept; an invalid result leaves the file as it was.
base::result<profile_change> set_in_profile(
    const environment& env, const folders& f, std::string_view path, std::string_view text
);
base::result<profile_change>
unset_in_profile(const environment& env, const folders& f, std::string_view path);

// `stado config init`: ~/.stado/config.json (`refused` when there is one) and, when the store has
// no registry, one with this machine as its only target.
struct initialised {
  std::string profile;
  std::string registry;
  bool registry_made = false; // false: there was one
};

base::result<initialised>
init_profile(const environment& env, const folders& f, const std::string& local_hostname);

// Is the provider listed in providers (WC_PROVIDERS) and not in providers_disabled
// (WC_DISABLED_PROVIDERS)? `refused`, the message beginning with "PROVIDER_DISABLED: " or
// "PROVIDER_NOT_ENABLED: ".
base::result<void> check_enabled(const profile& p, std::string_view provider);

} // namespace siteagent::fleet
