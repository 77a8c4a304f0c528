// SPDX-License-Identifier: MIT
// A home of its own for each test, with an environment that is a map.
#pragma once

#include "core/fleet/files.hpp"
#include "core/fleet/profile.hpp"
#include "core/fleet/registry.hpp"
#include "core/fleet/surroundings.hpp"

#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

namespace siteagent::tests {

class scratch {
public:
  scratch() : home_(std::filesystem::temp_directory_path() / "fleet-test-XXXXXX") {
    if (mkdtemp(home_.data()) == nullptr) {
      throw std::runtime_error("no scratch directory");
    }
  }

  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;

  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(home_, ignored);
  }

  const std::string& home() const { return home_; }

  std::string path(std::string_view below) const { return home_ + "/" + std::string(below); }

  fleet::folders where() const { return {.home = home_, .state = home_ + "/.stado"}; }

  // A variable, "" = unset again.
  void set(const std::string& name, const std::string& value) { (*variables_)[name] = value; }

  fleet::environment env() const {
    return [variables = variables_,
            home = home_](std::string_view name) -> std::optional<std::string> {
      if (name == "HOME") {
        return home;
      }
      const auto found = variables->find(std::string(name));
      return found == variables->end() || found->second.empty() ? std::nullopt
                                                                : std::optional(found->second);
    };
  }

  // Writes a file, and the directories on the way.
  std::string
  write(std::string_view below, std::string_view content, mode_t mode = S_IRUSR | S_IWUSR) const {
    const std::string file = path(below);
    std::filesystem::create_directories(std::filesystem::path(file).parent_path());
    if (!fleet::replace_file(file, content, mode)) {
      throw std::runtime_error("cannot write " + file);
    }
    return file;
  }

  std::string read(std::string_view below) const {
    auto content = fleet::read_file(path(below));
    return content ? *content : "(" + content.error().message + ")";
  }

  void write_profile(std::string_view json) const { write(".stado/config.json", json); }

  void write_registry(std::string_view json) const {
    write(".stado/local-storage/registry.json", json);
  }

  std::string registry() const { return read(".stado/local-storage/registry.json"); }

  fleet::profile profile() const {
    auto loaded = fleet::profile::load(env(), where());
    if (!loaded) {
      throw std::runtime_error(loaded.error().message);
    }
    return *std::move(loaded);
  }

  fleet::registry_store store(const base::clock& clock = base::real_clock()) const {
    auto opened = fleet::registry_store::open(profile(), where(), clock);
    if (!opened) {
      throw std::runtime_error(opened.error().message);
    }
    return *std::move(opened);
  }

private:
  std::string home_;
  std::shared_ptr<std::map<std::string, std::string>> variables_ =
      std::make_shared<std::map<std::string, std::string>>();
};

inline mode_t mode_of(const std::string& path) {
  struct stat s {};

  constexpr mode_t permissions = 07777;
  return lstat(path.c_str(), &s) == 0 ? s.st_mode & permissions : 0;
}

// What is in a directory, but not what begins with a dot.
inline std::vector<std::string> names_in(const std::string& directory, bool hidden = false) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory)) {
    const std::string name = entry.path().filename().string();
    if (hidden || !name.starts_with('.')) {
      names.push_back(name);
    }
  }
  return names;
}

inline base::json parsed(std::string_view text) {
  auto value = base::json::parse(text, {.depth = 200});
  if (!value) {
    throw std::runtime_error(value.error().message);
  }
  return *std::move(value);
}

// A registry with one ordinary host and one cloud host.
inline constexpr std::string_view sample_registry = R"({
  "schema_version": 2,
  "targets": [
    {
      "name": "build-host",
      "kind": "local",
      "ssh": "ci@192.0.2.10",
      "hostnames": ["builder"],
      "release_platform": "linux-amd64"
    },
    {
      "name": "b1",
      "kind": "local",
      "ssh": "stado@203.0.113.7",
      "hostnames": [],
      "release_platform": "linux-amd64",
      "cloud": {
        "provider": "null",
        "location": "eastus",
        "size": "Standard_D8s_v5",
        "disk_gb": 128,
        "hourly_usd": 0.384,
        "priced_where": "westus2",
        "idle_minutes": 30,
        "address": "203.0.113.7",
        "vm_id": "generation-1",
        "created_at": "2026-11-29T12:00:00Z",
        "resources": {"vm": "id-1"},
        "host_key": "SHA256:abc"
      }
    }
  ],
  "cloud_hosts": {
    "admit_from": ["build-host"],
    "egress": {"build-host": {"address": "198.51.100.4", "read_at": "2026-11-29T11:59:58Z"}}
  }
}
)";

} // namespace siteagent::tests
