// SPDX-License-Identifier: MIT
#include "core/host/plugin.hpp"

#include "core/base/text.hpp"
#include "core/host/inspect.hpp"
#include "core/host/loader.hpp"
#include "core/host/negotiate.hpp"
#include "core/host/plugin_impl.hpp"
#include "core/host/process_state.hpp"
#include "core/host/trust.hpp"
#include "core/observe/log.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>

namespace siteagent::host {

namespace {

constexpr const char* known_extensions[] = {
    SAGENT_EXT_RESOURCE_BACKEND,
    SAGENT_EXT_CLOUD_HOST_PROVIDER,
};

base::error refusal(std::string message) {
  return {.code = base::error_code::invalid, .message = std::move(message)};
}

constexpr std::size_t longest_description = 64 * 1024;

std::string text_or_empty(const char* text, std::size_t longest = 256) {
  return text == nullptr ? "" : std::string(text, ::strnlen(text, longest));
}

// Copies what the plugin says about itself and checks its extensions.
base::result<std::shared_ptr<plugin>> read_plugin(const sagent_plugin& d, const std::string& path) {
  auto made = std::make_shared<plugin>();
  made->descriptor = d;
  made->info.id = text_or_empty(d.id);
  made->info.path = path;
  made->info.version = text_or_empty(d.version);
  made->info.vendor = text_or_empty(d.vendor);
  made->info.abi_minor = d.abi_minor;
  made->info.threads = name_of_thread_model(d.thread_model);
  for (const char* id : known_extensions) {
    if (d.get_extension(id) == nullptr) {
      continue;
    }
    made->info.extensions.emplace_back(id);
    const char* schema = d.get_settings_schema == nullptr ? nullptr : d.get_settings_schema(id);
    if (schema != nullptr) {
      made->info.settings_schemas.emplace(id, schema);
    }
  }
  if (const void* table = d.get_extension(SAGENT_EXT_RESOURCE_BACKEND)) {
    auto backend = read_backend(static_cast<const sagent_resource_backend*>(table));
    if (!backend) {
      return backend.error();
    }
    made->has_backend = true;
    made->backend = *backend;
  }
  if (const void* table = d.get_extension(SAGENT_EXT_CLOUD_HOST_PROVIDER)) {
    auto provider = read_cloud_host_provider(static_cast<const sagent_cloud_host_provider*>(table));
    if (!provider) {
      return provider.error();
    }
    made->has_cloud_host = true;
    made->cloud_host = *provider;
    made->info.cloud_hosts = text_or_empty(provider->describe(), longest_description);
  }
  return made;
}

// Every plugin this process has loaded, by canonical path. Never destroyed: see loader.hpp.
struct plugin_registry {
  std::mutex mutex; // also held while loading, so that two offerings load one plugin once
  std::map<std::string, std::shared_ptr<plugin>> by_path;
};

plugin_registry& registry() {
  static auto* const instance = new plugin_registry;
  return *instance;
}

bool exists(const std::string& path) {
  struct stat st {};

  return ::lstat(path.c_str(), &st) == 0;
}

} // namespace

std::vector<plugin_directory> search_path(const std::vector<std::string>& developer_directories) {
  if (developer_directories.empty()) {
    return {
        {.path = "/usr/local/lib/site-agent/plugins", .developer = false},
        {.path = "/usr/lib/" SITEAGENT_MULTIARCH "/site-agent/plugins", .developer = false}};
  }
  std::vector<plugin_directory> made;
  for (const std::string& d : developer_directories) {
    std::error_code failed;
    const auto absolute = std::filesystem::absolute(d, failed);
    made.push_back({.path = failed ? d : absolute.lexically_normal().string(), .developer = true});
  }
  return made;
}

base::result<std::string>
find_file(std::string_view id, const std::vector<plugin_directory>& directories) {
  if (!is_plugin_id(id)) {
    return refusal(
        "'" + std::string(base::truncated(id, 64)) +
        "' is no plugin name: names are of the form [a-z][a-z0-9-]{0,31}"
    );
  }
  std::vector<std::string> searched;
  const plugin_directory* holder = nullptr;
  std::pair<dev_t, ino_t> holder_identity{};
  for (const plugin_directory& d : directories) {
    struct stat st {};

    searched.push_back(d.path);
    if (::stat(d.path.c_str(), &st) != 0 || !exists(d.path + "/" + std::string(id) + ".so")) {
      continue;
    }
    const std::pair identity{st.st_dev, st.st_ino};
    if (holder != nullptr && identity != holder_identity) {
      return refusal(
          "plugin '" + std::string(id) + "' exists twice, in " + holder->path + " and in " +
          d.path + "; remove one of the two files"
      );
    }
    holder = holder == nullptr ? &d : holder;
    holder_identity = identity;
  }
  if (holder == nullptr) {
    return refusal(
        "there is no plugin '" + std::string(id) + "': no " + std::string(id) + ".so in " +
        base::join(searched, ", ") + "; install it or correct the name"
    );
  }
  return check_file(*holder, id);
}

base::result<std::shared_ptr<plugin>> load_file(const std::string& path, std::string_view stem) {
  const process_guard guard("plugin " + path);
  auto offered = load_descriptor(path);
  if (!offered) {
    return base::with_context(offered.error(), path);
  }
  try {
    auto descriptor = read_descriptor(*offered, stem);
    if (!descriptor) {
      return base::with_context(descriptor.error(), path);
    }
    auto made = read_plugin(*descriptor, path);
    if (!made) {
      return base::with_context(made.error(), path);
    }
    return made;
  } catch (...) {
    return refusal(path + ": threw an exception while it was asked for its extensions");
  }
}

base::result<std::shared_ptr<plugin>>
load_plugin(std::string_view id, const std::vector<plugin_directory>& directories) {
  auto path = find_file(id, directories);
  if (!path) {
    return path.error();
  }
  const std::lock_guard lock(registry().mutex);
  if (const auto known = registry().by_path.find(*path); known != registry().by_path.end()) {
    return known->second;
  }
  if (auto survived = rehearse_load(*path, id); !survived) {
    return survived.error();
  }
  auto loaded = load_file(*path, id);
  if (loaded) {
    registry().by_path.emplace(*path, *loaded);
    const plugin_info& info = (*loaded)->info;
    observe::logger("host").info(
        "plugin loaded",
        {{"plugin", info.id},
         {"path", info.path},
         {"version", info.version},
         {"vendor", info.vendor},
         {"threads", info.threads}}
    );
  }
  return loaded;
}

bool plugin_info::offers(std::string_view extension) const {
  return std::find(extensions.begin(), extensions.end(), extension) != extensions.end();
}

std::string plugin_info::settings_schema(std::string_view extension) const {
  const auto found = settings_schemas.find(extension);
  return found == settings_schemas.end() ? "" : found->second;
}

plugin_info info_of(const plugin& p) {
  return p.info;
}

} // namespace siteagent::host
