// SPDX-License-Identifier: MIT
// stado config: the deployment profile.
#include "core/app/stado/command.hpp"
#include "core/app/stado/manual.hpp"
#include "core/base/text.hpp"
#include "core/fleet/files.hpp"
#include "core/fleet/limits.hpp"
#include "core/fleet/provider.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <ostream>

namespace siteagent::app::stado {

namespace {

struct config_options {
  std::string key;
  std::string value;
  std::string path;
  bool resolved = false;
  bool json = false;
};

// Settings of the core with an environment variable of their own.
struct known_setting {
  std::string_view key;
  std::string_view variable;
  bool is_list;
  std::string_view fallback; // JSON
};

constexpr std::array known_settings{
    known_setting{"providers", "WC_PROVIDERS", true, "[]"},
    known_setting{"providers_disabled", "WC_DISABLED_PROVIDERS", true, "[]"},
    known_setting{"storage.backend", "WC_STORAGE_BACKEND", false, "\"local\""},
    known_setting{
        "storage.local.path", "WC_LOCAL_STORAGE_PATH", false, "\"~/.stado/local-storage\""},
    known_setting{
        "credentials.store", "STADO_CREDENTIALS_STORE", false, "\"~/.stado/credentials.json\""},
    known_setting{"api.url", "STADO_API_URL", false, "null"},
};

// A string bare, anything else as JSON.
void print_value(const invocation& i, const base::json& value) {
  const auto text = value.string();
  *i.out << (text ? std::string(*text) : value.pretty()) << std::endl;
}

base::error no_profile(const invocation& i) {
  return {
      base::error_code::refused,
      "there is no profile at " + base::join(fleet::profile_places(i.env, i.where), ", ") +
          "; stado config init makes one"};
}

int run_init(const invocation& i, const config_options& o) {
  const auto done = fleet::init_profile(i.env, i.where, i.local_hostname);
  if (!done) {
    return report_failure(i, done.error(), o.json);
  }
  const auto used = fleet::profile::load(i.env, i.where);
  if (used && used->file() != done->profile) {
    *i.err << "Warning: commands read " << (used->file().empty() ? "no profile" : used->file())
           << " and not the new file, which comes later in the search order" << std::endl;
  }
  if (o.json) {
    print_json(
        i,
        base::json::object(
            {{"path", done->profile},
             {"registry", done->registry},
             {"registry_made", done->registry_made}}
        )
    );
    return exit_success;
  }
  *i.out << "made " << done->profile << '\n'
         << (done->registry_made ? "made " : "kept the registry ") << done->registry << std::endl;
  return exit_success;
}

int run_show(const invocation& i, const config_options& o) {
  const auto p = fleet::profile::load(i.env, i.where);
  if (!p || p->file().empty()) {
    return report_failure(i, p ? no_profile(i) : p.error(), o.json);
  }
  *i.err << "profile " << p->file() << std::endl;
  *i.out << p->document().pretty() << std::endl;
  return exit_success;
}

// The variable that a plugin binds to a key of its section; "" = none.
std::pair<std::string, bool> bound_variable(const invocation& i, const std::string& key) {
  const std::size_t dot = key.find('.');
  if (dot == std::string::npos) {
    return {};
  }
  const auto provider = fleet::load_provider(key.substr(0, dot), i.plugins);
  if (!provider) {
    return {};
  }
  for (const auto* list :
       {&provider->description.bindings, &provider->description.optional_bindings}) {
    for (const fleet::binding& b : *list) {
      if (b.key == key.substr(dot + 1)) {
        return {b.variable, b.is_list};
      }
    }
  }
  return {};
}

// What the commands would use: the variable, else the file's, else the built-in value.
base::result<base::json>
resolve(const invocation& i, const fleet::profile& p, const std::string& key) {
  const auto* known =
      std::find_if(known_settings.begin(), known_settings.end(), [&](const known_setting& s) {
        return s.key == key;
      });
  const bool is_known = known != known_settings.end();
  const auto [variable, is_list] =
      is_known ? std::pair(std::string(known->variable), known->is_list) : bound_variable(i, key);
  if (is_list) {
    auto items = p.list(key, variable);
    if (!items) {
      return std::move(items).error();
    }
    if (*items) {
      base::json list = base::json::array();
      for (std::string& item : **items) {
        list.push_back(std::move(item));
      }
      return list;
    }
  } else if (const auto set = variable.empty() ? std::nullopt : p.text(key, variable)) {
    return base::json(*set);
  }
  const base::json* in_file = p.find(key);
  if (in_file != nullptr && !in_file->is_null()) {
    return *in_file;
  }
  return is_known ? fleet::value_from(known->fallback) : base::json();
}

int run_get(const invocation& i, const config_options& o) {
  const auto p = fleet::profile::load(i.env, i.where);
  if (!p) {
    return report_failure(i, p.error(), false);
  }
  const base::json* in_file = p->find(o.key);
  base::result<base::json> value = in_file == nullptr ? base::json() : *in_file;
  if (o.resolved) {
    value = resolve(i, *p, o.key);
  }
  if (!value) {
    return report_failure(i, value.error(), false);
  }
  if (value->is_null() && (o.resolved || in_file == nullptr)) {
    const std::string where = p->file().empty() ? "there is no profile" : "profile " + p->file();
    return report_failure(
        i,
        {base::error_code::not_found,
         o.key + " is not set (" + where + "); stado config set declares it"},
        false
    );
  }
  print_value(i, *value);
  return exit_success;
}

// A provider that is not installed here is no fault of the file, but rarely meant.
std::vector<std::string> missing_providers(const invocation& i, const fleet::profile& p) {
  std::vector<std::string> missing;
  const auto lists = fleet::provider_lists_of(p);
  if (!lists) {
    return missing;
  }
  for (const auto* names : {&lists->enabled, &lists->disabled}) {
    for (const std::string& name : *names) {
      const bool found = std::any_of(
          i.plugins.begin(),
          i.plugins.end(),
          [&](const host::plugin_directory& directory) {
            std::error_code ignored;
            return std::filesystem::exists(directory.path + "/" + name + ".so", ignored);
          }
      );
      if (!found && name != "local") {
        missing.push_back(name);
      }
    }
  }
  return missing;
}

std::string searched(const invocation& i) {
  std::vector<std::string> paths;
  for (const host::plugin_directory& directory : i.plugins) {
    paths.push_back(directory.path);
  }
  return base::join(paths, ", ");
}

void report_change(const invocation& i, const fleet::profile_change& change, bool json) {
  if (json) {
    print_json(
        i,
        base::json::object(
            {{"key", change.path},
             {"previous", change.previous},
             {"value", change.value},
             {"path", change.file}}
        )
    );
    return;
  }
  *i.out << change.path << ": " << change.previous.dump() << " -> " << change.value.dump() << " in "
         << change.file << std::endl;
}

int run_set(const invocation& i, const config_options& o) {
  const auto change = fleet::set_in_profile(i.env, i.where, o.key, o.value);
  if (!change) {
    return report_failure(i, change.error(), o.json);
  }
  report_change(i, *change, o.json);
  const auto now = fleet::profile::load(i.env, i.where);
  if (now && o.key.starts_with("providers")) {
    for (const std::string& name : missing_providers(i, *now)) {
      *i.err << "Warning: no plugin '" << name << "' in " << searched(i) << std::endl;
    }
  }
  return exit_success;
}

int run_unset(const invocation& i, const config_options& o) {
  const auto change = fleet::unset_in_profile(i.env, i.where, o.key);
  if (!change) {
    return report_failure(i, change.error(), o.json);
  }
  report_change(i, *change, o.json);
  return exit_success;
}

// A section that is nearly one of ours is a slip of the pen; others belong to providers.
void warn_of_slips(const invocation& i, const base::json& document) {
  const std::vector<std::string_view> sections{
      "schema_version",
      "providers",
      "providers_disabled",
      "storage",
      "credentials",
      "api",
      "cloud_host"};
  for (const auto& [key, value] : document.members()) {
    const bool known = std::find(sections.begin(), sections.end(), key) != sections.end();
    const std::string_view near = known ? "" : base::nearest(key, sections);
    if (!near.empty() && !key.starts_with("_")) {
      *i.err << "Warning: '" << key << "' is read by no command; did you mean '" << near << "'?"
             << std::endl;
    }
  }
}

// A file of its own: its rules alone. The profile in use: also what it leads to on this machine.
int run_validate(const invocation& i, const config_options& o) {
  fleet::environment env = i.env;
  if (!o.path.empty()) {
    env = [&](std::string_view name) {
      return name == "STADO_CONFIG" ? std::optional(o.path) : i.env(name);
    };
  }
  const auto p = fleet::profile::load(env, i.where);
  if (!p || p->file().empty()) {
    const base::error none =
        o.path.empty() ? no_profile(i)
                       : base::error{base::error_code::not_found, "there is no file " + o.path};
    return report_failure(i, p ? none : p.error(), false);
  }
  if (const std::vector<std::string> missing = missing_providers(i, *p); !missing.empty()) {
    return report_failure(
        i,
        {base::error_code::invalid,
         p->file() + ": providers or providers_disabled name " + base::join(missing, ", ") +
             ", for which there is no plugin in " + searched(i)},
        false
    );
  }
  if (const auto store = fleet::registry_store::open(*p, i.where, *i.clock); !store) {
    return report_failure(i, with_context(store.error(), p->file()), false);
  }
  if (const auto store = fleet::credential_store::open(*p, i.where); !store) {
    return report_failure(i, with_context(store.error(), p->file()), false);
  }
  warn_of_slips(i, p->document());
  *i.out << p->file() << " is valid" << std::endl;
  return exit_success;
}

} // namespace

void add_config_commands(CLI::App& app, chosen_command& chosen) {
  CLI::App& config = *app.add_subcommand("config", "The deployment profile, a JSON file");
  config.require_subcommand(1);
  config.footer("The profile is the first of $STADO_CONFIG (which alone counts when it is set),\n"
                "./stado.config.json, ~/.config/stado/config.json and ~/.stado/config.json.\n"
                "A KEY is dotted, as in storage.local.path. Keys that begin with _ are comments.");
  const auto options = std::make_shared<config_options>();
  const auto key = [&](CLI::App& sub) {
    sub.add_option("KEY", options->key, "The dotted key")->required();
  };
  add_json_flag(
      add_local_command(
          config,
          chosen,
          "init",
          "Make ~/.stado/config.json, and a registry with this machine as its only target",
          run_init,
          options
      ),
      options->json
  );
  add_local_command(config, chosen, "show", "Print the file", run_show, options);
  CLI::App& get =
      add_local_command(config, chosen, "get", "Print one value of the file", run_get, options);
  key(get);
  get.add_flag(
      "--resolved", options->resolved, "What commands use: environment, file, built-in value"
  );
  CLI::App& set = add_local_command(config, chosen, "set", "Change one value", run_set, options);
  key(set);
  set.add_option("VALUE", options->value, "JSON, or else a plain text")->required();
  add_json_flag(set, options->json);
  set.footer("The whole file is checked before it is replaced; a file that would break a rule "
             "stays as it is.");
  CLI::App& unset =
      add_local_command(config, chosen, "unset", "Remove one value", run_unset, options);
  key(unset);
  add_json_flag(unset, options->json);
  add_local_command(config, chosen, "validate", "Check the file", run_validate, options)
      .add_option("PATH", options->path, "Another file than the one in use");
}

} // namespace siteagent::app::stado
