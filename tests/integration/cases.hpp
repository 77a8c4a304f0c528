// SPDX-License-Identifier: MIT
// What the tests of field cases share: fault rules, and questions to the journal.
#pragma once

#include "tests/integration/expect.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace siteagent::integration {

inline site_options in_shared_group() {
  site_options options;
  options.settings = "      default_resource_group: shared\n";
  return options;
}

inline json rule(const char* method, const char* path, const char* when, const json& what) {
  return json::object(
      {{"match", json::object({{"method", method}, {"path", path}})}, {"when", when}, {"do", what}}
  );
}

// An answer of Azure's; without a code a page of somebody in between.
inline json arm_answer(int status, const std::string& code, const std::string& text) {
  json body("<html>" + text + "</html>");
  if (!code.empty()) {
    body = json::object({{"error", json::object({{"code", code}, {"message", text}})}});
  }
  return json::object(
      {{"status", status},
       {"headers",
        json::object({{"Content-Type", code.empty() ? "text/html" : "application/json"}})},
       {"body", body}}
  );
}

// The same refusal as long as anybody asks.
inline json lasting(
    const char* method,
    const char* path,
    int status,
    const std::string& code,
    const std::string& text = "No."
) {
  json r = rule(method, path, "before", arm_answer(status, code, text));
  r.member_ref("match").set("times", 0);
  return json::array({r});
}

// The types of what was addressed with this method, in order.
inline std::vector<std::string> kinds_of(const site& s, const std::string& method) {
  std::vector<std::string> out;
  for (const journal_line& l : s.azure().writes()) {
    if (l.method == method) {
      const auto end = l.path.rfind('/');
      const auto start = l.path.rfind('/', end - 1) + 1;
      out.push_back(l.path.substr(start, end - start));
    }
  }
  return out;
}

inline std::ptrdiff_t position(const std::vector<std::string>& kinds, const std::string& kind) {
  const auto at = std::find(kinds.begin(), kinds.end(), kind);
  EXPECT_NE(at, kinds.end()) << kind;
  return at - kinds.begin();
}

inline std::ptrdiff_t count(const site& s, const std::string& method, const std::string& part) {
  const auto lines = s.azure().writes();
  return std::count_if(lines.begin(), lines.end(), [&](const journal_line& l) {
    return l.method == method && l.path.find(part) != std::string::npos;
  });
}

} // namespace siteagent::integration
