// SPDX-License-Identifier: MIT
#include "core/net/proxy.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace siteagent::net {

namespace {

using variables = std::map<std::string, std::string>;

// The machine's own variables neither disturb the test nor are lost.
class clean_environment {
public:
  explicit clean_environment(const variables& wanted) {
    for (const char* name : names) {
      const char* value = std::getenv(name);
      before_[name] = value == nullptr ? std::nullopt : std::optional<std::string>(value);
      ::unsetenv(name);
    }
    for (const auto& [name, value] : wanted) {
      ::setenv(name.c_str(), value.c_str(), 1);
    }
  }

  ~clean_environment() {
    for (const auto& [name, value] : before_) {
      ::unsetenv(name.c_str());
      if (value) {
        ::setenv(name.c_str(), value->c_str(), 1);
      }
    }
  }

  clean_environment(const clean_environment&) = delete;
  clean_environment& operator=(const clean_environment&) = delete;

private:
  static constexpr std::array<const char*, 8> names = {
      "http_proxy",
      "HTTP_PROXY",
      "https_proxy",
      "HTTPS_PROXY",
      "all_proxy",
      "ALL_PROXY",
      "no_proxy",
      "NO_PROXY"};
  std::map<std::string, std::optional<std::string>> before_;
};

std::string shown(const proxy* p) {
  return p == nullptr ? "direct" : p->text();
}

} // namespace

TEST(parse_proxy, takes_what_people_write) {
  struct row {
    std::string written;
    std::string text;
    std::string user;
    std::string password;
  };

  const std::vector<row> rows = {
      {"http://proxy.example.com", "http://proxy.example.com:80", "", ""},
      {"https://proxy.example.com", "https://proxy.example.com:443", "", ""},
      {"socks5://proxy.example.com", "socks5://proxy.example.com:1080", "", ""},
      {"SOCKS5H://Proxy.Example.com:9050/", "socks5h://proxy.example.com:9050", "", ""},
      {"proxy.example.com:3128", "http://proxy.example.com:3128", "", ""},
      {" proxy.example.com ", "http://proxy.example.com:80", "", ""},
      {"http://[::1]:3128", "http://[::1]:3128", "", ""},
      {"socks5://[2001:db8::1]", "socks5://[2001:db8::1]:1080", "", ""},
      {"http://me:secret-word@p:80", "http://p:80", "me", "secret-word"},
      {"http://me@p:8080", "http://p:8080", "me", ""},
      {"socks5://m%40il:p%3Ass%2F@p", "socks5://p:1080", "m@il", "p:ss/"},
      {"http://me:un@encoded@p", "http://p:80", "me", "un@encoded"},
  };
  for (const row& r : rows) {
    const auto p = parse_proxy(r.written);
    ASSERT_TRUE(p) << r.written << ": " << p.error().message;
    EXPECT_EQ(p->text(), r.text);
    EXPECT_EQ(p->user, r.user) << r.written;
    EXPECT_EQ(p->password.reveal(), r.password) << r.written;
  }
}

TEST(parse_proxy, refuses_with_the_schemes_and_without_the_password) {
  const std::string hidden = "hidden-password";
  const std::vector<std::string> rows = {
      "",
      "socks4://p:1080",
      "ftp://me:" + hidden + "@p",
      "http://me:" + hidden + "@",
      "http://:" + hidden + "@p",
      "http://a%3Ab:" + hidden + "@p",
      "http://me:" + hidden + "@p:0",
      "http://me:" + hidden + "@p:99999",
      "http://me:" + hidden + "@p/path",
      "http://me:" + hidden + "@p?query",
      "http://me:" + hidden + "@[::1",
      "socks5://" + std::string(256, 'u') + ":" + hidden + "@p",
      "socks5://u:" + std::string(256, 'x') + "@p",
  };
  for (const std::string& written : rows) {
    const auto p = parse_proxy(written);
    ASSERT_FALSE(p) << written;
    EXPECT_EQ(p.error().code, base::error_code::invalid);
    EXPECT_NE(p.error().message.find("http, https, socks5 or socks5h"), std::string::npos);
    EXPECT_EQ(p.error().message.find(hidden), std::string::npos) << p.error().message;
  }
}

TEST(parse_proxy, hides_the_password_from_logs_in_both_spellings) {
  ASSERT_TRUE(parse_proxy("http://me:a%2Fproxy%2Fword@p"));
  EXPECT_EQ(base::global_redactor().scrub("a%2Fproxy%2Fword a/proxy/word"), "*** ***");
}

