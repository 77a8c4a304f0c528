// SPDX-License-Identifier: MIT
// The null plugin's "cloud": machines with a disk each, in memory or in a JSON file.
#pragma once

#include "core/base/json.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <string>

namespace siteagent::null {

struct resource {
  std::string uuid;
  std::string name;
  std::string created_at;
  base::json tags = base::json::object();
  base::json limits = base::json::object();
  base::json users = base::json::object(); // username -> {"role","limits"}
  bool has_disk = false;
  bool has_machine = false;
  std::string power = "running";
};

using resources = std::map<std::string, resource>; // by uuid

inline std::string machine_id(const std::string& uuid) {
  return "null:" + uuid;
}

inline std::string disk_id(const std::string& uuid) {
  return "null:" + uuid + "/disk";
}

class store {
public:
  // "": in memory, gone with the instance. Else the file is created when first written (0600).
  explicit store(std::string file) : file_(std::move(file)) {}

  // Alone with everything; what `work` changed is kept when it returns true. With a file: locked
  // against other processes too, read before and replaced atomically after. Throws sagent::failure
  // when the file cannot be read or written. [any thread]
  void change(const std::function<bool(resources&)>& work);
  // The same, read-only.
  void look(const std::function<void(const resources&)>& work);

private:
  std::mutex mutex_;
  resources in_memory_;
  const std::string file_;
};

} // namespace siteagent::null
