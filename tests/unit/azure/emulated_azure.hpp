// SPDX-License-Identifier: MIT
// The emulated Azure as the plugin's transport, without sockets: two sides written apart from each
// other must understand one another.
#pragma once

#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "core/net/url.hpp"
#include "tests/emulators/azure/service.hpp"
#include "tests/unit/azure/fixture.hpp"

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::azure::test {

class emulated_azure final : public net::transport {
public:
  static inline const std::string url = "http://127.0.0.1:8001";

  emulated_azure() {
    service_.attach_clock(clock);
    service_.set_timing(azure_emulator::timing::instant());
    EXPECT_TRUE(service_.reset(true));
  }

  base::result<net::response> perform(const net::request& r) override {
    const std::lock_guard guard(mutex_);
    const auto to = net::parse_url(r.url);
    net::server_request s;
    s.method = r.method;
    s.target = to->target;
    const auto mark = s.target.find('?');
    s.path = s.target.substr(0, mark);
    s.query = mark == std::string::npos ? std::string() : s.target.substr(mark + 1);
    for (const auto part : base::split(s.path, '/')) {
      if (!part.empty()) {
        s.segments.push_back(net::decode(part));
      }
    }
    s.parameters = net::parse_query(s.query);
    for (const auto& [name, value] : r.headers) {
      s.headers.emplace_back(base::to_lower(name), value);
    }
    s.headers.emplace_back("content-length", std::to_string(r.body.size()));
    s.body = r.body;
    s.scheme = "http";
    emulators::call call;
    call.base_url = url;
    call.request_id = base::uuid::random().dashed();
    call.now = clock.wall();
    auto answer = service_.handle(s, call);
    service_.finish(s, call, answer);
    net::response out;
    out.status = answer.status;
    out.body = answer.body;
    for (const auto& [name, value] : answer.headers) {
      out.headers.emplace_back(base::to_lower(name), value);
    }
    log_.push_back({r.method, s.path, s.query, r.headers, r.body, out.status});
    return out;
  }

  void seed(const base::json& document) {
    const auto done = service_.seed(document);
    EXPECT_TRUE(done) << done.error().message;
  }

  // Every object as its GET shows it, by kind.
  base::json inventory() {
    const std::lock_guard guard(mutex_);
    emulators::call call;
    call.base_url = url;
    call.now = clock.wall();
    return service_.inventory(call);
  }

  void advance(std::chrono::seconds by) {
    clock.advance(by);
    service_.clock_advanced();
  }

  // Requests of a method whose path contains the text, without case.
  std::size_t count(std::string_view method, std::string_view path_part) const {
    std::size_t n = 0;
    for (const logged& l : log_) {
      n += l.method == method &&
                   base::to_lower(l.path).find(base::to_lower(path_part)) != std::string::npos
               ? 1
               : 0;
    }
    return n;
  }

  const std::vector<logged>& log() const { return log_; }

  base::manual_clock clock; // the emulator's own: it may differ from the plugin's

private:
  std::mutex mutex_;
  azure_emulator::service service_;
  std::vector<logged> log_;
};

} // namespace siteagent::azure::test
