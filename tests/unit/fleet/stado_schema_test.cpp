// SPDX-License-Identifier: MIT
// What the commands of files print with --json, held against the schemas that ship.
#include "tests/fleet/schema_check.hpp"
#include "tests/unit/fleet/stado_rig.hpp"

#include <gtest/gtest.h>

namespace siteagent::app::stado {
namespace {

using fleet::test::schema_fault;
using tests::ended;
using tests::stado_rig;

class stado_schema : public testing::Test {
protected:
  // What the command printed must keep to the schema of that name.
  base::json holds(const std::string& schema, std::vector<std::string> words, int code = 0) {
    words.emplace_back("--json");
    const ended e = rig.run(words);
    EXPECT_EQ(e.code, code) << e.err;
    const auto document = base::json::parse(e.out);
    EXPECT_TRUE(document) << e.out;
    EXPECT_EQ(schema_fault(schema, document.value_or(base::json())), "");
    return document.value_or(base::json());
  }

  stado_rig rig;
};

TEST_F(stado_schema, of_the_profile_s_commands) {
  holds("config-init", {"config", "init"});
  holds("error", {"config", "init"}, 1);
  holds("config-change", {"config", "set", "api.url", "https://stado.example.com"});
  holds("config-change", {"config", "set", "api.url", "https://stado.example.org"});
  holds("config-change", {"config", "unset", "api.url"});
}

TEST_F(stado_schema, of_the_registry_s_commands) {
  holds("config-init", {"config", "init"});
  const std::vector<std::string> words{
      "registry", "set", "--path", "targets.this-machine.notes", "--value", "mine"};
  EXPECT_EQ(holds("registry-set", words)["state"].string(), "set");
  EXPECT_EQ(holds("registry-set", words)["state"].string(), "unchanged");
  const base::json pulled = holds("registry-pull", {"registry", "pull"});
  const std::string file = rig.write("again.json", pulled["value"].pretty());
  holds("registry-push", {"registry", "push", file});
  holds("registry-pull", {"registry", "get", "--path", "targets.this-machine.notes"});
  holds("error", {"registry", "get", "--path", "nowhere.at.all"}, 1);
}

TEST_F(stado_schema, of_the_keys_commands) {
  holds("fleet-keys", {"fleet", "key", "ls"});
  holds("fleet-key", {"fleet", "key", "generate", "b1"});
  EXPECT_EQ(holds("fleet-keys", {"fleet", "key", "ls"})["keys"].size(), 1U);
  holds("fleet-key-removal", {"fleet", "key", "rm", "b1"});
  holds("fleet-key-removal", {"fleet", "key", "rm", "b1"});
  holds("error", {"fleet", "key", "add", "b1", "absent"}, 1);
}

} // namespace
} // namespace siteagent::app::stado
