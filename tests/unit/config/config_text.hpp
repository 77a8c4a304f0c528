// SPDX-License-Identifier: MIT
// YAML texts and lookups shared by the configuration tests.
#pragma once

#include "core/config/config.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace siteagent::config {

// A whole file with one valid offering; `extra` are further lines of the offering, indented by
// four, `root` further lines of the top level.
inline std::string file_with(std::string_view extra, std::string_view root = "") {
  return "offerings:\n"                                                 // 1
         "  - name: Azure VM\n"                                         // 2
         "    waldur_api_url: https://waldur.example.com/api/\n"        // 3
         "    waldur_api_token: token-of-the-agent\n"                   // 4
         "    waldur_offering_uuid: e2ef0000000000000000000000000201\n" // 5
         "    backend_type: azure\n" +                                  // 6
         std::string(extra) +
         std::string(root);
}

inline agent_config parsed(const std::string& text) {
  auto config = parse(text, "agent.yaml");
  EXPECT_TRUE(config.has_value()) << (config ? "" : config.error().message);
  return config ? *std::move(config) : agent_config{};
}

inline std::string refusal(const std::string& text) {
  const auto config = parse(text, "agent.yaml");
  EXPECT_FALSE(config.has_value());
  return config ? "" : config.error().message;
}

inline std::vector<std::string> texts(const agent_config& config) {
  std::vector<std::string> out;
  for (const finding& f : config.findings) {
    out.push_back(f.text());
  }
  return out;
}

} // namespace siteagent::config
