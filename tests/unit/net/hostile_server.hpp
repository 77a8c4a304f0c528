// SPDX-License-Identifier: MIT
// A server on a loopback socket that does whatever a script says, byte by byte: for the answers
// that no decent server gives.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using SSL = struct ssl_st;
using SSL_CTX = struct ssl_ctx_st;

namespace siteagent::net::test {

class connection {
public:
  explicit connection(int socket) : socket_(socket) {}

  connection(const connection&) = delete;
  connection& operator=(const connection&) = delete;
  ~connection();

  // The next whole request, head and Content-Length body, as received; "" when the client left.
  std::string read_request();
  // What is there, at least one byte (waits for it); "" when the client left.
  std::string read();
  // False when the client left.
  bool write(std::string_view bytes);
  // Until the client leaves or the time is over; true when it left. Drops what arrives meanwhile.
  bool wait_until_closed(std::chrono::milliseconds at_most = std::chrono::minutes(1));
  void reset();                    // RST instead of FIN at finish()
  void finish();                   // closes for good; the script's return does it too
  std::string server_name() const; // SNI of the handshake, "" without

  bool start_tls(SSL_CTX* context);
  void shut_down(); // [any thread]: wakes the script, which then sees the client leave

private:
  long receive(char* to, std::size_t size);

  std::mutex mutex_; // of socket_ between finish() and shut_down()
  int socket_;
  SSL* tls_ = nullptr;
  std::string unread_;
};

struct tls_server {
  std::string certificate_file; // PEM; empty = plain
  std::string key_file;
  int max_version = 0; // for example TLS1_1_VERSION; 0 = the newest
};

class hostile_server {
public:
  // Runs on a thread of its own per connection; `number` counts connections from 0. A return closes
  // the connection.
  using script = std::function<void(connection&, int number)>;

  explicit hostile_server(script s, const tls_server& tls = {});
  ~hostile_server(); // closes everything and waits for the scripts
  hostile_server(const hostile_server&) = delete;
  hostile_server& operator=(const hostile_server&) = delete;

  std::uint16_t port() const { return port_; }

  std::string url(std::string_view target = "/") const; // http(s)://127.0.0.1:port/

  int connections() const { return connections_; }

private:
  struct client {
    std::unique_ptr<connection> link;
    std::thread worker;
  };

  void listen_on_loopback();
  void make_context(const tls_server& tls);
  void accept_all();
  void serve(connection& link, int number);

  script script_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  std::atomic<int> connections_{0};
  std::atomic<bool> is_stopping_{false};
  std::mutex mutex_;
  std::list<client> clients_;
  std::thread acceptor_;
};

// A decent answer with Content-Length.
std::string answer(int status, std::string_view body, std::string_view more_headers = "");

// Answers every request of every connection with "200" and the target as the body.
void echo_target(connection& c, int number);

// "GET /a?b HTTP/1.1..." -> "/a?b"
std::string target_of(const std::string& request);
// First value of a header in a raw request, name without case; "" when absent.
std::string header_of(const std::string& request, std::string_view name);

} // namespace siteagent::net::test
