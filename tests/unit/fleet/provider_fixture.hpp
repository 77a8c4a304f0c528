// SPDX-License-Identifier: MIT
// A provider over the plugin two-extensions, which answers what the profile says.
#pragma once

#include "core/fleet/provider.hpp"
#include "core/host/plugin.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

namespace siteagent::base {

inline void PrintTo(const json& j, std::ostream* out) {
  *out << j.dump();
}

} // namespace siteagent::base

namespace siteagent::tests {

using base::error_code;
using base::json;

class provider_rig : public testing::Test {
protected:
  static std::vector<host::plugin_directory> test_plugins() {
    return host::search_path({SITEAGENT_TEST_PLUGINS});
  }

  static fleet::loaded_provider load(const std::string& id, const std::string& directory) {
    auto loaded = fleet::load_provider(id, host::search_path({directory}));
    EXPECT_TRUE(loaded) << loaded.error().message;
    return loaded ? *loaded : fleet::loaded_provider{};
  }

  static fleet::loaded_provider two() { return load("two-extensions", SITEAGENT_TEST_PLUGINS); }

  // The provider's section; account and login are there.
  void section(const std::string& members = "") {
    home_.write_profile(
        R"({"two-extensions":{"account":"abc","login":"dev")" +
        (members.empty() ? "" : "," + members) + "}}"
    );
  }

  base::result<std::unique_ptr<fleet::provider>> open() {
    const auto loaded = two();
    const fleet::profile p = home_.profile();
    const auto b = fleet::bindings_of(p, loaded.description);
    if (!b) {
      return b.error();
    }
    const auto store = fleet::credential_store::open(p, home_.where());
    if (!store) {
      return store.error();
    }
    return fleet::open_provider(loaded, p, *b, *store);
  }

  // With these answers, by operation.
  std::unique_ptr<fleet::provider> answering(const std::string& answers) {
    section(R"("answers":)" + answers);
    auto opened = open();
    EXPECT_TRUE(opened) << opened.error().message;
    return opened ? *std::move(opened) : nullptr;
  }

  scratch home_;
};

} // namespace siteagent::tests
