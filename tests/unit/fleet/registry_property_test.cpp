// SPDX-License-Identifier: MIT
// A document made at random goes through the store and comes back as it was. The generator writes
// JSON text itself and knows its own value, so that a fault of the parser cannot hide one of the
// writer.
#include "core/fleet/registry.hpp"
#include "tests/unit/fleet/scratch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>

namespace siteagent::fleet {
namespace {

using tests::scratch;

class generator {
public:
  explicit generator(unsigned seed) : random_(seed) {}

  // Compact, in the only spelling that RapidJSON's writer has for each code point.
  std::string document() {
    std::string text = R"({"schema_version":2,"targets":[)";
    const int targets = number(0, 4);
    for (int n = 0; n < targets; ++n) {
      text += (n == 0 ? "" : ",") + target(n);
    }
    text += "]";
    return text + members(0) + "}";
  }

private:
  int number(int least, int most) { return std::uniform_int_distribution(least, most)(random_); }

  template <class Array>
  std::string one_of(const Array& all) {
    return std::string(all[static_cast<std::size_t>(number(0, static_cast<int>(all.size()) - 1))]);
  }

  std::string target(int n) {
    return R"({"name":"t)" + std::to_string(n) + R"(","kind":"local","ssh":null,"hostnames":[],)" +
           R"("release_platform":"linux-amd64")" + members(0) + "}";
  }

  // Unknown ones, each with a key of its own, in no order.
  std::string members(int depth) {
    std::string text;
    const int count = number(0, 5);
    for (int n = 0; n < count; ++n) {
      text += "," + key(n) + ":" + value(depth + 1);
    }
    return text;
  }

  std::string key(int n) { return "\"" + characters() + "#" + std::to_string(n) + "\""; }

  std::string value(int depth) {
    constexpr int deepest = 6;
    switch (number(0, depth < deepest ? 6 : 4)) {
    case 0:
      return "null";
    case 1:
      return number(0, 1) == 0 ? "true" : "false";
    case 2:
    case 3:
      return numeral();
    case 4:
      return "\"" + characters() + "\"";
    case 5: {
      std::string text;
      const int count = number(0, 4);
      for (int n = 0; n < count; ++n) {
        text += (n == 0 ? "" : ",") + value(depth + 1);
      }
      return "[" + text + "]";
    }
    default: {
      const std::string inside = members(depth);
      return "{" + (inside.empty() ? inside : inside.substr(1)) + "}";
    }
    }
  }

  std::string numeral() {
    static constexpr std::array odd{
        "0",
        "-0",
        "1.0",
        "-1.50",
        "1e3",
        "1E+3",
        "1e-7",
        "0.1",
        "0.10",
        "123456789012345678901234567890",
        "0.000000000000000000000000000001",
        "1e308",
        "1e-320",
        "-0.0e-0",
        "9007199254740993",
        "0E0",
        "3.141592653589793238462643383279502884197"};
    if (number(0, 1) == 0) {
      return one_of(odd);
    }
    std::string text = number(0, 1) == 0 ? "-" : "";
    text += std::to_string(number(1, 999'999));
    if (number(0, 1) == 0) {
      text += "." + std::to_string(number(0, 9'999)) +
              std::string(static_cast<std::size_t>(number(0, 3)), '0');
    }
    if (number(0, 3) == 0) {
      text += number(0, 1) == 0 ? "e" : "E";
      text += number(0, 2) == 0 ? "+" : number(0, 1) == 0 ? "-" : "";
      text += std::to_string(number(0, 40));
    }
    return text;
  }

  std::string characters() {
    static constexpr std::array pieces{
        "a",
        "Z",
        " ",
        ".",
        "/",
        "\\\\",
        "\\\"",
        "\\n",
        "\\t",
        "\\u0000",
        "\\u001F",
        "\x7F",
        "\xC3\xA4",
        "\xE2\x82\xAC",
        "\xF0\x9F\x98\x80",
        "\xEF\xBF\xBD",
        "\xE2\x80\xA8",
        "<",
        "'",
        "\xEF\xBB\xBF",
        "$",
        "[0]"};
    std::string text;
    const int count = number(0, 8);
    for (int n = 0; n < count; ++n) {
      text += one_of(pieces);
    }
    return text;
  }

  std::mt19937 random_;
};

TEST(registry_property, T5_R96_whatever_is_unknown_comes_back_as_it_was) {
  const scratch s;
  constexpr unsigned documents = 60;
  for (unsigned seed = 1; seed <= documents; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const std::string text = generator(seed).document();
    s.write_registry(text);
    const registry_store store = s.store();
    const auto read = store.read();
    ASSERT_TRUE(read) << read.error().message << '\n' << text;
    ASSERT_EQ(read->document.dump(), text);
    // An edit touches what it names and nothing else.
    const auto set = set_in_registry(store, "added", "1.0");
    ASSERT_TRUE(set) << set.error().message;
    ASSERT_EQ(store.read()->document.dump(), text.substr(0, text.size() - 1) + R"(,"added":1.0})");
    const std::string once = s.registry();
    // And what was written once is written the same way again.
    ASSERT_TRUE(set_in_registry(store, "added", "2"));
    ASSERT_TRUE(set_in_registry(store, "added", "1.0"));
    ASSERT_EQ(s.registry(), once);
  }
}

} // namespace
} // namespace siteagent::fleet
