// SPDX-License-Identifier: MIT
#include "core/host/call_context.hpp"

#include "core/base/secret.hpp"
#include "core/base/text.hpp"
#include "core/host/crash_point.hpp"

#include <algorithm>
#include <cstring>

namespace siteagent::host {

namespace {

using std::chrono::milliseconds;

std::string_view view(const sagent_str& s) {
  return s.data == nullptr ? std::string_view() : std::string_view(s.data, s.len);
}

// Fit for a log line: scrubbed, one line, at most 4 KiB.
std::string for_people(std::string_view text) {
  static constexpr std::string_view ellipsis = " [...]";
  std::string clean = base::global_redactor().scrub(text);
  if (clean.size() > call_context::longest_message) {
    clean = base::truncated(clean, call_context::longest_message - ellipsis.size());
    clean += ellipsis;
  }
  for (char& c : clean) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      c = ' ';
    }
  }
  return clean;
}

// What a plugin emits goes to the marketplace and to files: no known secret may ride along.
void scrub_strings(base::json& value) {
  if (const auto text = value.string()) {
    std::string clean = base::global_redactor().scrub(*text);
    if (clean != *text) {
      value = base::json(std::move(clean));
    }
  }
  for (base::json& item : value.items()) {
    scrub_strings(item);
  }
  for (auto& [key, member] : value.members()) {
    scrub_strings(member);
  }
}

std::string_view stock_text(base::error_class c) {
  switch (c) {
  case base::error_class::transient:
    return "failed without a reason; it will be tried again";
  case base::error_class::outcome_unknown:
    return "ended without a reason and may or may not have taken effect";
  case base::error_class::permanent:
    return "failed for good without a reason; see the plugin's log lines";
  case base::error_class::refused:
    return "was refused without a reason; see the plugin's log lines";
  case base::error_class::not_found:
    return "did not find its target";
  case base::error_class::broken:
    return "ended with an internal error";
  }
  return "failed";
}

base::error to_error(const sagent_error_info& info) {
  base::error e;
  e.code = static_cast<base::error_code>(info.code);
  e.message = for_people(view(info.message));
  e.public_message = for_people(view(info.public_message));
  e.provider_code = for_people(view(info.provider_code));
  e.provider_request_id = for_people(view(info.provider_request_id));
  if (info.retry_after_ms >= 0) {
    e.retry_after = milliseconds(info.retry_after_ms);
  }
  if (info.detail.len > 0 && info.detail.len <= call_context::largest_emit) {
    if (auto detail = base::json::parse(view(info.detail)); detail && detail->is_object()) {
      scrub_strings(*detail);
      e.http_status = static_cast<int>((*detail)["http_status"].integer().value_or(0));
      e.detail = detail->dump();
    }
  }
  return e;
}

} // namespace

// Every callback starts with one: no entry after finish(), and finish() waits for those inside.
class call_context::entrance {
public:
  explicit entrance(const sagent_call* call)
      : context_(call == nullptr ? nullptr : static_cast<call_context*>(call->host_data)) {
    if (context_ == nullptr) {
      return;
    }
    const std::lock_guard lock(context_->mutex_);
    if (context_->closed_) {
      context_ = nullptr;
    } else {
      ++context_->inside_;
    }
  }

  entrance(const entrance&) = delete;
  entrance& operator=(const entrance&) = delete;

  ~entrance() {
    if (context_ != nullptr) {
      const std::lock_guard lock(context_->mutex_);
      --context_->inside_;
      context_->changed_.notify_all();
    }
  }

  call_context* operator->() const { return context_; }

  explicit operator bool() const { return context_ != nullptr; }

private:
  call_context* context_;
};

call_context::call_context(setup s) : setup_(std::move(s)) {
  table_.struct_size = sizeof table_;
  table_.host_data = this;
  table_.remaining_ms = &call_context::remaining_ms;
  table_.wait_ms = &call_context::wait_ms;
  table_.emit = &call_context::emit;
  table_.fail = &call_context::fail;
  table_.checkpoint = &call_context::checkpoint;
}

