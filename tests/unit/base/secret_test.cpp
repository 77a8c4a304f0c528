// SPDX-License-Identifier: MIT
#include "core/base/secret.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace siteagent::base {
namespace {

template <class T>
concept printable = requires(std::ostream& out, const T& v) {
  out << v;
};

TEST(secret, cannot_be_printed_or_converted_by_accident) {
  EXPECT_FALSE(printable<secret>);
  EXPECT_FALSE((std::is_convertible_v<secret, std::string>));
  EXPECT_FALSE((std::is_convertible_v<secret, std::string_view>));
}

TEST(secret, is_empty_after_it_was_moved_from) {
  secret a("correct horse battery staple");
  const secret b = std::move(a);
  EXPECT_TRUE(a.empty()); // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(b.reveal(), "correct horse battery staple");
}

TEST(redactor, scrubs_every_known_value_longest_first) {
  redactor r;
  r.protect("token-12345");
  r.protect("token-12345-long");
  EXPECT_EQ(r.scrub("a token-12345-long b token-12345 c token-12345"), "a *** b *** c ***");
}

TEST(redactor, leaves_short_values_alone) {
  redactor r;
  r.protect("abc");
  r.protect("");
  EXPECT_EQ(r.scrub("abc abc"), "abc abc");
}

} // namespace
} // namespace siteagent::base
