// SPDX-License-Identifier: MIT
// A stand-in for RabbitMQ's management API: remembers what it is asked, keeps queues and messages.
#pragma once

#include "core/base/json.hpp"
#include "core/net/server.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace siteagent::waldur_emulator::test {

using base::json;

class fake_broker {
public:
  struct call {
    std::string what; // "PUT /api/vhosts/x"
    std::string authorization;
    json body;
  };

  struct message {
    std::string queue;
    std::string payload;
    json content;    // the payload, when it is JSON
    json properties; // as they were sent
  };

  fake_broker() {
    auto started =
        net::server::start({}, [this](const net::server_request& r) { return answer(r); });
    EXPECT_TRUE(started) << started.error().message;
    http_ = *std::move(started);
  }

  std::string url() const {
    return "http://boss:p%40ss@127.0.0.1:" + std::to_string(http_->port());
  }

  // Everything whose path contains `part` is answered so from now on; 0: as usual again.
  void break_calls(const std::string& part, int status) {
    const std::lock_guard lock(mutex_);
    broken_ = part;
    broken_status_ = status;
  }

  std::vector<call> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  bool was_asked(const std::string& what) const {
    const auto all = calls();
    return std::any_of(all.begin(), all.end(), [&](const call& c) { return c.what == what; });
  }

  bool waits_for_call(const std::string& what) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] {
      return std::any_of(calls_.begin(), calls_.end(), [&](const call& c) {
        return c.what == what;
      });
    });
  }

  json body_of(const std::string& what) const {
    for (const auto& c : calls()) {
      if (c.what == what) {
        return c.body;
      }
    }
    return {};
  }

  // The first `count` messages, or fewer when they do not come.
  std::vector<message> messages(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience, [&] { return messages_.size() >= count; });
    return messages_;
  }

  void forget() {
    const std::lock_guard lock(mutex_);
    calls_.clear();
    messages_.clear();
  }

private:
  static constexpr std::chrono::seconds patience{20};

  net::server_response answer(const net::server_request& r) {
    const std::lock_guard lock(mutex_);
    const std::string what = r.method + " " + r.path;
    const json body = json::parse(r.body.empty() ? "null" : r.body).value_or(json());
    calls_.push_back({what, r.header("authorization"), body});
    changed_.notify_all();
    net::server_response response;
    if (broken_status_ != 0 && r.path.find(broken_) != std::string::npos) {
      response.status = broken_status_;
      return response;
    }
    if (r.method == "PUT") {
      response.status = made_.insert(r.path).second ? 201 : 204;
      return response;
    }
    if (r.method == "DELETE") {
      response.status = made_.erase(r.path) > 0 ? 204 : 404;
      return response;
    }
    const std::string vhost = r.segments.size() > 2 ? r.segments[2] : "";
    const std::string queue = body["routing_key"].string_or("");
    const bool routed = made_.contains("/api/queues/" + vhost + "/" + queue);
    if (routed) {
      const std::string text = body["payload"].string_or("");
      messages_.push_back({queue, text, json::parse(text).value_or(json()), body["properties"]});
      changed_.notify_all();
    }
    response.body = json::object({{"routed", routed}}).dump();
    return response;
  }

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<call> calls_;
  std::vector<message> messages_;
  std::set<std::string> made_;
  std::string broken_;
  int broken_status_ = 0;
  std::unique_ptr<net::server> http_; // last: its threads use everything above
};

} // namespace siteagent::waldur_emulator::test
