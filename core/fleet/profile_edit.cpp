// SPDX-License-Identifier: MIT
// Changing the profile's file, and making the first one.
#include "core/fleet/profile.hpp"

#include "core/base/text.hpp"
#include "core/fleet/files.hpp"
#include "core/fleet/registry.hpp"
#include "core/fleet/registry_document.hpp"

#include <sys/utsname.h>

#include <algorithm>

namespace siteagent::fleet {

namespace {

constexpr std::chrono::minutes lock_wait(1); // others only write a small file

base::result<std::string> find_file(const environment& env, const folders& f) {
  const std::vector<std::string> places = profile_places(env, f);
  for (const std::string& place : places) {
    const auto text = read_file(place);
    if (text || text.error().code != base::error_code::not_found) {
      return place;
    }
  }
  return base::error{
      base::error_code::refused,
      "there is no profile at " + base::join(places, ", ") + "; stado config init makes " +
          f.state + "/config.json"};
}

base::result<std::vector<std::string>> keys_of(std::string_view path) {
  std::vector<std::string> keys;
  for (const std::string_view key : base::split(path, '.')) {
    if (key.empty()) {
      return base::error{
          base::error_code::invalid,
          "'" + std::string(path) + "' is no key such as storage.local.path"};
    }
    keys.emplace_back(key);
  }
  return keys;
}

base::error in_the_way(const std::string& path, const std::string& key) {
  return {
      base::error_code::refused,
      path + " is no object and cannot hold " + key + "; stado config unset " + path +
          " removes it"};
}

// The object that holds the last key; missing ones on the way are made when `make`, else nullptr.
base::result<base::json*>
holder_of(base::json& document, const std::vector<std::string>& keys, bool make) {
  base::json* here = &document;
  std::string path;
  for (std::size_t n = 0; n + 1 < keys.size(); ++n) {
    path += (path.empty() ? "" : ".") + keys[n];
    base::json* next = here->find(keys[n]);
    if (next == nullptr && !make) {
      return static_cast<base::json*>(nullptr);
    }
    here = next != nullptr ? next : &here->set(keys[n], base::json::object()).member_ref(keys[n]);
    if (!here->is_object()) {
      return in_the_way(path, keys[n + 1]);
    }
  }
  return here;
}

// Reads, changes, checks and replaces the file while no other stado does.
base::result<profile_change> change_file(
    const environment& env,
    const folders& f,
    std::string_view path,
    const std::optional<base::json>& value
) {
  const auto keys = keys_of(path);
  if (!keys) {
    return keys.error();
  }
  const auto file = find_file(env, f);
  if (!file) {
    return file.error();
  }
  const auto lock = file_lock::take(*file + ".lock", "stado config", {lock_wait, {}});
  if (!lock) {
    return lock.error();
  }
  const auto text = read_file(*file);
  if (!text) {
    return text.error();
  }
  auto document = parse_document(*file, *text);
  if (!document) {
    return std::move(document).error();
  }
  if (!document->is_object()) {
    return base::error{base::error_code::invalid, *file + ": the root is no JSON object"};
  }
  const auto holder = holder_of(*document, *keys, value.has_value());
  if (!holder) {
    return with_context(holder.error(), *file);
  }
  profile_change change;
  change.file = *file;
  change.path = path;
  const base::json* old = *holder == nullptr ? nullptr : (*holder)->find(keys->back());
  if (old != nullptr) {
    change.previous = *old;
  }
  if (value) {
    change.value = *value;
    (*holder)->set(keys->back(), *value);
  } else if (old == nullptr) {
    return change;
  } else {
    (*holder)->erase(keys->back());
  }
  if (const auto valid = validate_profile(*document); !valid) {
    return with_context(valid.error(), *file + " is left as it was");
  }
  if (const auto replaced = replace_file(*file, document->pretty() + "\n"); !replaced) {
    return replaced.error();
  }
  return change;
}

base::result<std::string> release_platform_of_this_machine() {
  utsname about{};
  (void)uname(&about);
  const std::string os = about.sysname;
  const std::string arch = about.machine;
  if (os == "Linux" && arch == "x86_64") {
    return std::string("linux-amd64");
  }
  return base::error{
      base::error_code::refused,
      "this machine is " + os + " " + arch +
          ", which no registry target can be; run stado config init on a Linux x86_64 machine"};
}

// A registry whose only target is this machine.
base::result<base::json> first_registry(const std::string& local_hostname) {
  auto platform = release_platform_of_this_machine();
  if (!platform) {
    return std::move(platform).error();
  }
  const std::string name = normalized_hostname(local_hostname);
  if (!is_target_identifier(name)) {
    return base::error{
        base::error_code::refused,
        "the host name '" + local_hostname +
            "' is no target name (a-z, 0-9, '.', '_' and '-'); set another one with hostnamectl"};
  }
  base::json target = base::json::object(
      {{"name", name},
       {"kind", "local"},
       {"ssh", nullptr},
       {"hostnames", base::json::array()},
       {"release_platform", *platform}}
  );
  return base::json::object(
      {{"schema_version", 2}, {"targets", base::json::array({std::move(target)})}}
  );
}

} // namespace

base::result<profile_change> set_in_profile(
    const environment& env, const folders& f, std::string_view path, std::string_view text
) {
  return change_file(env, f, path, value_from(text));
}

base::result<profile_change>
unset_in_profile(const environment& env, const folders& f, std::string_view path) {
  return change_file(env, f, path, std::nullopt);
}

base::result<initialised>
init_profile(const environment& env, const folders& f, const std::string& local_hostname) {
  // Everything that can be refused comes before the first file.
  const auto document = first_registry(local_hostname);
  if (!document) {
    return document.error();
  }
  initialised done;
  done.profile = f.state + "/config.json";
  if (auto made = make_directories(f.state); !made) {
    return std::move(made).error();
  }
  const base::json first = base::json::object(
      {{"schema_version", 1},
       {"providers", base::json::array()},
       {"providers_disabled", base::json::array()}}
  );
  if (auto created = create_file(done.profile, first.pretty() + "\n"); !created) {
    if (created.error().code == base::error_code::conflict) {
      created.error().code = base::error_code::refused;
      created.error().message += "; stado config set changes it";
    }
    return std::move(created).error();
  }
  const auto read = profile::load(env, f);
  if (!read) {
    return read.error();
  }
  const auto store = registry_store::open(*read, f, base::real_clock());
  if (!store) {
    return store.error();
  }
  done.registry = store->location();
  const auto made = store->create(*document);
  if (!made && made.error().code != base::error_code::conflict) {
    return made.error();
  }
  done.registry_made = made.has_value();
  return done;
}

} // namespace siteagent::fleet