TEST(proxy_settings, leave_alone_what_NO_PROXY_names) {
  struct row {
    std::string entry;
    std::string host;
    std::uint16_t port;
    bool is_direct;
  };

  const std::vector<row> rows = {
      {"*", "anything.example.com", 443, true},
      {"example.com", "example.com", 443, true},
      {"example.com", "EXAMPLE.com", 443, true},
      {"example.com", "a.b.example.com", 443, true},
      {"example.com", "notexample.com", 443, false},
      {".example.com", "example.com", 443, true},
      {".example.com", "a.example.com", 443, true},
      {"*.example.com", "a.example.com", 443, true},
      {"example.com.", "example.com", 443, true},
      {"example.com", "example.com.", 443, true},
      {"a.example.com", "example.com", 443, false},
      {"example.com:8443", "example.com", 8443, true},
      {"example.com:8443", "example.com", 443, false},
      {"localhost", "localhost", 80, true},
      {"10.0.0.0/8", "10.255.1.2", 443, true},
      {"10.0.0.0/8", "11.0.0.1", 443, false},
      {"10.0.0.0/8", "10.example.com", 443, false},
      {"192.168.4.0/22", "192.168.7.255", 443, true},
      {"192.168.4.0/22", "192.168.8.0", 443, false},
      {"192.168.4.0/33", "192.168.4.0", 443, false},
      {"192.168.4.0/x", "192.168.4.0", 443, false},
      {"0.0.0.0/0", "8.8.8.8", 443, true},
      {"10.1.2.3", "10.1.2.3", 443, true},
      {"10.1.2.3:80", "10.1.2.3", 443, false},
      {"2.3", "10.1.2.3", 443, false},
      {"::1", "::1", 443, true},
      {"[::1]", "[::1]", 443, true},
      {"[::1]:8080", "::1", 8080, true},
      {"[::1]:8080", "::1", 443, false},
      {"0:0:0:0:0:0:0:1", "::1", 443, true},
      {"2001:db8::/32", "2001:db8:1::2", 443, true},
      {"2001:db8::/32", "2001:db9::1", 443, false},
      {"2001:db8::/32", "10.0.0.1", 443, false},
      {"[", "example.com", 443, false},
      {".", "example.com", 443, false},
  };
  for (const row& r : rows) {
    const proxy p = *parse_proxy("http://p");
    const proxy_settings settings{p, p, {r.entry}};
    EXPECT_EQ(settings.for_host("https", r.host, r.port) == nullptr, r.is_direct)
        << r.entry << " and " << r.host << ":" << r.port;
  }
}

TEST(proxies_from, follow_the_environment_as_curl_does) {
  struct row {
    variables environment;
    std::string configured;
    std::string http;
    std::string https;
  };

  const std::vector<row> rows = {
      {{}, "", "direct", "direct"},
      {{{"HTTPS_PROXY", "http://a"}}, "", "direct", "http://a:80"},
      {{{"https_proxy", "http://a"}}, "", "direct", "http://a:80"},
      {{{"HTTP_PROXY", "http://a"}}, "", "http://a:80", "direct"},
      {{{"http_proxy", "http://a"}}, "", "http://a:80", "direct"},
      {{{"ALL_PROXY", "socks5h://a"}}, "", "socks5h://a:1080", "socks5h://a:1080"},
      {{{"all_proxy", "socks5://a"}}, "", "socks5://a:1080", "socks5://a:1080"},
      {{{"ALL_PROXY", "http://a"}, {"HTTPS_PROXY", "b:1"}}, "", "http://a:80", "http://b:1"},
      {{{"https_proxy", "http://a"}, {"HTTPS_PROXY", "http://b"}}, "", "direct", "http://a:80"},
      {{{"https_proxy", ""}, {"HTTPS_PROXY", "http://b"}}, "", "direct", "http://b:80"},
      {{{"HTTPS_PROXY", "http://a"}}, "socks5://c", "socks5://c:1080", "socks5://c:1080"},
      {{{"HTTPS_PROXY", "nonsense://"}}, "http://c", "http://c:80", "http://c:80"},
      {{{"HTTPS_PROXY", "http://a"}, {"NO_PROXY", "x.org, service.test"}}, "", "direct", "direct"},
      {{{"HTTPS_PROXY", "http://a"}, {"no_proxy", "x.org service.test"}}, "", "direct", "direct"},
      {{{"no_proxy", "service.test"}}, "http://c", "direct", "direct"},
      {{{"no_proxy", "other.test"}, {"NO_PROXY", "service.test"}},
       "http://c",
       "http://c:80",
       "http://c:80"},
  };
  for (const row& r : rows) {
    const clean_environment environment(r.environment);
    const auto settings = proxies_from(r.configured);
    ASSERT_TRUE(settings) << settings.error().message;
    EXPECT_EQ(shown(settings->for_host("http", "service.test", 80)), r.http);
    EXPECT_EQ(shown(settings->for_host("ws", "service.test", 80)), r.http);
    EXPECT_EQ(shown(settings->for_host("https", "service.test", 443)), r.https);
    EXPECT_EQ(shown(settings->for_host("wss", "service.test", 443)), r.https);
  }
}

TEST(proxies_from, the_environment_leave_loopback_alone_and_configured_ones_do_not) {
  const clean_environment environment(variables{{"ALL_PROXY", "http://a"}});
  for (const std::string host : {"localhost", "127.0.0.1", "127.9.9.9", "::1"}) {
    EXPECT_EQ(proxies_from("")->for_host("http", host, 80), nullptr) << host;
    EXPECT_EQ(shown(proxies_from("http://c")->for_host("http", host, 80)), "http://c:80");
  }
}

TEST(proxies_from, name_the_variable_that_is_no_proxy) {
  for (const std::string name : {"http_proxy", "HTTPS_PROXY", "ALL_PROXY"}) {
    const clean_environment environment(variables{{name, "socks4://me:hidden-password@a"}});
    const auto settings = proxies_from("");
    ASSERT_FALSE(settings) << name;
    EXPECT_EQ(settings.error().code, base::error_code::invalid);
    EXPECT_NE(settings.error().message.find(name), std::string::npos) << settings.error().message;
    EXPECT_EQ(settings.error().message.find("hidden-password"), std::string::npos);
  }
}

} // namespace siteagent::net
