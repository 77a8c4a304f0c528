// SPDX-License-Identifier: MIT
#include "core/host/call_context.hpp"

#include "core/base/secret.hpp"

#include <gtest/gtest.h>

#include <future>
#include <thread>

namespace {

namespace host = siteagent::host;
using namespace std::chrono_literals;
using siteagent::base::error;
using siteagent::base::error_code;
using siteagent::base::json;
using siteagent::base::real_clock;

sagent_str borrow(std::string_view s) {
  return {s.data(), s.size()};
}

class plugin_call : public testing::Test {
protected:
  host::call_context& make(std::chrono::milliseconds deadline = 1h) {
    context_ = std::make_unique<host::call_context>(host::call_context::setup{
        .what = "zoo: ping",
        .deadline = real_clock().steady() + deadline,
        .stop = stop.get_token(),
        .checkpoint = checkpoint});
    call = context_->table();
    return *context_;
  }

  sagent_code emit(std::string_view text) const {
    return call->emit(call, text.data(), text.size());
  }

  sagent_code reach(std::string_view text) const {
    return call->checkpoint(call, text.data(), text.size());
  }

  void fail(sagent_code code, std::string_view message) const {
    sagent_error_info info{};
    info.struct_size = sizeof info;
    info.code = code;
    info.message = borrow(message);
    info.retry_after_ms = -1;
    call->fail(call, &info);
  }

  error failure_of(sagent_code returned, bool escaped = false) {
    auto verdict = context_->finish(returned, escaped);
    breached = verdict.breached_contract;
    EXPECT_FALSE(verdict.value);
    return verdict.value ? error{} : verdict.value.error();
  }

