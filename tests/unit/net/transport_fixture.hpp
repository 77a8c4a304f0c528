// SPDX-License-Identifier: MIT
// What the transport tests share: the process set up as a program does it, and short requests.
#pragma once

#include "core/net/transport.hpp"
#include "tests/unit/net/hostile_server.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace siteagent::net::test {

// As in the main() of a program whose operator chose no authorities of his own.
inline const bool is_process_initialised = [] {
  unsetenv("SSL_CERT_FILE");
  unsetenv("SSL_CERT_DIR");
  initialise_process();
  return true;
}();

inline std::unique_ptr<transport> make(transport_options options = {}) {
  auto made = make_transport(std::move(options));
  EXPECT_TRUE(made) << made.error().message;
  return std::move(*made);
}

inline request get(const std::string& url) {
  request r;
  r.url = url;
  return r;
}

inline request write(const std::string& method, const std::string& url, const std::string& body) {
  request r;
  r.method = method;
  r.url = url;
  r.body = body;
  return r;
}

// What a server received, for looking at afterwards. [any thread]
class received {
public:
  void add(const std::string& request) {
    const std::lock_guard lock(mutex_);
    list_.push_back(request);
  }

  std::vector<std::string> all() const {
    const std::lock_guard lock(mutex_);
    return list_;
  }

  int count(std::string_view beginning) const {
    int n = 0;
    for (const std::string& r : all()) {
      n += r.find(beginning) == 0 ? 1 : 0;
    }
    return n;
  }

private:
  mutable std::mutex mutex_;
  std::vector<std::string> list_;
};

// Sends `bytes` for every request, then closes.
inline hostile_server::script say(std::string bytes) {
  return [bytes = std::move(bytes)](connection& c, int) {
    if (!c.read_request().empty()) {
      c.write(bytes);
    }
  };
}

} // namespace siteagent::net::test
