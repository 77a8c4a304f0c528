// SPDX-License-Identifier: MIT
// One running call: the callbacks the plugin gets, with deadline, stop request, size caps and
// checks, and the verdict when the method has returned.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"

#include <sagent/plugin.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace siteagent::host {

struct call_verdict {
  base::result<std::vector<base::json>> value;
  bool breached_contract = false;
};

// Give table() to the plugin, call the method, then finish(). The object must outlive every late
// use of the table by a badly behaved plugin, so its owner keeps it for a while (see
// retired_calls). The callbacks are [any thread] and answer harmlessly after finish().
class call_context {
public:
  struct setup {
    std::string what; // "null: create_resource", begins every message
    base::steady_time deadline;
    std::stop_token stop;
    std::function<base::result<void>(const base::json&)> checkpoint;
  };

  explicit call_context(setup s);
  call_context(const call_context&) = delete;
  call_context& operator=(const call_context&) = delete;

  const sagent_call* table() const { return &table_; }

  // Ends the call: refuses later callbacks, wakes waiting ones and returns when the last of them
  // left. `escaped`: an exception came out of the method.
  call_verdict finish(sagent_code returned, bool escaped);

  static constexpr std::uint64_t largest_emit = 1024 * 1024;
  static constexpr std::uint64_t largest_total = 64 * 1024 * 1024;
  static constexpr std::size_t longest_message = 4 * 1024;

private:
  class entrance; // counts one thread inside a callback

  static std::int64_t remaining_ms(const sagent_call* call) noexcept;
  static sagent_code wait_ms(const sagent_call* call, std::int64_t ms) noexcept;
  static sagent_code emit(const sagent_call* call, const char* json, std::uint64_t len) noexcept;
  static void fail(const sagent_call* call, const sagent_error_info* info) noexcept;
  static sagent_code
  checkpoint(const sagent_call* call, const char* json, std::uint64_t len) noexcept;

  sagent_code wait(std::int64_t ms);
  sagent_code take_result(std::string_view text);
  void take_failure(const sagent_error_info& info);
  sagent_code run_checkpoint(std::string_view text);
  sagent_code why_to_stop() const;
  sagent_code breach(std::string why);
  call_verdict judge(sagent_code returned, bool escaped);

  sagent_call table_{};
  const setup setup_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  bool closed_ = false;
  unsigned inside_ = 0;
  std::uint64_t taken_bytes_ = 0;
  std::vector<base::json> results_;
  std::optional<base::error> failure_;
  std::optional<std::string> breach_; // the first one
};

// Keeps finished calls so that a late callback meets live memory. [any thread]
class retired_calls {
public:
  void keep(std::unique_ptr<call_context> finished);

private:
  static constexpr std::size_t kept = 256;

  std::mutex mutex_;
  std::deque<std::unique_ptr<call_context>> calls_;
};

} // namespace siteagent::host
