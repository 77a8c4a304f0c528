// SPDX-License-Identifier: MIT
// A real RabbitMQ, spoken to through its management API as Waldur does: virtual hosts, users,
// permissions and queues on one thread, messages in their order on another, so that no request of
// the emulator waits for a broker that does not answer.
#pragma once

#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/net/transport.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace siteagent::waldur_emulator {

// What becomes of a job. Shared by the one who asked and the thread that does it. [any thread]
class ticket {
public:
  // nullopt: not yet. The value is the status of the management API's last answer.
  std::optional<base::result<int>> look() const;
  void settle(base::result<int> outcome);

private:
  mutable std::mutex mutex_;
  std::optional<base::result<int>> outcome_;
};

using ticket_ptr = std::shared_ptr<ticket>;

struct broker_address {
  net::origin origin;
  std::string user;
  std::string password; // never shown
};

// "http://user:password@host:port"; user and password may be percent-encoded.
base::result<broker_address> parse_broker_url(std::string_view text);

struct broker_options {
  std::chrono::milliseconds deadline{10'000};
  // How long a message is offered again to a broker that does not answer, and how often.
  std::chrono::milliseconds patience{60'000};
  std::chrono::milliseconds pause{200};
};

struct queue_place {
  std::string vhost;
  std::string user;
  std::string queue;
};

struct broker_message {
  std::string vhost;
  std::string queue;
  std::string payload;
  bool is_base64 = false; // the payload is base64 of the bytes to send
  base::json headers = base::json::object();
};

// [any thread], but not after its destructor began.
class broker {
public:
  static base::result<std::unique_ptr<broker>> open(broker_address address, broker_options options);
  ~broker(); // what is not done yet is dropped
  broker(const broker&) = delete;
  broker& operator=(const broker&) = delete;

  // Virtual host, user with that password, full permissions in it, durable queue with Waldur's
  // arguments: each made, or set again. Value: 201 when the queue is new, 204 when it was there.
  // The message of an error is Waldur's.
  ticket_ptr make_queue(queue_place place, std::string password);
  // Gone or never there: a value.
  ticket_ptr remove_queue(std::string vhost, std::string queue);
  ticket_ptr remove_user(std::string user);
  ticket_ptr remove_vhost(std::string vhost);

  // In the order of the calls. Value: 200 routed, 404 no such queue (the message is lost, as with
  // Waldur). Offered again while the broker cannot be reached; then dropped, and stderr says so.
  ticket_ptr publish(broker_message message);
  // Messages not sent yet are dropped.
  void forget_messages();

  base::json state() const; // {"waiting", "published", "unrouted", "dropped"}

private:
  struct job {
    std::function<base::result<int>()> work;
    ticket_ptr outcome;
    bool persists = false; // tried again while the broker cannot be reached
  };

  // A queue of jobs and the thread that does them one by one.
  struct lane {
    std::deque<job> jobs;
    bool is_busy = false;
    std::jthread thread;
  };

  broker(broker_address address, broker_options options, std::unique_ptr<net::transport> http);
  ticket_ptr enqueue(lane& where, std::function<base::result<int>()> work, bool persists);
  void run(lane& where, const std::stop_token& stop);
  base::result<int> persist(const job& j, const std::stop_token& stop);
  base::result<net::response>
  call(std::string_view method, const std::string& path, const base::json& body) const;
  base::result<int> put(const std::string& path, const base::json& body) const;
  base::result<int> remove(const std::string& path) const;
  base::result<int> build(const queue_place& place, const std::string& password) const;
  base::result<int> send(const broker_message& message) const;
  void count(const base::result<int>& outcome);

  const broker_address address_;
  const broker_options options_;
  const std::unique_ptr<net::transport> http_;
  std::atomic<bool> is_closing_{false};
  mutable std::mutex mutex_; // guards the lanes and the counts
  std::condition_variable_any changed_;
  std::size_t published_ = 0;
  std::size_t unrouted_ = 0;
  std::size_t dropped_ = 0;
  lane control_;
  lane outbox_; // last: their threads use everything above
};

} // namespace siteagent::waldur_emulator
