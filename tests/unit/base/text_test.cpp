// SPDX-License-Identifier: MIT
#include "core/base/text.hpp"

#include <gtest/gtest.h>

namespace siteagent::base {
namespace {

TEST(text, lowers_and_compares_ascii_only) {
  EXPECT_EQ(to_lower("resourceGroups/ÄB"), "resourcegroups/Äb");
  EXPECT_TRUE(equals_ignoring_case("resourceGroups", "RESOURCEGROUPS"));
  EXPECT_FALSE(equals_ignoring_case("a", "ab"));
}

TEST(text, splits_and_joins) {
  EXPECT_EQ(split("a::b", ':'), (std::vector<std::string_view>{"a", "", "b"}));
  EXPECT_EQ(split("", ':'), std::vector<std::string_view>{""});
  EXPECT_EQ(join({"a", "b"}, ", "), "a, b");
  EXPECT_EQ(trim(" \t x y\n"), "x y");
}

TEST(text, suggests_only_what_is_near) {
  const std::vector<std::string_view> known = {
      "membership_sync_backend", "reporting_backend", "name"};
  EXPECT_EQ(nearest("membership_sync_backed", known), "membership_sync_backend");
  EXPECT_EQ(nearest("nmae", known), "");
  EXPECT_EQ(nearest("namee", known), "name");
  EXPECT_EQ(nearest("colour", known), "");
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

TEST(text, encodes_base64_with_padding) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xfe\xfd"), "//79");
}

TEST(text, never_splits_a_character) {
  EXPECT_EQ(truncated("äö", 3), "ä");
  EXPECT_EQ(truncated("abc", 9), "abc");
  EXPECT_EQ(truncated("abc", 2), "ab");
}

} // namespace
} // namespace siteagent::base