  std::stop_source stop;
  std::function<siteagent::base::result<void>(const json&)> checkpoint;
  const sagent_call* call = nullptr;
  bool breached = false;

private:
  std::unique_ptr<host::call_context> context_;
};

TEST_F(plugin_call, gives_what_was_emitted_in_order) {
  auto& context = make();
  EXPECT_EQ(emit("{\"n\":1}"), SAGENT_OK);
  EXPECT_EQ(emit("{\"n\":0.10}"), SAGENT_OK);
  const auto verdict = context.finish(SAGENT_OK, false);
  ASSERT_TRUE(verdict.value);
  ASSERT_EQ(verdict.value->size(), 2u);
  EXPECT_EQ((*verdict.value)[1]["n"].number_text(), "0.10");
  EXPECT_FALSE(verdict.breached_contract);
}

TEST_F(plugin_call, that_emits_something_else_than_an_object_is_a_bug) {
  for (const char* text :
       {"", "[1]", "{", "{} {}", "<html>", "{\"a\":1,\"a\":2}", "{\"a\":\"\xff\"}"}) {
    make();
    EXPECT_EQ(emit(text), SAGENT_E_PLUGIN_BUG) << text;
    EXPECT_EQ(failure_of(SAGENT_OK).code, error_code::plugin_bug);
    EXPECT_TRUE(breached);
  }
}

TEST_F(plugin_call, that_emits_null_is_a_bug) {
  make();
  EXPECT_EQ(call->emit(call, nullptr, 5), SAGENT_E_PLUGIN_BUG);
  EXPECT_EQ(failure_of(SAGENT_OK).code, error_code::plugin_bug);
}

TEST_F(plugin_call, takes_a_result_of_one_mebibyte_and_no_more) {
  std::string text(host::call_context::largest_emit, ' ');
  text.front() = '{';
  text.back() = '}';
  make();
  EXPECT_EQ(emit(text), SAGENT_OK);
  EXPECT_EQ(emit(text + " "), SAGENT_E_PLUGIN_BUG);
  EXPECT_NE(failure_of(SAGENT_OK).message.find("1 MiB"), std::string::npos);
}

TEST_F(plugin_call, takes_64_mebibytes_of_results_and_no_more) {
  std::string text(host::call_context::largest_emit, ' ');
  text.front() = '{';
  text.back() = '}';
  make();
  for (int i = 0; i < 64; ++i) {
    ASSERT_EQ(emit(text), SAGENT_OK);
  }
  EXPECT_EQ(emit("{}"), SAGENT_E_PLUGIN_BUG);
  EXPECT_NE(failure_of(SAGENT_OK).message.find("64 MiB"), std::string::npos);
}

TEST_F(plugin_call, keeps_the_first_failure_and_every_field_of_it) {
  make();
  sagent_error_info info{};
  info.struct_size = sizeof info;
  info.code = SAGENT_E_QUOTA;
  info.message = borrow("no room\nfor 4 cores");
  info.public_message = borrow("The provider has no room");
  info.provider_code = borrow("QuotaExceeded");
  info.provider_request_id = borrow("r-9");
  info.retry_after_ms = 1500;
  info.detail = borrow(R"({"http_status":409,"created":["a"]})");
  call->fail(call, &info);
  fail(SAGENT_E_TRANSIENT, "second");
  const error e = failure_of(SAGENT_E_QUOTA);
  EXPECT_EQ(e.code, error_code::quota);
  EXPECT_EQ(e.message, "zoo: ping: no room for 4 cores");
  EXPECT_EQ(e.public_message, "The provider has no room");
  EXPECT_EQ(e.provider_code, "QuotaExceeded");
  EXPECT_EQ(e.provider_request_id, "r-9");
  EXPECT_EQ(e.retry_after, 1500ms);
  EXPECT_EQ(e.http_status, 409);
  EXPECT_EQ(e.detail, R"({"http_status":409,"created":["a"]})");
  EXPECT_FALSE(breached);
}

TEST_F(plugin_call, reads_an_older_shorter_error_as_far_as_it_goes) {
  make();
  sagent_error_info info{};
  info.struct_size = offsetof(sagent_error_info, public_message);
  info.code = SAGENT_E_THROTTLED;
  info.message = borrow("slow down");
  info.retry_after_ms = 7;
  info.public_message = borrow("beyond what the author knew");
  call->fail(call, &info);
  const error e = failure_of(SAGENT_E_THROTTLED);
  EXPECT_EQ(e.message, "zoo: ping: slow down");
  EXPECT_EQ(e.retry_after, 7ms);
  EXPECT_EQ(e.public_message, "");
}

TEST_F(plugin_call, ignores_a_detail_that_is_no_object) {
  make();
  sagent_error_info info{};
  info.struct_size = sizeof info;
  info.code = SAGENT_E_TRANSIENT;
  info.retry_after_ms = -1;
  info.detail = borrow("[1,2");
  call->fail(call, &info);
  const error e = failure_of(SAGENT_E_TRANSIENT);
  EXPECT_EQ(e.detail, "");
  EXPECT_FALSE(e.retry_after);
}

TEST_F(plugin_call, that_fails_and_returns_ok_is_a_bug) {
  make();
  fail(SAGENT_E_QUOTA, "no room");
  const error e = failure_of(SAGENT_OK);
  EXPECT_EQ(e.code, error_code::plugin_bug);
  EXPECT_NE(e.message.find("returned success: no room"), std::string::npos) << e.message;
  EXPECT_TRUE(breached);
}

TEST_F(plugin_call, that_emits_after_its_failure_is_a_bug) {
  make();
  fail(SAGENT_E_TRANSIENT, "x");
  EXPECT_EQ(emit("{}"), SAGENT_E_PLUGIN_BUG);
  EXPECT_EQ(failure_of(SAGENT_E_TRANSIENT).code, error_code::plugin_bug);
}

TEST_F(plugin_call, without_a_reason_gets_a_stock_text_by_its_class) {
  for (const sagent_code code : {100, 150, 200, 300, 400, 900, 177, 299}) {
    make();
    const error e = failure_of(code);
    EXPECT_EQ(static_cast<int>(e.code), code);
    EXPECT_GT(e.message.size(), std::string("zoo: ping: ").size()) << code;
    EXPECT_EQ(breached, code == 900) << code;
  }
}

TEST_F(plugin_call, with_a_code_of_no_class_is_a_bug) {
  for (const sagent_code code : {1, 99, -5, 500, 999999}) {
    make();
    EXPECT_EQ(failure_of(code).code, error_code::plugin_bug) << code;
    EXPECT_TRUE(breached);
  }
}

TEST_F(plugin_call, that_threw_is_a_bug) {
  make();
  const error e = failure_of(SAGENT_OK, true);
  EXPECT_EQ(e.code, error_code::plugin_bug);
  EXPECT_NE(e.message.find("exception"), std::string::npos);
}

TEST_F(plugin_call, cuts_long_messages_at_a_character) {
  make();
  std::string text;
  for (int i = 0; i < 5000; ++i) {
    text += "\xc3\xa4";
  }
  fail(SAGENT_E_PERMANENT, text);
  const error e = failure_of(SAGENT_E_PERMANENT);
  EXPECT_LE(e.message.size(), host::call_context::longest_message + 20);
  EXPECT_NE(e.message.find("\xa4 [...]"), std::string::npos);
}

TEST_F(plugin_call, never_lets_a_secret_out) {
  siteagent::base::global_redactor().protect("canary-in-call");
  auto& context = make();
  emit(R"({"metadata":{"list":["x canary-in-call"]},"k":"canary-in-call"})");
  const auto verdict = context.finish(SAGENT_OK, false);
  ASSERT_TRUE(verdict.value);
  EXPECT_EQ((*verdict.value)[0].dump(), R"({"metadata":{"list":["x ***"]},"k":"***"})");
  make();
  sagent_error_info info{};
  info.struct_size = sizeof info;
  info.code = SAGENT_E_AUTH;
  info.message = borrow("refused canary-in-call");
  info.public_message = borrow("canary-in-call");
  info.provider_code = borrow("canary-in-call");
  info.detail = borrow(R"({"resource":"canary-in-call"})");
  call->fail(call, &info);
  const error e = failure_of(SAGENT_E_AUTH);
  for (const std::string& text : {e.message, e.public_message, e.provider_code, e.detail}) {
    EXPECT_EQ(text.find("canary"), std::string::npos) << text;
    EXPECT_NE(text.find("***"), std::string::npos) << text;
  }
}

TEST_F(plugin_call, knows_its_remaining_time) {
  make(1h);
  EXPECT_GT(call->remaining_ms(call), 3'590'000);
  EXPECT_LE(call->remaining_ms(call), 3'600'000);
  make(0ms);
  EXPECT_EQ(call->remaining_ms(call), 0);
}

TEST_F(plugin_call, has_no_time_left_once_told_to_stop) {
  make();
  stop.request_stop();
  EXPECT_EQ(call->remaining_ms(call), 0);
  EXPECT_EQ(call->wait_ms(call, 60'000), SAGENT_E_CANCELLED);
  EXPECT_EQ(reach("{}"), SAGENT_E_CANCELLED);
}

TEST_F(plugin_call, waits_the_full_time_or_until_its_deadline) {
  make();
  EXPECT_EQ(call->wait_ms(call, 1), SAGENT_OK);
  EXPECT_EQ(call->wait_ms(call, -5), SAGENT_OK);
  make(1ms);
  EXPECT_EQ(call->wait_ms(call, 3'600'000), SAGENT_E_DEADLINE);
  EXPECT_EQ(call->wait_ms(call, INT64_MAX), SAGENT_E_DEADLINE);
}

TEST_F(plugin_call, wakes_from_its_wait_when_told_to_stop) {
  make();
  auto waiting = std::async(std::launch::async, [this] { return call->wait_ms(call, 3'600'000); });
  stop.request_stop();
  EXPECT_EQ(waiting.get(), SAGENT_E_CANCELLED);
}

TEST_F(plugin_call, forwards_checkpoints_and_their_answer) {
  std::vector<std::string> seen;
  checkpoint = [&seen](const json& what) -> siteagent::base::result<void> {
    seen.push_back(what["phase"].string_or(""));
    if (seen.size() < 2) {
      return {};
    }
    return error{.code = error_code::cancelled, .message = "the order was cancelled"};
  };
  make();
  EXPECT_EQ(reach(R"({"phase":"before"})"), SAGENT_OK);
  EXPECT_EQ(reach(R"({"phase":"after"})"), SAGENT_E_CANCELLED);
  EXPECT_EQ(seen, (std::vector<std::string>{"before", "after"}));
}

TEST_F(plugin_call, told_to_stop_still_tells_what_happened_and_begins_nothing_new) {
  std::vector<std::string> seen;
  checkpoint = [&seen](const json& what) -> siteagent::base::result<void> {
    seen.push_back(what["phase"].string_or(""));
    return {};
  };
  make();
  stop.request_stop();
  for (const char* phase : {"before", "after", "poll"}) {
    EXPECT_EQ(reach(json::object({{"phase", phase}}).dump()), SAGENT_E_CANCELLED);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"after", "poll"}));
}

TEST_F(plugin_call, stops_at_a_checkpoint_after_its_deadline) {
  make(0ms);
  EXPECT_EQ(reach("{}"), SAGENT_E_DEADLINE);
}

TEST_F(plugin_call, with_a_bad_checkpoint_is_a_bug) {
  for (const char* text : {"", "[]", "no json"}) {
    make();
    EXPECT_EQ(reach(text), SAGENT_E_PLUGIN_BUG);
    EXPECT_EQ(failure_of(SAGENT_OK).code, error_code::plugin_bug);
  }
}

TEST_F(plugin_call, survives_a_checkpoint_function_that_throws) {
  checkpoint = [](const json&) -> siteagent::base::result<void> {
    throw std::runtime_error("bug");
  };
  make();
  EXPECT_EQ(reach("{}"), SAGENT_E_CANCELLED);
}

TEST_F(plugin_call, answers_harmlessly_after_it_ended) {
  auto& context = make();
  (void)context.finish(SAGENT_OK, false);
  EXPECT_EQ(call->remaining_ms(call), 0);
  EXPECT_EQ(call->wait_ms(call, 3'600'000), SAGENT_E_CANCELLED);
  EXPECT_EQ(emit("{}"), SAGENT_E_PLUGIN_BUG);
  EXPECT_EQ(reach("{}"), SAGENT_E_CANCELLED);
  fail(SAGENT_E_TRANSIENT, "late");
}

TEST_F(plugin_call, ends_only_when_the_plugins_other_threads_left_its_callbacks) {
  auto& context = make();
  std::promise<void> entered;
  checkpoint = nullptr;
  auto waiting = std::async(std::launch::async, [&] {
    entered.set_value();
    return call->wait_ms(call, 3'600'000);
  });
  entered.get_future().wait();
  (void)context.finish(SAGENT_OK, false);
  EXPECT_EQ(waiting.get(), SAGENT_E_CANCELLED);
}

TEST_F(plugin_call, takes_results_from_several_threads) {
  auto& context = make();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 100; ++i) {
        emit("{\"a\":1}");
        (void)call->remaining_ms(call);
      }
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
  const auto verdict = context.finish(SAGENT_OK, false);
  ASSERT_TRUE(verdict.value);
  EXPECT_EQ(verdict.value->size(), 400u);
}

} // namespace
