// SPDX-License-Identifier: MIT
#include "core/config/value.hpp"

#include <gtest/gtest.h>

namespace siteagent::config {
namespace {

value scalar(std::string text, bool quoted = false) {
  value v;
  v.type = value::kind::scalar;
  v.text = std::move(text);
  v.quoted = quoted;
  return v;
}

TEST(value_to_json, types_only_what_every_reader_reads_alike) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"true", "true"},
      {"FALSE", "false"},
      {"yes", "\"yes\""},
      {"12", "12"},
      {"-3", "-3"},
      {"1.10", "1.10"},
      {"0", "0"},
      {"0.5", "0.5"},
      {"0123", "\"0123\""},
      {".5", "\".5\""},
      {"5.", "\"5.\""},
      {"1e3", "\"1e3\""},
      {"0x1F", "\"0x1F\""},
      {"0o17", "\"0o17\""},
      {"1_000", "\"1_000\""},
      {"-", "\"-\""},
      {"22_04-lts", "\"22_04-lts\""},
      {"18446744073709551616", "18446744073709551616"},
      {"", "\"\""},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(to_json(scalar(text)).dump(), expected) << text;
  }
}

TEST(value_to_json, keeps_quoted_scalars_as_text) {
  EXPECT_EQ(to_json(scalar("12", true)).dump(), "\"12\"");
  EXPECT_EQ(to_json(scalar("true", true)).dump(), "\"true\"");
}

TEST(value_to_json, keeps_lists_maps_and_nulls) {
  value list;
  list.type = value::kind::list;
  list.list = {scalar("a"), value{}};
  value map;
  map.type = value::kind::map;
  map.map = {{"x", list}, {"y", scalar("2")}};
  EXPECT_EQ(to_json(map).dump(), R"({"x":["a",null],"y":2})");
}

TEST(value_from_json, reads_back_as_the_same_json) {
  const char* text = R"({"a":"true","b":true,"c":"12","d":1.10,"e":[null,"x"],"f":{"g":-3}})";
  const value v = to_value(*base::json::parse(text));
  EXPECT_EQ(to_json(v).dump(), text);
  EXPECT_TRUE(v.find("c")->quoted);
  EXPECT_FALSE(v.find("d")->quoted);
}

TEST(value_find, tells_null_from_absent) {
  value map;
  map.type = value::kind::map;
  map.map = {{"x", value{}}};
  ASSERT_NE(map.find("x"), nullptr);
  EXPECT_TRUE(map.find("x")->is_null());
  EXPECT_EQ(map.find("y"), nullptr);
  EXPECT_EQ(scalar("x").find("x"), nullptr);
}

TEST(finding_text, names_file_line_column_key_and_reason) {
  const finding f{true, "agent.yaml", {3, 7}, "offerings[0].name", "required"};
  EXPECT_EQ(f.text(), "agent.yaml:3:7: error: offerings[0].name: required");
  const finding without_place{false, "agent.yaml", {}, "", "odd"};
  EXPECT_EQ(without_place.text(), "agent.yaml: warning: odd");
}

} // namespace
} // namespace siteagent::config
