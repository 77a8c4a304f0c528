// SPDX-License-Identifier: MIT
// Fault scripts: which are refused, and which request a rule hits.
#include "tests/emulators/common/faults.hpp"

#include "tests/unit/emulators/api_client.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace siteagent::emulators {

namespace {

using test::quoted;

net::server_request request(std::string method, std::string path, std::string query = "") {
  net::server_request r;
  r.method = std::move(method);
  r.path = std::move(path);
  r.query = std::move(query);
  return r;
}

fault_script script(const std::string& rules) {
  auto parsed = fault_script::parse(quoted("{'rules':[" + rules + "]}"), true);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return *std::move(parsed);
}

// "1" for each of the first requests that is hit, "0" for the others.
std::string hits(fault_script s, int requests) {
  std::string pattern;
  for (int i = 0; i < requests; ++i) {
    pattern += s.next(request("GET", "/a")) ? "1" : "0";
  }
  return pattern;
}

struct counting {
  const char* match;
  const char* pattern;
};

class fault_counts : public testing::TestWithParam<counting> {};

TEST_P(fault_counts, decide_which_matches_fire) {
  const std::string rule = std::string("{'match':") + GetParam().match + ",'do':'cut'}";
  EXPECT_EQ(hits(script(rule), 5), GetParam().pattern);
}

INSTANTIATE_TEST_SUITE_P(
    rules,
    fault_counts,
    testing::Values(
        counting{"{}", "10000"},
        counting{"{'nth':0}", "10000"},
        counting{"{'nth':3}", "00100"},
        counting{"{'times':2}", "11000"},
        counting{"{'nth':2,'times':3}", "01110"},
        counting{"{'nth':4,'times':0}", "00011"},
        counting{"{'times':0}", "11111"}
    )
);

TEST(fault_script, fires_for_a_share_of_the_matches_the_same_in_every_run) {
  const std::string rule = "{'match':{'times':0,'percent':30},'do':'cut'}";
  const std::string first = hits(script(rule), 1000);
  const auto fired = std::count(first.begin(), first.end(), '1');
  EXPECT_GT(fired, 250);
  EXPECT_LT(fired, 350);
  EXPECT_EQ(hits(script(rule), 1000), first);
  EXPECT_EQ(hits(script("{'match':{'times':0,'percent':0},'do':'cut'}"), 5), "00000");
  EXPECT_FALSE(fault_script::parse(quoted("{'rules':[{'match':{'percent':101},'do':'cut'}]}"), true)
  );
}

TEST(fault_script, matches_method_path_and_query) {
  auto s =
      script("{'match':{'method':'PUT','path':'/vm/[a-z]+$','query':'page=2','times':0},'do':'cut'}"
      );
  EXPECT_TRUE(s.next(request("PUT", "/x/vm/web", "a=1&page=2")));
  EXPECT_FALSE(s.next(request("GET", "/x/vm/web", "page=2")));
  EXPECT_FALSE(s.next(request("PUT", "/x/vm/web/1", "page=2")));
  EXPECT_FALSE(s.next(request("PUT", "/x/vm/web", "page=1")));
}

TEST(fault_script, counts_in_every_rule_and_lets_the_first_that_fires_decide) {
  auto s = script("{'match':{'nth':2},'do':'cut'},{'match':{'nth':2,'times':2},'do':'hang'}");
  EXPECT_FALSE(s.next(request("GET", "/")));
  EXPECT_EQ(s.next(request("GET", "/"))->kind, fault_kind::cut);
  EXPECT_EQ(s.next(request("GET", "/"))->kind, fault_kind::hang);
  EXPECT_FALSE(s.next(request("GET", "/")));
}

TEST(fault_script, does_not_run_expressions_over_endless_paths) {
  auto s = script("{'match':{'path':'(a|b)*c'},'do':'cut'}");
  EXPECT_FALSE(s.next(request("GET", "/" + std::string(60'000, 'a') + "c")));
}

TEST(fault_script, reads_answers_with_headers_and_bodies) {
  auto s = script("{'when':'after','do':{'status':429,'headers':{'Retry-After':'3','X-N':4},'body':"
                  "{'a':1},'delay_ms':5}}");
  const auto f = s.next(request("GET", "/"));
  ASSERT_TRUE(f);
  EXPECT_EQ(f->status, 429);
  EXPECT_TRUE(f->after);
  EXPECT_EQ(f->headers, (net::header_list{{"Retry-After", "3"}, {"X-N", "4"}}));
  EXPECT_EQ(f->body, R"({"a":1})");
  EXPECT_EQ(f->delay, std::chrono::milliseconds(5));
  EXPECT_EQ(f->label, "after status 429");
}

TEST(fault_script, reads_operation_outcomes) {
  using outcome = operation_fault::outcome_kind;
  const std::pair<const char*, outcome> table[] = {
      {"Failed", outcome::failed}, {"Canceled", outcome::canceled}, {"stuck", outcome::stuck}};
  for (const auto& [word, expected] : table) {
    auto s = script(std::string("{'do':{'operation':'") + word + "','code':'Quota'}}");
    const auto f = s.next(request("PUT", "/"));
    EXPECT_EQ(f->kind, fault_kind::operation);
    EXPECT_EQ(f->operation.outcome, expected);
    EXPECT_EQ(f->operation.code, "Quota");
  }
}

class fault_script_refuses : public testing::TestWithParam<const char*> {};

TEST_P(fault_script_refuses, what_it_cannot_do_and_names_the_rule) {
  const auto parsed = fault_script::parse(quoted(GetParam()), true);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("fault script"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(
    scripts,
    fault_script_refuses,
    testing::Values(
        "[]",
        "{}",
        "{'rules':[],'x':1}",
        "{'rules':[1]}",
        "{'rules':[{}]}",
        "{'rules':[{'do':'explode'}]}",
        "{'rules':[{'do':{}}]}",
        "{'rules':[{'do':{'status':42}}]}",
        "{'rules':[{'do':{'status':200,'reason':'x'}}]}",
        "{'rules':[{'do':{'delay_ms':-1}}]}",
        "{'rules':[{'do':{'slow_ms_per_chunk':-1}}]}",
        "{'rules':[{'do':{'skew_s':'five'}}]}",
        "{'rules':[{'do':{'skew_s':99999999}}]}",
        "{'rules':[{'do':{'operation':'Broken'}}]}",
        "{'rules':[{'do':{'operation':'Failed','status':500}}]}",
        "{'rules':[{'when':'never','do':'cut'}]}",
        "{'rules':[{'when':1,'do':'cut'}]}",
        "{'rules':[{'do':'cut','match':{'path':'('}}]}",
        "{'rules':[{'do':'cut','match':{'path':1}}]}",
        "{'rules':[{'do':'cut','match':{'nth':'one'}}]}",
        "{'rules':[{'do':'cut','match':{'host':'x'}}]}",
        "{'rules':[{'do':'cut','match':7}]}",
        "{'rules':[{'do':'cut','count':1}]}"
    )
);

TEST(fault_script, refuses_operations_where_there_are_none) {
  const auto parsed =
      fault_script::parse(quoted("{'rules':[{'do':{'operation':'Failed'}}]}"), false);
  ASSERT_FALSE(parsed);
  EXPECT_NE(parsed.error().message.find("rule 0"), std::string::npos);
}

} // namespace

} // namespace siteagent::emulators
