// SPDX-License-Identifier: MIT
// The surroundings of event processing: a Waldur that registers queues, sessions that deliver what
// a test says, membership that notes what it is asked.
#pragma once

#include "world.hpp"

#include "core/agent/events/event_handlers.hpp"
#include "core/agent/events/event_portal.hpp"
#include "core/agent/events/event_stream.hpp"
#include "core/agent/members/member_events.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::agent::test {

// Journals every call as "name argument".
class fake_event_portal final : public event_portal {
public:
  explicit fake_event_portal(fake_portal& waldur) : waldur_(waldur) {}

  // The next calls of that name fail so.
  void fail(const std::string& call, const base::error& e, unsigned times = 1) {
    const std::lock_guard lock(mutex_);
    for (unsigned i = 0; i < times; ++i) {
      failures_[call].push_back(e);
    }
  }

  std::vector<std::string> calls(const std::string& prefix = "") {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> some = calls_;
    std::erase_if(some, [&](const std::string& c) { return !c.starts_with(prefix); });
    return some;
  }

  unsigned count(const std::string& prefix) { return static_cast<unsigned>(calls(prefix).size()); }

  std::string login = "reader";
  std::map<std::string, base::uuid> projects;
  std::set<std::string> importables; // known ones: "project backend_id"
  std::string import_state = "Sent";

  base::result<waldur::event_queue> register_queue(const std::vector<std::string>& types) override {
    std::string text;
    for (const std::string& type : types) {
      text += (text.empty() ? "" : ",") + type;
    }
    if (auto e = enter("register_queue", text)) {
      return *e;
    }
    return waldur::event_queue{login, "consumer_1", "vhost", types};
  }

  base::result<waldur::event_queue> register_legacy_queue(const std::string& type) override {
    if (auto e = enter("register_legacy_queue", type)) {
      return *e;
    }
    return waldur::event_queue{"subscription_" + type, "queue_" + type, "vhost", {type}};
  }

  base::result<std::vector<waldur::order>> list_orders_of(const base::uuid& resource) override {
    if (auto e = enter("list_orders_of", resource.hex())) {
      return *e;
    }
    base::result<std::vector<waldur::order>> all = waldur_.list_orders();
    if (all) {
      std::erase_if(*all, [&](const waldur::order& o) { return o.resource != resource; });
    }
    return all;
  }

  base::result<void> ping() override { return answer("ping"); }

  base::result<std::string> get_import_request(const base::uuid& request) override {
    if (auto e = enter("get_import_request", request.hex())) {
      return *e;
    }
    return import_state;
  }

  base::result<void> start_import(const base::uuid& request) override {
    return answer("start_import", request.hex());
  }

  base::result<void> finish_import(const base::uuid& request) override {
    return answer("finish_import", request.hex());
  }

  base::result<void> fail_import(const base::uuid& request, std::string_view message) override {
    return answer("fail_import", request.hex() + " " + std::string(message));
  }

  base::result<std::optional<base::uuid>> find_project(std::string_view slug) override {
    if (auto e = enter("find_project", std::string(slug))) {
      return *e;
    }
    const auto found = projects.find(std::string(slug));
    return found == projects.end() ? std::nullopt : std::optional(found->second);
  }

  base::result<bool>
  is_importable_known(const base::uuid& project, std::string_view backend_id) override {
    return importables.contains(project.hex() + " " + std::string(backend_id));
  }

  base::result<void> submit_importable(
      const base::uuid& project, std::string_view backend_id, const base::json& metadata
  ) override {
    return answer(
        "submit_importable", project.hex() + " " + std::string(backend_id) + " " + metadata.dump()
    );
  }

  base::result<void> report_policy_result(
      const base::uuid& policy, const base::uuid& resource, bool success, std::string_view
  ) override {
    return answer(
        "report_policy_result",
        policy.hex() + " " + resource.hex() + (success ? " success" : " failure")
    );
  }

private:
  std::optional<base::error> enter(const std::string& call, const std::string& argument = "") {
    const std::lock_guard lock(mutex_);
    calls_.push_back(argument.empty() ? call : call + " " + argument);
    std::deque<base::error>& next = failures_[call];
    if (next.empty()) {
      return std::nullopt;
    }
    base::error e = next.front();
    next.pop_front();
    return e;
  }

  base::result<void> answer(const std::string& call, const std::string& argument = "") {
    if (auto e = enter(call, argument)) {
      return *e;
    }
    return {};
  }

  fake_portal& waldur_;
  std::mutex mutex_;
  std::map<std::string, std::deque<base::error>> failures_;
  std::vector<std::string> calls_;
};

// A broker with one side: what it delivers is what the test says.
class fake_broker {
public:
  struct connection {
    waldur::event_queue queue;
    net::stomp_message_handler on_message;
    net::stomp_end_handler on_end;
    std::string subscribed = "";
    unsigned prefetch = 0;
    std::vector<std::string> acknowledged = {}; // by ack id
    bool is_open = true;
  };

  // The next attempts fail so.
  void refuse(const base::error& e, unsigned times = 1) {
    for (unsigned i = 0; i < times; ++i) {
      refusals_.push_back(e);
    }
  }

