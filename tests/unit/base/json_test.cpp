// SPDX-License-Identifier: MIT
#include "core/base/json.hpp"

#include <gtest/gtest.h>

namespace siteagent::base {
namespace {

json parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value) << (value ? "" : value.error().message);
  return value ? *value : json{};
}

TEST(json, keeps_the_text_of_numbers) {
  const json v = parsed(R"({"amount":0.10,"big":18446744073709551616,"exp":1.20E5,"i":-7})");
  EXPECT_EQ(v["amount"].number_text(), "0.10");
  EXPECT_EQ(v["big"].number_text(), "18446744073709551616");
  EXPECT_EQ(v["exp"].integer(), 120000);
  EXPECT_EQ(v["i"].integer(), -7);
  EXPECT_EQ(v.dump(), R"({"amount":0.10,"big":18446744073709551616,"exp":1.20E5,"i":-7})");
}

TEST(json, reads_numbers_sent_as_text) {
  const json v = parsed(R"({"a":"12","b":"12.50","c":12.0,"d":"x","e":true})");
  EXPECT_EQ(v["a"].integer(), 12);
  EXPECT_EQ(v["b"].number_text(), "12.50");
  EXPECT_FALSE(v["b"].integer());
  EXPECT_EQ(v["c"].integer(), 12);
  EXPECT_FALSE(v["d"].integer());
  EXPECT_FALSE(v["e"].integer());
}

TEST(json, reads_absent_and_wrong_typed_members_as_null) {
  const json v = parsed(R"({"a":{"b":[1,{"c":"x"}]},"n":null})");
  EXPECT_EQ(v.at({"a", "b"})[1]["c"].string(), "x");
  EXPECT_TRUE(v.at({"a", "zz", "c"}).is_null());
  EXPECT_TRUE(v["a"][7]["b"].is_null());
  EXPECT_FALSE(v["a"].string());
  EXPECT_NE(v.find("n"), nullptr);
  EXPECT_EQ(v.find("m"), nullptr);
}

TEST(json, refuses_broken_documents_and_says_where) {
  const struct {
    const char* text;
    const char* why;
  } cases[] = {
      {"", "line 1"},
      {"{\"a\":1,\n\"a\":2}", "duplicate key 'a'"},
      {"{\"a\":1} x", "not JSON"},
      {"[1,", "not JSON"},
      {"{\"a\":01}", "not JSON"},
      {"[1e400x]", "not JSON"},
      {"\"\xff\"", "not JSON"},
      {"\"\\ud800\"", "not JSON"},
      {"<html>502</html>", "not JSON"},
  };

  for (const auto& c : cases) {
    const auto v = json::parse(c.text);
    ASSERT_FALSE(v) << c.text;
    EXPECT_NE(v.error().message.find(c.why), std::string::npos) << v.error().message;
  }
  const auto v = json::parse(std::string_view("{}\0{\"lost\":1}", 13));
  ASSERT_FALSE(v) << "what stands behind a byte of value 0 must not be lost unseen";
  EXPECT_NE(v.error().message.find("line 1"), std::string::npos) << v.error().message;
}

TEST(json, limits_depth_and_elements_instead_of_crashing) {
  const std::string deep(1'000'000, '[');
  const auto v = json::parse(deep);
  ASSERT_FALSE(v);
  EXPECT_NE(v.error().message.find("nested deeper than 64"), std::string::npos);
  EXPECT_FALSE(json::parse("[1,2,3,4]", {64, 3}));
  EXPECT_TRUE(json::parse(std::string(64, '[') + std::string(64, ']')));
}

TEST(json, accepts_a_byte_order_mark) {
  EXPECT_EQ(parsed("\xEF\xBB\xBF{\"a\":1}")["a"].integer(), 1);
}

TEST(json, always_writes_valid_json) {
  json v = json::object({{"text", "a\"b\n\x01"}, {"bad", std::string("\xff\xfe")}, {"t", true}});
  v.set("list", json::array({1, nullptr, "x"}));
  EXPECT_EQ(
      v.dump(),
      "{\"text\":\"a\\\"b\\n\\u0001\",\"bad\":\"\xEF\xBF\xBD\xEF\xBF\xBD\",\"t\":true,\"list\":[1,"
      "null,\"x\"]}"
  );
  EXPECT_TRUE(json::parse(v.dump()));
}

TEST(json, compares_by_meaning) {
  EXPECT_EQ(parsed(R"({"a":1.0,"b":[true]})"), parsed(R"({"b":[true],"a":1})"));
  EXPECT_NE(parsed(R"({"a":1})"), parsed(R"({"a":"1"})"));
  EXPECT_NE(parsed("[1,2]"), parsed("[2,1]"));
}

TEST(json, refuses_number_texts_that_are_none) {
  EXPECT_TRUE(json::number("0.50").is_number());
  for (const char* text : {"", "01", "1.", ".5", "+1", "0x1", "NaN", "1e", "- 1"}) {
    EXPECT_TRUE(json::number(text).is_null()) << text;
  }
}

TEST(json_schema, reports_keyword_and_place) {
  auto schema = json_schema::compile(
      R"({"type":"object","required":["a"],"properties":{"a":{"type":"integer","minimum":1}}})"
  );
  ASSERT_TRUE(schema);
  EXPECT_FALSE(schema->check(parsed(R"({"a":3})")));
  const auto low = schema->check(parsed(R"({"a":0})"));
  ASSERT_TRUE(low);
  EXPECT_EQ(low->pointer, "/a");
  EXPECT_EQ(low->keyword, "minimum");
  const auto missing = schema->check(parsed("{}"));
  ASSERT_TRUE(missing);
  EXPECT_EQ(missing->pointer, "");
  EXPECT_EQ(missing->keyword, "required");
  EXPECT_FALSE(json_schema::compile("not a schema"));
}

} // namespace
} // namespace siteagent::base
