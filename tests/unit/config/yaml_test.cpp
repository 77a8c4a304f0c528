// SPDX-License-Identifier: MIT
#include "core/config/yaml.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace siteagent::config {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct reading {
  base::result<value> root = base::error{};
  std::vector<finding> findings;

  std::string error() const { return root ? "" : root.error().message; }
};

reading read(const std::string& text) {
  reading r;
  r.root = read_yaml(text, "a.yaml", r.findings);
  return r;
}

std::string as_json(const std::string& text) {
  const reading r = read(text);
  EXPECT_TRUE(r.root.has_value()) << r.error();
  EXPECT_TRUE(r.findings.empty()) << r.findings.front().text();
  return r.root ? to_json(*r.root).dump() : "";
}

TEST(yaml, keeps_scalars_as_they_are_written) {
  EXPECT_EQ(
      as_json("a: 0123\nb: 'x y'\nc: \"1\"\nd: no\n"), R"({"a":"0123","b":"x y","c":"1","d":"no"})"
  );
}

TEST(yaml, reads_empty_tilde_and_null_as_null) {
  EXPECT_EQ(
      as_json("a:\nb: ~\nc: null\nd: 'null'\n"), R"({"a":null,"b":null,"c":null,"d":"null"})"
  );
}

TEST(yaml, gives_values_and_keys_their_positions) {
  const reading r = read("a:\n  bc: 12\n");
  const value* inner = r.root->find("a")->find("bc");
  EXPECT_EQ(inner->at.line, 2);
  EXPECT_EQ(inner->at.column, 7);
  EXPECT_EQ(inner->key_at.line, 2);
  EXPECT_EQ(inner->key_at.column, 3);
}

TEST(yaml, accepts_a_byte_order_mark_crlf_and_non_ascii_text) {
  EXPECT_EQ(
      as_json("\xEF\xBB\xBF"
              "a: 1\r\nb: Z\xC3\xBCrich\r\n"),
      "{\"a\":1,\"b\":\"Z\xC3\xBCrich\"}"
  );
}

TEST(yaml, reports_a_duplicate_key_with_both_lines) {
  const reading r = read("a: 1\nm:\n  x: 1\n  y: 2\n  x: 3\n");
  ASSERT_EQ(r.findings.size(), 1U);
  EXPECT_EQ(r.findings[0].text(), "a.yaml:5:3: error: m.x: duplicate key (first at line 3)");
}

TEST(yaml, names_the_element_of_a_list_in_the_path) {
  const reading r = read("l:\n- {a: 1}\n- {a: 1, a: 2}\n");
  ASSERT_EQ(r.findings.size(), 1U);
  EXPECT_EQ(r.findings[0].key, "l[1].a");
}

TEST(yaml, expands_merge_keys_and_explicit_keys_win) {
  EXPECT_EQ(
      as_json("base: &b {x: 1, y: 2}\nuse:\n  y: 3\n  <<: *b\n"),
      R"({"base":{"x":1,"y":2},"use":{"y":3,"x":1}})"
  );
}

TEST(yaml, expands_a_list_of_merges_with_the_first_winning) {
  EXPECT_EQ(
      as_json("a: &a {x: 1}\nb: &b {x: 2, y: 2}\nuse:\n  <<: [*a, *b]\n"),
      R"({"a":{"x":1},"b":{"x":2,"y":2},"use":{"x":1,"y":2}})"
  );
}

TEST(yaml, refuses_to_merge_what_is_no_mapping) {
  const reading r = read("a: &a 1\nuse:\n  <<: *a\n");
  ASSERT_EQ(r.findings.size(), 1U);
  EXPECT_THAT(r.findings[0].text(), StartsWith("a.yaml:3:3: error: use.<<: expected an alias"));
}

TEST(yaml, takes_a_quoted_merge_sign_as_an_ordinary_key) {
  EXPECT_EQ(as_json("use:\n  '<<': 1\n"), R"({"use":{"<<":1}})");
}

TEST(yaml, copies_aliases) {
  EXPECT_EQ(as_json("a: &a [1, 2]\nb: *a\n"), R"({"a":[1,2],"b":[1,2]})");
}

TEST(yaml, refuses_an_alias_inside_its_own_value) {
  EXPECT_THAT(read("a: &a [*a]\n").error(), HasSubstr("alias inside the value"));
}

TEST(yaml, refuses_aliases_that_multiply_beyond_the_limit) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string n = std::to_string(i);
    const std::string alias = "*a" + std::to_string(i - 1);
    text += "a" + n + ": &a" + n + " [";
    for (int k = 0; k < 10; ++k) {
      text += alias + (k < 9 ? ", " : "]\n");
    }
  }
  EXPECT_THAT(read(text).error(), HasSubstr("more than 100000 values"));
}

