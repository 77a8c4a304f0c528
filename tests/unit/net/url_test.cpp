// SPDX-License-Identifier: MIT
#include "core/net/url.hpp"

#include <gtest/gtest.h>

#include <ostream>

namespace siteagent::net {

namespace {

struct accepted {
  const char* text;
  const char* origin;
  const char* target;
};

void PrintTo(const accepted& c, std::ostream* to) {
  *to << c.text;
}

class accepted_url : public testing::TestWithParam<accepted> {};

TEST_P(accepted_url, is_split_into_origin_and_target) {
  const auto parsed = parse_url(GetParam().text);
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(parsed->origin.text(), GetParam().origin);
  EXPECT_EQ(parsed->target, GetParam().target);
  EXPECT_EQ(parsed->text(), std::string(GetParam().origin) + GetParam().target);
}

INSTANTIATE_TEST_SUITE_P(
    url,
    accepted_url,
    testing::Values(
        accepted{"https://management.example", "https://management.example", "/"},
        accepted{"HTTPS://Management.Example:443/A?b=C", "https://management.example", "/A?b=C"},
        accepted{"http://a:80", "http://a", "/"},
        accepted{"http://a:443/", "http://a:443", "/"},
        accepted{"https://a:8443?x=1", "https://a:8443", "/?x=1"},
        accepted{"https://a//b/../c%2Fd?$f=e%20q", "https://a", "//b/../c%2Fd?$f=e%20q"},
        accepted{"http://[::1]:8080/x", "http://[::1]:8080", "/x"},
        accepted{"http://[0:0:0:0:0:0:0:1]/", "http://[::1]", "/"},
        accepted{"http://127.0.0.1:65535/@?a@b", "http://127.0.0.1:65535", "/@?a@b"},
        accepted{"http://under_score.test./", "http://under_score.test.", "/"}
    )
);

class refused_url : public testing::TestWithParam<const char*> {};

TEST_P(refused_url, says_why_without_repeating_it) {
  const auto parsed = parse_url(GetParam());
  ASSERT_FALSE(parsed);
  EXPECT_EQ(parsed.error().code, base::error_code::invalid);
  EXPECT_EQ(parsed.error().message.find("URL refused: "), 0U);
  EXPECT_EQ(parsed.error().message.find("hunter2"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    url,
    refused_url,
    testing::Values(
        "",
        "host",
        "/path",
        "ftp://host/",
        "https:/host",
        "://host",
        "https://",
        "https:///path",
        "https://:443/",
        "https://user:hunter2@host/",
        "https://management.example@evil.example/",
        "https://good.example\\@evil.example/",
        "https://host:0/",
        "https://host:65536/",
        "https://host:99999/",
        "https://host:/",
        "https://host:12a/",
        "https://host:-1/",
        "https://host:+1/",
        "https://host/#fragment",
        "https://host/a b",
        "https://host/a\r\nX: y",
        "https://host/\x01",
        "https://h\xc3\xb6st/",
        "https://ho%73t/",
        "https://.host/",
        "http://[::1/",
        "http://[zz]/",
        "http://[fe80::1%25eth0]/",
        "http://[::1]x/",
        "http://::1/"
    )
);

TEST(origin, knows_loopback_from_names_that_only_look_like_it) {
  for (const char* host : {"localhost", "127.0.0.1", "127.255.0.9", "::1"}) {
    EXPECT_TRUE((origin{"http", host, 80}.is_loopback())) << host;
  }
  for (const char* host :
       {"127.0.0.1.evil.example", "localhost.evil.example", "128.0.0.1", "::2", "127.1"}) {
    EXPECT_FALSE((origin{"http", host, 80}.is_loopback())) << host;
  }
}

TEST(origin, differs_by_scheme_host_and_port) {
  const origin one{"https", "a", 443};
  EXPECT_EQ(one, parse_url("https://A/x")->origin);
  EXPECT_NE(one, parse_url("http://a:443/x")->origin);
  EXPECT_NE(one, parse_url("https://a.b/x")->origin);
  EXPECT_NE(one, parse_url("https://a:444/x")->origin);
}

TEST(encoding, keeps_only_unreserved_characters) {
  EXPECT_EQ(encode("Az09-._~"), "Az09-._~");
  EXPECT_EQ(encode("a/b c+d&e=f?$%\xc3\xbc"), "a%2Fb%20c%2Bd%26e%3Df%3F%24%25%C3%BC");
  std::string every;
  for (int c = 0; c < 256; ++c) {
    every += static_cast<char>(c);
  }
  EXPECT_EQ(decode(encode(every)), every);
}

TEST(decoding, leaves_plus_and_broken_escapes_alone) {
  EXPECT_EQ(decode("a+b%2fc%2F"), "a+b/c/");
  EXPECT_EQ(decode("a+b", true), "a b");
  EXPECT_EQ(decode("%zz%4%"), "%zz%4%");
  EXPECT_EQ(decode("%41"), "A");
  EXPECT_EQ(decode(""), "");
}

TEST(query, keeps_repeated_keys_in_order) {
  const query_list expected = {
      {"field", "uuid"}, {"field", "state"}, {"x", ""}, {"y", ""}, {"z z", "1+1=2"}};
  EXPECT_EQ(parse_query("field=uuid&field=state&&x&y=&z+z=1%2B1=2"), expected);
  EXPECT_TRUE(parse_query("").empty());
}

TEST(query, survives_being_built_and_parsed) {
  const query_list query = {{"$filter", "name eq 'a&b'"}, {"field", "a"}, {"field", "b"}};
  EXPECT_EQ(build_query(query), "%24filter=name%20eq%20%27a%26b%27&field=a&field=b");
  EXPECT_EQ(parse_query(build_query(query)), query);
  EXPECT_EQ(build_query({}), "");
}

} // namespace

} // namespace siteagent::net
