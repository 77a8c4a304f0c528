// SPDX-License-Identifier: MIT
// The token goes to the configured resource manager and nowhere else, whatever Azure hands out.
#include "plugins/azure/arm/paging.hpp"
#include "plugins/azure/error_map.hpp"
#include "tests/unit/azure/arm_fixture.hpp"

namespace siteagent::azure::test {

namespace {

using testing::HasSubstr;

// Notes where requests go before the fake Azure, which looks at paths only, answers them.
class witness final : public net::transport {
public:
  explicit witness(net::transport& to) : to_(to) {}

  base::result<net::response> perform(const net::request& r) override {
    urls.push_back(r.url);
    return to_.perform(r);
  }

  std::vector<std::string> urls;

private:
  net::transport& to_;
};

class case_sec_01 : public azure_arm, public testing::WithParamInterface<const char*> {
protected:
  case_sec_01() {
    arm::pipeline_options o = pipe_->options();
    o.transport = &witness_;
    pipe_ = std::make_unique<arm::pipeline>(o);
  }

  void expect_nothing_left_home() const {
    EXPECT_FALSE(witness_.urls.empty());
    for (const std::string& url : witness_.urls) {
      EXPECT_EQ(url.rfind(std::string(base_url) + "/", 0), 0U) << url;
      EXPECT_EQ(url.find("evil"), std::string::npos) << url;
    }
  }

  witness witness_{arm};
};

TEST_P(case_sec_01, a_next_link_elsewhere_is_an_error_and_is_not_contacted) {
  const std::string page =
      R"({"value":[{"id":"/a"}],"nextLink":")" + std::string(GetParam()) + "\"}";
  arm.script({"GET", "x?p=1", 1, 0, false, 200, page, {}});
  const auto all = arm::read_all(
      *pipe_, scope_, "/subscriptions/11111111-1111-1111-1111-111111111111/x?p=1", "list"
  );
  EXPECT_FALSE(all) << "an incomplete list is an error";
  expect_nothing_left_home();
}

TEST_P(case_sec_01, monitors_elsewhere_are_not_contacted_and_the_object_tells) {
  for (const char* header : {"azure-asyncoperation", "location"}) {
    put_object("Succeeded");
    const auto r =
        arm::follow(*pipe_, scope_, started(201, {{header, GetParam()}}), followed_object("put"));
    EXPECT_TRUE(r) << header << ": " << r.error().message;
    expect_nothing_left_home();
  }
}

TEST_P(case_sec_01, redirects_are_not_followed) {
  for (const int status : {301, 302, 303, 307, 308}) {
    arm.script({"GET", "subscriptions", 1, 0, false, status, "", {{"location", GetParam()}}});
    const auto r = read();
    EXPECT_FALSE(r) << status;
  }
  arm.script({"PUT", "", 1, 0, false, 307, "", {{"location", GetParam()}}});
  EXPECT_FALSE(pipe_->write(
      scope_, {"PUT", group_id() + "?api-version=1", base::json::object(), false, true, "write"}
  ));
  EXPECT_EQ(arm.count_requests("PUT", ""), 1U);
  expect_nothing_left_home();
}

TEST_P(case_sec_01, a_redirect_of_the_token_endpoint_is_not_followed_with_the_secret) {
  arm.script({"POST", "oauth2", -1, 0, false, 307, "", {{"location", GetParam()}}});
  const auto r = read();
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::auth);
  EXPECT_THAT(r.error().message, HasSubstr("cloud.authority"));
  expect_nothing_left_home();
}

TEST_P(case_sec_01, the_transport_gets_no_request_for_such_a_url) {
  ASSERT_TRUE(read());
  const auto before = witness_.urls.size();
  const auto r = read(GetParam());
  ASSERT_FALSE(r);
  EXPECT_EQ(r.error().code, base::error_code::permanent);
  EXPECT_EQ(witness_.urls.size(), before);
}

INSTANTIATE_TEST_SUITE_P(
    links,
    case_sec_01,
    testing::Values(
        "https://evil.example/subscriptions?x=1",
        "http://evil.example/subscriptions?x=1",
        "https://127.0.0.1:1/subscriptions?evil=other-scheme",
        "http://127.0.0.1:2/subscriptions?evil=other-port",
        "http://127.0.0.1/subscriptions?evil=default-port",
        "http://127.0.0.1:1.evil.example/subscriptions",
        "http://127.0.0.1.evil.example:1/subscriptions",
        "http://127.0.0.1:1@evil.example/subscriptions",
        "http://evil@127.0.0.1:1/subscriptions",
        "http://evil.example\\@127.0.0.1:1/subscriptions",
        "HTTP://EVIL.example:1/subscriptions?evil",
        "ftp://127.0.0.1:1/evil",
        "evil.example/subscriptions"
    )
);

TEST_F(azure_arm, a_path_with_two_slashes_stays_on_our_host) {
  witness seen(arm);
  arm::pipeline_options o = pipe_->options();
  o.transport = &seen;
  const arm::pipeline pipe(o);
  static_cast<void>(pipe.read(scope_, "//evil.example/subscriptions", "read"));
  for (const std::string& url : seen.urls) {
    EXPECT_EQ(url.rfind(std::string(base_url) + "/", 0), 0U) << url;
  }
}

} // namespace

} // namespace siteagent::azure::test
