// SPDX-License-Identifier: MIT
// An API server that keeps Kubernetes' rules for leases: versions, conflicts, tokens.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/net/server.hpp"

#include <algorithm>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::agent::test {

class fake_kubernetes {
public:
  using json = base::json;

  // `options` may ask for TLS.
  explicit fake_kubernetes(net::server_options options = {}) {
    auto made = net::server::start(std::move(options), [this](const net::server_request& q) {
      return answer(q);
    });
    server_ = *std::move(made);
  }

  std::uint16_t port() const { return server_->port(); }

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port()); }

  json only_lease() {
    const std::lock_guard lock(mutex_);
    return leases_.empty() ? json() : leases_.begin()->second;
  }

  // Asked again after each write; false: not before the deadline.
  bool
  wait_for(const std::function<bool(const json& only_lease)>& fits, std::chrono::seconds time) {
    std::unique_lock lock(mutex_);
    return written_.wait_for(lock, time, [&] {
      return !leases_.empty() && fits(leases_.begin()->second);
    });
  }

  // When each holder wrote last, also of those that are gone.
  std::map<std::string, base::steady_time> last_writes() {
    const std::lock_guard lock(mutex_);
    return last_writes_;
  }

  std::string holder() { return only_lease()["spec"]["holderIdentity"].string_or(""); }

  void forget() {
    const std::lock_guard lock(mutex_);
    leases_.clear();
  }

  std::vector<std::string> requests;            // "GET", ... of the last ones
  std::string token = "token-1";                // the one that is valid
  int refuse_with = 0;                          // a status for every request
  std::function<void(std::string_view)> before; // each request, with its method

private:
  static net::server_response reply(int status, const json& body) {
    net::server_response r;
    r.status = status;
    r.headers = {{"Content-Type", "application/json"}};
    r.body = body.dump();
    return r;
  }

  static net::server_response refusal(int status, const std::string& why) {
    return reply(status, json::object({{"kind", "Status"}, {"message", why}, {"code", status}}));
  }

  net::server_response answer(const net::server_request& q) {
    if (before) {
      before(q.method);
    }
    const std::lock_guard lock(mutex_);
    requests.push_back(q.method);
    if (refuse_with != 0) {
      return refusal(refuse_with, "scripted");
    }
    if (q.header("authorization") != "Bearer " + token) {
      return refusal(401, "Unauthorized");
    }
    const std::string root = "/apis/coordination.k8s.io/v1/namespaces/waldur/leases";
    if (q.method == "POST" && q.path == root) {
      return create(*json::parse(q.body));
    }
    const auto found = leases_.find(q.path.substr(std::min(root.size() + 1, q.path.size())));
    if (!q.path.starts_with(root + "/") || found == leases_.end()) {
      return refusal(404, "not found");
    }
    return q.method == "PUT" ? replace(found->second, *json::parse(q.body))
                             : reply(200, found->second);
  }

  net::server_response create(json body) {
    const std::string name = body["metadata"]["name"].string_or("");
    if (leases_.contains(name)) {
      return refusal(409, "already exists");
    }
    stamp(body);
    leases_[name] = body;
    return reply(201, body);
  }

  net::server_response replace(json& known, json body) {
    if (!(known["metadata"]["resourceVersion"] == body["metadata"]["resourceVersion"])) {
      return refusal(409, "the object has been modified");
    }
    stamp(body);
    known = body;
    return reply(200, body);
  }

  void stamp(json& lease) {
    lease.member_ref("metadata").set("resourceVersion", std::to_string(++version_));
    last_writes_[lease["spec"]["holderIdentity"].string_or("")] = base::real_clock().steady();
    written_.notify_all();
  }

  std::mutex mutex_;
  std::condition_variable written_;
  std::map<std::string, json> leases_;
  std::map<std::string, base::steady_time> last_writes_;
  int version_ = 0;
  std::unique_ptr<net::server> server_;
};

} // namespace siteagent::agent::test
