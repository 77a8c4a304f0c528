// SPDX-License-Identifier: MIT
#include "core/config/rewrite.hpp"

#include "core/config/yaml.hpp"

#include <gtest/gtest.h>

namespace siteagent::config {
namespace {

value tree_of(const std::string& text) {
  std::vector<finding> findings;
  auto tree = read_yaml(text, "x.yaml", findings);
  EXPECT_TRUE(tree.has_value()) << (tree ? "" : tree.error().message);
  return tree ? *tree : value{};
}

TEST(rewrite, reads_back_as_the_same_tree) {
  for (const char* text :
       {"a: 1\nb: '1'\nc: yes\nd: \"yes\"\ne: 0123\nf: -5\ng: -x\nh: ~\n",
        "a: 'x y: z'\n",
        "a: [1, {b: c}, 'd, e', \"#f\"]\n",
        "a: |\n  two\n  lines\n",
        "a: https://waldur.example.com/api/\n",
        "a: 'it''s'\n\"k: 1\": v\n",
        "a: null\nb: 'null'\nc: ''\n",
        "a: \"\\u00e4 \\\" \\\\\"\n",
        "a: 1.10\nb: +5\nc: .5\nd: 1:30\n",
        "a: '- b'\nb: '*c'\nc: '&d'\n",
        "x: &y {k: v}\nz: *y\n"}) {
    const value before = tree_of(text);
    const std::string written = to_yaml(before);
    const value after = tree_of(written);
    // A scalar that needs quotes in a flow collection is text either way.
    EXPECT_EQ(to_json(after).dump(), to_json(before).dump()) << text << "became\n" << written;
  }
}

TEST(rewrite, changes_adds_and_drops_keys_in_their_place) {
  value tree = tree_of("a: 1\nb: {c: 2}\nd: 3\n");
  set_key(tree, "b", from_json(base::json::object({{"x", "1"}, {"y", 1}, {"z", true}})));
  set_key(tree, "new", from_json(base::json("text")));
  erase_key(tree, "d");
  erase_key(tree, "absent");
  EXPECT_EQ(
      to_yaml(tree), "\"a\": 1\n\"b\": {\"x\": \"1\", \"y\": 1, \"z\": true}\n\"new\": \"text\"\n"
  );
}

TEST(rewrite, names_a_file_it_cannot_use) {
  const auto tree = read_tree("/nonexistent/x.yaml");
  ASSERT_FALSE(tree.has_value());
  EXPECT_EQ(tree.error().message, "/nonexistent/x.yaml: cannot be read: No such file or directory");
}

} // namespace
} // namespace siteagent::config