TEST(yaml, refuses_aliases_that_stack_beyond_the_depth_limit) {
  std::string text = "a0: &a0 [x]\n";
  for (int i = 1; i < 200; ++i) {
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [*a" + std::to_string(i - 1) +
            "]\n";
  }
  EXPECT_THAT(read(text).error(), HasSubstr("nested deeper than 64 levels"));
}

TEST(yaml, refuses_deep_nesting) {
  EXPECT_THAT(
      read("a: " + std::string(100, '[') + std::string(100, ']') + "\n").error(),
      HasSubstr("nested deeper")
  );
  EXPECT_THAT(read("a: " + std::string(100'000, '[')).error(), HasSubstr("nested too deeply"));
}

TEST(yaml, refuses_a_second_document) {
  EXPECT_EQ(
      read("a: 1\n---\nb: 2\n").error(),
      "a.yaml:3:1: error: a second YAML document; the file must hold exactly one"
  );
}

TEST(yaml, refuses_empty_text_with_the_expectation) {
  for (const std::string text : {"", "\n\n", "# only a comment\n"}) {
    EXPECT_EQ(
        read(text).error(), "a.yaml:1:1: error: empty; expected a mapping with the key 'offerings'"
    );
  }
}

TEST(yaml, refuses_what_is_not_utf8_with_its_place) {
  const std::vector<std::string> bad = {
      "a: 1\nb: x\xFF\n",         // never a byte of UTF-8
      "a: 1\nb: x\xC3\x28\n",     // a lead without its tail
      "a: 1\nb: x\xC0\xAF\n",     // overlong
      "a: 1\nb: x\xED\xA0\x80\n", // a surrogate
      "a: 1\nb: x\xF5\x80\x80\x80\n",
      "a: 1\nb: x\xE2\x82",
  };
  for (const std::string& text : bad) {
    EXPECT_THAT(read(text).error(), StartsWith("a.yaml:2:5: error: not UTF-8")) << text;
  }
  EXPECT_THAT(
      read("\xFF\xFE"
           "a")
          .error(),
      StartsWith("a.yaml:1:1: error: not UTF-8")
  );
}

TEST(yaml, refuses_control_characters_that_would_end_the_document_silently) {
  EXPECT_THAT(
      read(std::string("a: 1\n\x04z: 2\n")).error(),
      StartsWith("a.yaml:2:1: error: a control character")
  );
  EXPECT_THAT(read(std::string("a: \0b\n", 6)).error(), HasSubstr("control character"));
}

TEST(yaml, reports_syntax_errors_with_line_and_column_from_one) {
  EXPECT_THAT(
      read("a: 1\n\tb: 2\n").error(), StartsWith("a.yaml:2:1: error: not YAML: illegal tab")
  );
  EXPECT_THAT(read("a: {b\n").error(), StartsWith("a.yaml:2:1: error: not YAML: "));
}

TEST(yaml, refuses_a_file_that_ends_inside_quotes) {
  for (const std::string text : {"a: \"b\nc: 1\n", "a: 'b", "a: 'b\n"}) {
    EXPECT_THAT(read(text).error(), HasSubstr("a quoted text is never closed")) << text;
  }
}

TEST(yaml, accepts_every_regular_end) {
  EXPECT_EQ(as_json("a: 1"), R"({"a":1})");
  EXPECT_EQ(as_json("a: 1\n...\n"), R"({"a":1})");
  EXPECT_EQ(as_json("---\na: |\n  x\n  y"), R"({"a":"x\ny"})");
  EXPECT_EQ(as_json("a: |+\n  x\n\n"), R"({"a":"x\n\n"})");
  EXPECT_EQ(as_json("a: >\n  x\n  y\n"), R"({"a":"x y\n"})");
  EXPECT_EQ(as_json("a: 1\n# the end"), R"({"a":1})");
}

TEST(yaml, never_shows_the_text_it_cannot_read) {
  for (const std::string text :
       {"t: *s3cret\n",
        "t: %s3cret\n",
        "t: @s3cret\n",
        "t: !s3cret\n",
        "t: !<s3cret> x\n",
        "t: \"\\s3cret\"\n"}) {
    const reading r = read(text);
    std::string all = r.error();
    for (const finding& f : r.findings) {
      all += f.text();
    }
    EXPECT_FALSE(all.empty()) << text;
    EXPECT_EQ(all.find("3cret"), std::string::npos) << all;
  }
}

TEST(yaml, takes_standard_tags_and_reports_others) {
  EXPECT_EQ(as_json("a: !!str 12\nb: !!int 12\n"), R"({"a":"12","b":12})");
  const reading r = read("m:\n  a: !foo bar\n");
  ASSERT_EQ(r.findings.size(), 1U);
  EXPECT_THAT(r.findings[0].text(), StartsWith("a.yaml:2:6: error: m.a: a tag"));
}

TEST(yaml, reports_keys_that_are_no_plain_words) {
  for (const std::string text : {"? [a, b]\n: 1\n", "? {a: 1}\n: 1\n", "~: 1\n"}) {
    const reading r = read(text);
    ASSERT_EQ(r.findings.size(), 1U) << text;
    EXPECT_THAT(r.findings[0].text(), HasSubstr("a key must be a plain word")) << text;
  }
}

} // namespace
} // namespace siteagent::config