std::int64_t call_context::remaining_ms(const sagent_call* call) noexcept {
  try {
    const entrance in(call);
    if (!in || in->setup_.stop.stop_requested()) {
      return 0;
    }
    const auto left = in->setup_.deadline - base::real_clock().steady();
    return std::max<std::int64_t>(0, std::chrono::duration_cast<milliseconds>(left).count());
  } catch (...) {
    return 0;
  }
}

sagent_code call_context::wait_ms(const sagent_call* call, std::int64_t ms) noexcept {
  try {
    const entrance in(call);
    return in ? in->wait(ms) : SAGENT_E_CANCELLED;
  } catch (...) {
    return SAGENT_E_CANCELLED;
  }
}

sagent_code call_context::wait(std::int64_t ms) {
  static constexpr std::int64_t longest_wait = 24LL * 3600 * 1000;
  const auto now = base::real_clock().steady();
  const auto wanted = now + milliseconds(std::clamp<std::int64_t>(ms, 0, longest_wait));
  const auto until = std::min(wanted, setup_.deadline);
  std::unique_lock lock(mutex_);
  changed_.wait_until(lock, setup_.stop, until, [this] { return closed_; });
  if (closed_ || setup_.stop.stop_requested()) {
    return SAGENT_E_CANCELLED;
  }
  return wanted >= setup_.deadline ? SAGENT_E_DEADLINE : SAGENT_OK;
}

sagent_code
call_context::emit(const sagent_call* call, const char* json, std::uint64_t len) noexcept {
  try {
    const entrance in(call);
    if (!in) {
      return SAGENT_E_PLUGIN_BUG;
    }
    if (json == nullptr) {
      return in->breach("emitted NULL");
    }
    if (len > largest_emit) {
      return in->breach("emitted " + std::to_string(len) + " bytes at once; the limit is 1 MiB");
    }
    return in->take_result(std::string_view(json, len));
  } catch (...) {
    return SAGENT_E_TRANSIENT;
  }
}

sagent_code call_context::take_result(std::string_view text) {
  auto parsed = base::json::parse(text);
  if (!parsed) {
    return breach("emitted text that is no JSON: " + parsed.error().message);
  }
  if (!parsed->is_object()) {
    return breach("emitted JSON that is no object");
  }
  scrub_strings(*parsed);
  const std::lock_guard lock(mutex_);
  std::string why;
  if (failure_) {
    why = "emitted a result after it had reported a failure";
  } else if (taken_bytes_ + text.size() > largest_total) {
    why = "emitted more than 64 MiB in one call";
  }
  if (!why.empty()) {
    breach_ = breach_.value_or(why);
    return SAGENT_E_PLUGIN_BUG;
  }
  taken_bytes_ += text.size();
  results_.push_back(std::move(*parsed));
  return SAGENT_OK;
}

void call_context::fail(const sagent_call* call, const sagent_error_info* info) noexcept {
  try {
    const entrance in(call);
    if (!in) {
      return;
    }
    if (info == nullptr || info->struct_size < offsetof(sagent_error_info, provider_code)) {
      in->breach("called fail without a complete sagent_error_info");
      return;
    }
    sagent_error_info copy{};
    copy.retry_after_ms = -1;
    const sagent_error_info blank = copy;
    std::memcpy(&copy, info, std::min<std::size_t>(info->struct_size, sizeof copy));
    if (info->struct_size < offsetof(sagent_error_info, public_message)) {
      copy.retry_after_ms = blank.retry_after_ms; // not (wholly) the author's
    }
    in->take_failure(copy);
  } catch (...) { // NOLINT(bugprone-empty-catch): the return code still tells the class
  }
}

