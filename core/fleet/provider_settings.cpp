// SPDX-License-Identifier: MIT
// What an operator declared for a provider, as its plugin gets it: bindings, credentials, options,
// limits.
#include "core/base/text.hpp"
#include "core/fleet/limits.hpp"
#include "core/fleet/plugin_provider.hpp"
#include "core/fleet/provider.hpp"
#include "core/fleet/user_data.hpp"
#include "core/host/instance.hpp"

#include <algorithm>

namespace siteagent::fleet {

namespace {

using base::json;

constexpr std::string_view settings_key = "settings"; // begins the keys of the host's findings

json to_json(const std::vector<std::string>& texts) {
  json list = json::array();
  for (const std::string& t : texts) {
    list.push_back(t);
  }
  return list;
}

// null: not declared
base::result<json> value_of(const profile& p, const provider_description& d, const binding& b) {
  const std::string path = d.id + "." + b.key;
  if (!b.is_list) {
    const auto text = p.text(path, b.variable);
    return text ? json(std::string(base::trim(*text))) : json();
  }
  auto list = p.list(path, b.variable);
  if (!list) {
    return list.error();
  }
  return *list && !(*list)->empty() ? to_json(**list) : json();
}

base::error missing_bindings(const provider_description& d, const std::vector<std::string>& keys) {
  return {
      .code = base::error_code::refused,
      .message = "a cloud host on " + d.display_name +
                 " is addressed with bindings this deployment does not declare: " +
                 base::join(keys, ", ") + "; stado config set declares each",
      .detail = json::object({{"missing", to_json(keys)}}).dump()};
}

base::result<std::string> checked_login(const provider_description& d, const json& value) {
  const std::string login = value.string_or("");
  const std::string key = d.id + "." + d.login_binding;
  if (!is_login_name(login)) {
    return base::error{
        .code = base::error_code::invalid,
        .message = key + " is no login name: it must match [a-z_][a-z0-9_-]{0,31}; correct it with "
                         "stado config set"};
  }
  const auto& reserved = d.reserved_logins;
  if (std::find(reserved.begin(), reserved.end(), login) != reserved.end()) {
    return base::error{
        .code = base::error_code::invalid,
        .message = key + ": " + d.display_name + " reserves the login '" + login +
                   "'; choose another with stado config set"};
  }
  return login;
}

std::vector<std::string> locations_in(const json& value) {
  std::vector<std::string> made;
  for (const json& each : value.items()) {
    const std::string location = base::to_lower(each.string_or(""));
    if (std::find(made.begin(), made.end(), location) == made.end()) {
      made.push_back(location);
    }
  }
  return made;
}

struct prepared {
  json settings = json::object();
  std::vector<std::pair<std::string, host::secret_reader>> secrets;
};

// Read again at each use: a rotated credential needs no restart of the coordinator.
host::secret_reader
reader_of(const credential_store& store, const std::string& item, const std::string& field) {
  return [store, item, field]() -> base::result<base::secret> {
    const auto found = store.find(item);
    if (!found) {
      return found.error();
    }
    if (*found) {
      if (const auto value = (*found)->fields.find(field); value != (*found)->fields.end()) {
        return value->second;
      }
    }
    return base::error{
        .code = base::error_code::auth,
        .message = "the credential item " + item + " has no field " + field + " any more"};
  };
}

base::result<void> add_credential(
    prepared& made,
    const std::string& role,
    const credential_source& source,
    const profile& p,
    const credential_store& store
) {
  const auto named =
      source.item_variable.empty() ? std::nullopt : p.variables()(source.item_variable);
  const std::string item = named.value_or(source.item);
  const auto found = store.find(item);
  if (!found) {
    return base::with_context(found.error(), "credential item " + item);
  }
  if (!*found) {
    return {};
  }
  json fields = json::object();
  const auto& secret = source.secret_fields;
  for (const auto& [name, value] : (*found)->fields) {
    if (std::find(secret.begin(), secret.end(), name) != secret.end()) {
      const std::string reference = "sagent-secret:" + role + "." + name;
      base::global_redactor().protect(value.reveal());
      fields.set(name, reference);
      made.secrets.emplace_back(reference, reader_of(store, item, name));
    } else if (std::find(source.fields.begin(), source.fields.end(), name) != source.fields.end()) {
      fields.set(name, value.reveal());
    }
  }
  made.settings.member_ref("credentials").set(role, std::move(fields));
  return {};
}

// The provider's section without what reaches the plugin otherwise or concerns us alone.
json options_of(const profile& p, const provider_description& d) {
  const json* section = p.find(d.id);
  json options = section != nullptr && section->is_object() ? *section : json::object();
  options.erase("credit_floor");
  for (const auto* all : {&d.bindings, &d.optional_bindings}) {
    for (const binding& b : *all) {
      options.erase(b.key);
    }
  }
  std::erase_if(options.members(), [](const json::member& m) {
    return m.first.substr(0, 1) == "_"; // a comment
  });
  return options;
}

base::result<prepared> prepare(
    const loaded_provider& l, const profile& p, const bindings& b, const credential_store& store
) {
  const auto limits = limits_of(p);
  if (!limits) {
    return limits.error();
  }
  prepared made;
  made.settings.set("bindings", b.values);
  made.settings.set("credentials", json::object());
  for (const auto& [role, source] : l.description.credentials) {
    if (auto added = add_credential(made, role, source, p, store); !added) {
      return added.error();
    }
  }
  made.settings.set("options", options_of(p, l.description));
  const auto seconds = [](std::chrono::milliseconds t) {
    return std::chrono::duration_cast<std::chrono::seconds>(t).count();
  };
  made.settings.set(
      "limits",
      json::object(
          {{"operation_s", seconds(limits->operation)},
           {"rollback_retry_s", seconds(limits->rollback_retry)},
           {"poll_ms", limits->poll.count()}}
      )
  );
  return made;
}

// "settings.options.hosts[0]" as the operator knows it.
std::string profile_key(const provider_description& d, const std::string& key) {
  const std::string_view inner =
      std::string_view(key).substr(std::min(key.size(), settings_key.size() + 1));
  for (const std::string_view part : {"bindings.", "options."}) {
    if (inner.substr(0, part.size()) == part) {
      return d.id + "." + std::string(inner.substr(part.size()));
    }
  }
  for (const auto& [role, source] : d.credentials) {
    const std::string part = "credentials." + role;
    if (inner.substr(0, part.size()) == part) {
      return "credential item " + source.item + std::string(inner.substr(part.size()));
    }
  }
  return d.id + (inner.empty() ? "" : " " + std::string(inner));
}

base::error refused_settings(
    const provider_description& d,
    const std::vector<config::finding>& findings,
    const base::error& as_given
) {
  std::vector<std::string> found;
  for (const config::finding& f : findings) {
    if (f.fatal) {
      found.push_back(profile_key(d, f.key) + ": " + f.why);
    }
  }
  if (found.empty()) {
    return without_prefix(as_given, d.id + ": settings: ");
  }
  return {
      .code = base::error_code::invalid,
      .message = base::join(found, "; ") + " (correct it with stado config set)"};
}

} // namespace

base::result<bindings> bindings_of(const profile& p, const provider_description& d) {
  bindings made{json::object(), "", {}};
  std::vector<std::string> missing;
  for (const binding& b : d.bindings) {
    auto value = value_of(p, d, b);
    if (!value) {
      return value.error();
    }
    if (value->is_null()) {
      missing.push_back(d.id + "." + b.key);
    }
    made.values.set(b.key, *std::move(value));
  }
  if (!missing.empty()) {
    return missing_bindings(d, missing);
  }
  for (const binding& b : d.optional_bindings) {
    auto value = value_of(p, d, b);
    if (!value) {
      return value.error();
    }
    if (!value->is_null()) {
      made.values.set(b.key, *std::move(value));
    }
  }
  auto login = checked_login(d, made.values[d.login_binding]);
  if (!login) {
    return login.error();
  }
  made.login = *std::move(login);
  made.locations = locations_in(made.values[d.locations_binding]);
  return made;
}

base::result<std::unique_ptr<provider>> open_provider(
    const loaded_provider& l,
    const profile& p,
    const bindings& b,
    const credential_store& credentials
) {
  auto settings = prepare(l, p, b, credentials);
  if (!settings) {
    return settings.error();
  }
  std::vector<config::finding> findings;
  auto opened = host::instance::open(
      l.plugin,
      {.offering_name = {},
       .settings = config::to_value(settings->settings),
       .config_file = p.file(),
       .key_path = std::string(settings_key),
       .extension = SAGENT_EXT_CLOUD_HOST_PROVIDER,
       .secrets = std::move(settings->secrets)},
      &findings
  );
  if (!opened) {
    return refused_settings(l.description, findings, opened.error());
  }
  return make_plugin_provider(*std::move(opened), l.description);
}

} // namespace siteagent::fleet
