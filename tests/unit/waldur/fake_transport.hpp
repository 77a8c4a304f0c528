// SPDX-License-Identifier: MIT
// A transport whose answers are a script, and a client on top of it that never really sleeps.
#pragma once

#include "core/waldur/client.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::waldur {

inline net::response answer(int status, std::string body = "", net::header_list headers = {}) {
  return {status, std::move(headers), std::move(body)};
}

// Answers in order; asking for more than the script holds is a failure of the test.
class fake_transport final : public net::transport {
public:
  using reply = base::result<net::response>;

  void expect(reply r) { script_.push_back(std::move(r)); }

  // Instead of a script; runs on the caller's thread, several at once.
  std::function<reply(const net::request&)> handler;

  reply perform(const net::request& r) override {
    {
      const std::lock_guard lock(mutex_);
      requests.push_back(r);
      if (!handler) {
        if (script_.empty()) {
          ADD_FAILURE() << "an unexpected request: " << r.method << " " << r.url;
          return base::error{base::error_code::permanent, "the script has ended"};
        }
        reply next = std::move(script_.front());
        script_.pop_front();
        return next;
      }
    }
    return handler(r);
  }

  std::size_t left() const { return script_.size(); }

  std::vector<net::request> requests;

private:
  std::mutex mutex_;
  std::deque<reply> script_;
};

inline std::string header_of(const net::request& r, std::string_view name) {
  for (const auto& [key, value] : r.headers) {
    if (key == name) {
      return value;
    }
  }
  return "";
}

inline const base::uuid offering_id = *base::uuid::parse("e2ef0000000000000000000000000201");
inline const base::uuid order_id = *base::uuid::parse("5f0c1f3a5a5a4a6a9a0b1c2d3e4f5061");
inline const base::uuid resource_id = *base::uuid::parse("0a1b2c3d4e5f60718293a4b5c6d7e8f9");

class waldur_client : public testing::Test {
protected:
  waldur_client() {
    options.api_root = "https://waldur.example.com";
    options.token = base::secret("the-api-token");
    options.user_agent = "waldur-site-agent-order_process/2.0.0";
    options.sleep = [this](std::chrono::milliseconds wait) {
      pauses.push_back(wait);
      clock.advance(wait);
    };
    options.on_warning = [this](std::string text) { warnings.push_back(std::move(text)); };
    options.clock = &clock;
  }

  client& waldur() {
    if (!client_) {
      client_ = std::make_unique<client>(options, http);
    }
    return *client_;
  }

  void use_oidc() {
    options.oidc_token_url = "https://id.example.com/realm/token";
    options.oidc_client_id = "agent & co";
    options.oidc_client_secret = base::secret("oidc-secret+/=");
  }

  const net::request& request(std::size_t i) const { return http->requests.at(i); }

  base::manual_clock clock;
  client_options options;
  std::shared_ptr<fake_transport> http = std::make_shared<fake_transport>();
  std::vector<std::chrono::milliseconds> pauses;
  std::vector<std::string> warnings;

private:
  std::unique_ptr<client> client_;
};

} // namespace siteagent::waldur