void call_context::take_failure(const sagent_error_info& info) {
  base::error e = to_error(info);
  const std::lock_guard lock(mutex_);
  if (!failure_) {
    failure_ = std::move(e);
  }
}

sagent_code
call_context::checkpoint(const sagent_call* call, const char* json, std::uint64_t len) noexcept {
  try {
    const entrance in(call);
    if (!in) {
      return SAGENT_E_CANCELLED;
    }
    if (json == nullptr || len > largest_emit) {
      return in->breach("called checkpoint without JSON of at most 1 MiB");
    }
    return in->run_checkpoint(std::string_view(json, len));
  } catch (...) {
    return SAGENT_E_CANCELLED;
  }
}

sagent_code call_context::run_checkpoint(std::string_view text) {
  auto what = base::json::parse(text);
  if (!what || !what->is_object()) {
    return breach("called checkpoint with text that is no JSON object");
  }
  reach_crash_point(*what);
  // What has happened is always told, so that no write is missing from the audit trail; what has
  // not happened yet is not begun when it is time to stop.
  if ((*what)["phase"].string_or("") == "before") {
    if (const sagent_code stop = why_to_stop(); stop != SAGENT_OK) {
      return stop;
    }
  }
  if (setup_.checkpoint) {
    scrub_strings(*what);
    if (const auto answer = setup_.checkpoint(*what); !answer) {
      return static_cast<sagent_code>(answer.error().code);
    }
  }
  return why_to_stop();
}

sagent_code call_context::why_to_stop() const {
  if (setup_.stop.stop_requested()) {
    return SAGENT_E_CANCELLED;
  }
  return base::real_clock().steady() >= setup_.deadline ? sagent_code{SAGENT_E_DEADLINE}
                                                        : sagent_code{SAGENT_OK};
}

sagent_code call_context::breach(std::string why) {
  const std::lock_guard lock(mutex_);
  if (!breach_) {
    breach_ = std::move(why);
  }
  return SAGENT_E_PLUGIN_BUG;
}

call_verdict call_context::finish(sagent_code returned, bool escaped) {
  {
    std::unique_lock lock(mutex_);
    closed_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return inside_ == 0; });
  }
  return judge(returned, escaped);
}

call_verdict call_context::judge(sagent_code returned, bool escaped) {
  if (escaped) {
    breach_ = "an exception came out of the plugin";
  } else if (!breach_ && failure_ && returned == SAGENT_OK) {
    breach_ = "reported a failure but returned success: " + failure_->message;
  } else if (!breach_ && base::class_of(returned) == base::error_class::broken && returned != SAGENT_OK && returned != SAGENT_E_PLUGIN_BUG && returned != SAGENT_E_PLUGIN_LOST) {
    breach_ = "returned the unknown code " + std::to_string(returned);
  }
  if (breach_) {
    return {
        .value =
            base::error{
                .code = base::error_code::plugin_bug,
                .message = setup_.what + ": the plugin broke its contract: " +
                           for_people(*breach_) + "; report this to its author"},
        .breached_contract = true};
  }
  if (returned == SAGENT_OK) {
    return {.value = std::move(results_)};
  }
  base::error e = failure_.value_or(base::error{});
  if (!failure_ || static_cast<sagent_code>(e.code) == SAGENT_OK) {
    e.code = static_cast<base::error_code>(returned);
  }
  if (e.message.empty()) {
    e.message = stock_text(base::class_of(e.code));
  }
  const bool is_bug = base::class_of(e.code) == base::error_class::broken;
  return {.value = base::with_context(std::move(e), setup_.what), .breached_contract = is_bug};
}

void retired_calls::keep(std::unique_ptr<call_context> finished) {
  std::unique_ptr<call_context> oldest;
  const std::lock_guard lock(mutex_);
  calls_.push_back(std::move(finished));
  if (calls_.size() > kept) {
    oldest = std::move(calls_.front());
    calls_.pop_front();
  }
}

} // namespace siteagent::host
