// SPDX-License-Identifier: MIT
// A real RabbitMQ for tests: Debian's rabbitmq-server as a child process with folders, cookie,
// node name, name server (epmd) and ports of its own, on loopback only. Nothing of it outlives the
// program: the children die with the thread that started them, also when that is killed.
//
// Start-up takes 4 to 10 seconds and 150 MB: one broker per test *program* (shared()), a virtual
// host per test, and siteagent_add_broker_test of this folder, which registers the program as one
// CTest.
//
// What keeps Debian's broker from starting where tests run, and what is done about it:
// * /usr/sbin/rabbitmq-server changes to the user `rabbitmq` when root calls it; that user may not
//   write into root's temporary folder. The script under /usr/lib/rabbitmq/bin is called instead:
//   the broker runs as whoever runs the test, root too.
// * The cookie is $HOME/.erlang.cookie, and the broker refuses to start when somebody else owns it:
//   HOME is a folder of the test.
// * /etc/rabbitmq/rabbitmq-env.conf and conf.d would be read: their paths are overridden.
// * The distribution port is 20000 + the AMQP port by default, beyond 65535 for many free ports:
//   it is set. AMQP itself is off.
// * "name@localhost" needs a resolver that agrees; "name@127.0.0.1" with long names needs none.
// * epmd started by the broker becomes a daemon that stays: ours is a child, and the broker is told
//   not to start one.
#pragma once

#include "core/base/json.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::rabbitmq {

struct broker_ports {
  std::uint16_t web_stomp = 0;     // ws://127.0.0.1:port/rmqws-stomp
  std::uint16_t web_stomp_tls = 0; // wss://; certificate for localhost and 127.0.0.1
  std::uint16_t stomp = 0;         // STOMP on plain TCP; publish_all() uses it
  std::uint16_t management = 0;    // HTTP
  std::uint16_t epmd = 0;
  std::uint16_t distribution = 0;
};

// The arguments Waldur gives a consumer's queue.
struct queue_arguments {
  std::chrono::milliseconds message_ttl{3'600'000};
  std::uint64_t max_length = 10'000;
  std::string overflow = "reject-publish-dlx";
  std::string dead_letter_exchange; // "" = the default exchange
  std::string dead_letter_routing_key = "waldur.dlq.messages";
};

struct queue_depth {
  std::uint64_t ready = 0;
  std::uint64_t unacknowledged = 0;

  friend bool operator==(const queue_depth&, const queue_depth&) = default;
};

// Everything throws std::runtime_error with a sentence when the broker, its management API or this
// machine does not do as told: the test means nothing then. Calls of the management API are
// [any thread]; start, stop, kill, restart only from a thread that lives as long as the broker is
// to run (its end would take the broker along), in practice the test's own.
class broker {
public:
  // Why there can be no broker here (package rabbitmq-server not installed), for GTEST_SKIP();
  // nullopt: there can.
  static std::optional<std::string> why_unavailable();

  // The program's one broker, running: started at the first call, ended at the program's exit.
  static broker& shared();

  broker(); // not started; ports are chosen, and kept over restarts
  ~broker();
  broker(const broker&) = delete;
  broker& operator=(const broker&) = delete;

  void start();   // until the management API answers; nothing when running
  void stop();    // in order, with everything durable kept; ends in seconds
  void kill();    // SIGKILL, no goodbye; durable queues and persistent messages stay on disk
  void restart(); // stop() and start(), same ports
  bool is_running() const;
  // SIGSTOP and SIGCONT: a broker that is there and silent.
  void freeze();
  void thaw();

  const broker_ports& ports() const { return ports_; }

  // What web-stomp is served under.
  static constexpr std::string_view web_stomp_path = "/rmqws-stomp";

  std::string management_url() const; // "http://127.0.0.1:port"

  static constexpr std::string_view admin_user = "admin";
  static constexpr std::string_view admin_password = "admin-secret";

  // PEM of the authority that signed the certificate of the TLS listener.
  const std::string& authority_file() const { return authority_file_; }

  // What the broker has printed so far; for the message of a failing test.
  std::string log() const;

  // Created or already there, and the administrator may do everything in it.
  void create_virtual_host(std::string_view name);
  void delete_virtual_host(std::string_view name); // with its queues; connections end
  // Created, or its password changed. No tags: a plain user.
  void create_user(std::string_view name, std::string_view password);
  // Open connections stay; new ones need the new password.
  void change_password(std::string_view name, std::string_view password);
  void delete_user(std::string_view name);
  // Regular expressions; the defaults are those of a consumer: read everything, nothing else.
  void permit(
      std::string_view user,
      std::string_view virtual_host,
      std::string_view configure = "",
      std::string_view write = "",
      std::string_view read = ".*"
  );
  // Durable. Throws when there is one with other arguments.
  void create_queue(
      std::string_view virtual_host, std::string_view queue, const queue_arguments& arguments = {}
  );
  bool delete_queue(std::string_view virtual_host, std::string_view queue); // false: was not there
  bool has_queue(std::string_view virtual_host, std::string_view queue);
  void purge_queue(std::string_view virtual_host, std::string_view queue);

  // One persistent message with content-type application/json through the management API, as Waldur
  // would; throws when it was not routed.
  void publish(
      std::string_view virtual_host,
      std::string_view queue,
      std::string_view body,
      const std::map<std::string, std::string>& headers = {}
  );
  // The same for many bodies, in order, fast (thousands a second), over one STOMP connection; the
  // last is confirmed before this returns. `headers` go with each.
  void publish_all(
      std::string_view virtual_host,
      std::string_view queue,
      const std::vector<std::string>& bodies,
      const std::map<std::string, std::string>& headers = {}
  );

  // The broker's statistics lag by seconds: poll for what is expected, and never take an empty
  // queue for proof that something was handled.
  queue_depth depth(std::string_view virtual_host, std::string_view queue);
  // Polls; false when it was not so `at_most` this long.
  bool wait_for_depth(
      std::string_view virtual_host,
      std::string_view queue,
      queue_depth expected,
      std::chrono::milliseconds at_most = std::chrono::seconds(10)
  );
  std::size_t connection_count(std::string_view virtual_host); // lags likewise
  // Throws the clients out once there are some; how many there were, 0 when none came in time.
  std::size_t close_connections(
      std::string_view virtual_host, std::chrono::milliseconds at_most = std::chrono::seconds(20)
  );

private:
  struct state;

  std::vector<std::string> command(const std::vector<std::string>& program) const;
  void write_settings();
  std::optional<std::string> try_start();
  std::vector<std::string> connections(std::string_view virtual_host) const;
  std::optional<base::json> call(
      const std::string& method,
      const std::string& path_and_query,
      const base::json& body,
      bool may_be_absent = false
  ) const;

  broker_ports ports_;
  std::string authority_file_;
  std::unique_ptr<state> state_; // folders, certificates, children, management client
};

} // namespace siteagent::rabbitmq
