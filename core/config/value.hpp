// SPDX-License-Identifier: MIT
// A YAML value with its position, as the operator wrote it: scalars stay text until a reader or a
// plugin's schema says what they are. Free of yaml-cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::config {

struct position {
  int line = 0;  // from 1; 0: unknown
  int column = 0;
};

struct value {
  enum class kind : std::uint8_t { null, scalar, list, map };
  using entry = std::pair<std::string, value>;

  kind type = kind::null;
  std::string text;     // scalars
  bool quoted = false;  // a scalar in quotes: text, whatever it looks like
  std::vector<value> list;
  std::vector<entry> map;
  position at;

  const value* find(std::string_view key) const;
};

// What was found wrong. Printed as "file:line:column: error|warning: key: why".
struct finding {
  bool fatal = false;
  std::string file;
  position at;
  std::string key;  // path, for example "offerings[0].backend_settings.tenant_id"
  std::string why;

  std::string text() const;
};

}  // namespace siteagent::config