  session_opener opener() {
    return [this](
               const waldur::event_queue& queue,
               net::stomp_message_handler on_message,
               net::stomp_end_handler on_end
           ) -> base::result<std::unique_ptr<net::stomp_session>> {
      ++attempts;
      if (!refusals_.empty()) {
        const base::error e = refusals_.front();
        refusals_.pop_front();
        return e;
      }
      auto made =
          std::make_shared<connection>(connection{queue, std::move(on_message), std::move(on_end)});
      const std::lock_guard lock(mutex_);
      connections_.push_back(made);
      return std::unique_ptr<net::stomp_session>(new session(*this, made));
    };
  }

  // Delivers over the last connection; the ack id is the running number.
  std::string deliver(const base::json& body) { return deliver_text(body.dump()); }

  std::string deliver_text(const std::string& body) {
    net::stomp_message message;
    message.body = body;
    message.ack = "ack-" + std::to_string(++delivered_);
    const std::string id = message.ack;
    last().on_message(std::move(message));
    return id;
  }

  void end(const base::error& reason) {
    connection& c = last();
    c.is_open = false;
    c.on_end(reason);
  }

  // Closed without a word.
  void vanish() { last().is_open = false; }

  std::vector<std::string> acknowledged(std::size_t nth) {
    const std::lock_guard lock(mutex_);
    return connections_.at(nth)->acknowledged;
  }

  std::vector<std::string> acknowledged() { return acknowledged(connections_.size() - 1); }

  connection& last() {
    const std::lock_guard lock(mutex_);
    return *connections_.back();
  }

  std::size_t connections() {
    const std::lock_guard lock(mutex_);
    return connections_.size();
  }

  unsigned attempts = 0;

private:
  class session final : public net::stomp_session {
  public:
    session(fake_broker& owner, std::shared_ptr<connection> c)
        : owner_(owner), connection_(std::move(c)) {}

    void subscribe(const std::string& queue, unsigned prefetch) override {
      connection_->subscribed = queue;
      connection_->prefetch = prefetch;
    }

    void acknowledge(const net::stomp_message& message) override {
      const std::lock_guard lock(owner_.mutex_);
      connection_->acknowledged.push_back(message.ack);
    }

    void close() override { connection_->is_open = false; }

    bool is_open() const override { return connection_->is_open; }

  private:
    fake_broker& owner_;
    std::shared_ptr<connection> connection_; // the test looks at it after the session's end
  };

  std::mutex mutex_;
  std::deque<base::error> refusals_;
  std::vector<std::shared_ptr<connection>> connections_;
  unsigned delivered_ = 0;
};

// Notes "name argument"; each can be made to fail or to run a hook first.
class fake_members final : public member_events {
public:
  std::vector<std::string> calls() {
    const std::lock_guard lock(mutex_);
    return calls_;
  }

  std::function<void(const std::string&)> hook; // set before use
  std::optional<base::error> failure;           // of every call
  std::optional<base::steady_time> owed;

  base::result<void> on_resource(const base::uuid& resource) override {
    return note("resource " + resource.hex());
  }

  base::result<void> on_role_change(const role_change& change) override {
    const auto text = [](const std::optional<base::uuid>& id) { return id ? id->hex() : "-"; };
    return note(
        "role " + text(change.user) + " " + text(change.project) + " " + text(change.resource)
    );
  }

  base::result<void> on_offering_user(const base::uuid& user) override {
    return note("offering_user " + user.hex());
  }

  base::result<void> on_account_change(const base::uuid& project) override {
    return note("accounts " + project.hex());
  }

  base::result<void> on_forced_sync() override { return note("forced_sync"); }

  base::result<void> on_status_timer() override { return note("status_timer"); }

  base::result<void> on_users_timer() override { return note("users_timer"); }

  std::optional<base::steady_time> next_due() const override { return owed; }

  base::result<void> retry_failed() override {
    owed.reset();
    return note("retry_failed");
  }

private:
  base::result<void> note(std::string what) {
    if (hook) {
      hook(what);
    }
    const std::lock_guard lock(mutex_);
    calls_.push_back(std::move(what));
    if (failure) {
      return *failure;
    }
    return {};
  }

  std::mutex mutex_;
  std::vector<std::string> calls_;
};

// A gate that a test opens: work that waits at it is in hand.
class gate {
public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    changed_.notify_all();
  }

  // false: not opened within the test's patience.
  bool pass() {
    std::unique_lock lock(mutex_);
    ++waiting_;
    changed_.notify_all();
    return changed_.wait_for(lock, patience, [this] { return is_open_; });
  }

  bool wait_for(unsigned waiting) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, patience, [&] { return waiting_ >= waiting; });
  }

private:
  static constexpr std::chrono::seconds patience{20};

  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_open_ = false;
  unsigned waiting_ = 0;
};

inline base::json order_message(unsigned order, const std::string& state) {
  return base::json::object(
      {{"object_type", "order"},
       {"order_uuid", uuid_of(order).hex()},
       {"order_state", state},
       {"resource_uuid", uuid_of(order + 1000).hex()}}
  );
}

inline base::json message_of(const std::string& type, const std::string& member, unsigned n) {
  return base::json::object({{"object_type", type}, {member, uuid_of(n).hex()}});
}

} // namespace siteagent::agent::test
