// SPDX-License-Identifier: MIT
// Notes what a STOMP session tells its owner, and waits for it.
#pragma once

#include "core/net/stomp.hpp"

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <vector>

namespace siteagent::net::test {

class stomp_recorder {
public:
  static constexpr auto patience = std::chrono::seconds(20);

  stomp_message_handler on_message() {
    return [this](stomp_message m) {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(m));
      changed_.notify_all();
    };
  }

  stomp_end_handler on_end() {
    return [this](const base::error& reason) {
      const std::lock_guard lock(mutex_);
      ++ends_;
      reason_ = reason;
      changed_.notify_all();
    };
  }

  // The first `count` messages, or as many as came in time.
  std::vector<stomp_message>
  wait_for(std::size_t count, std::chrono::milliseconds at_most = patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [&] { return messages_.size() >= count; });
    return messages_;
  }

  std::vector<std::string> bodies(std::size_t count) {
    std::vector<std::string> out;
    for (const stomp_message& m : wait_for(count)) {
      out.push_back(m.body);
    }
    return out;
  }

  // The reason of the end; nullopt when there was none in time.
  std::optional<base::error> wait_for_end(std::chrono::milliseconds at_most = patience) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, at_most, [&] { return ends_ > 0; });
    return reason_;
  }

  int ends() {
    const std::lock_guard lock(mutex_);
    return ends_;
  }

private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<stomp_message> messages_;
  std::optional<base::error> reason_;
  int ends_ = 0;
};

} // namespace siteagent::net::test
