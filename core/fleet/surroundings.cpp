// SPDX-License-Identifier: MIT
#include "core/fleet/surroundings.hpp"

#include <cstdlib>

namespace siteagent::fleet {

environment process_environment() {
  return [](std::string_view name) -> std::optional<std::string> {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr || *value == '\0') {
      return std::nullopt;
    }
    return std::string(value);
  };
}

base::result<folders> folders::from(const environment& env) {
  auto home = env("HOME");
  if (!home || home->front() != '/') {
    return base::error{
        .code = base::error_code::invalid,
        .message = home ? "HOME is '" + *home + "', which is no absolute path; set it to your home"
                        : std::string("HOME is not set; set it to your home directory")};
  }
  while (home->size() > 1 && home->back() == '/') {
    home->pop_back();
  }
  return folders{.home = *home, .state = *home + "/.stado"};
}

std::string folders::expand(std::string_view path) const {
  if (path == "~") {
    return home;
  }
  if (path.substr(0, 2) == "~/") {
    return home + std::string(path.substr(1));
  }
  return std::string(path);
}

} // namespace siteagent::fleet
