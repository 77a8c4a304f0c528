// SPDX-License-Identifier: MIT
// A proxy for tests on a loopback port: HTTP CONNECT, HTTP absolute form and SOCKS5 on the same
// port, with or without a login and TLS. It notes what it was asked for.
#pragma once

#include <atomic>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

using SSL_CTX = struct ssl_ctx_st;

namespace siteagent::net::test {

struct proxy_server_options {
  std::string user; // "" = no login wanted
  std::string password = {};
  std::string certificate_file = {}; // PEM: TLS with the client
  std::string key_file = {};
  // Names it knows besides addresses: "waldur.test" -> "127.0.0.1". Others cannot be reached.
  std::map<std::string, std::string> names = {};
};

class proxy_server {
public:
  explicit proxy_server(proxy_server_options options = {});
  ~proxy_server(); // closes everything and waits
  proxy_server(const proxy_server&) = delete;
  proxy_server& operator=(const proxy_server&) = delete;

  std::uint16_t port() const { return port_; }

  // "socks5h://127.0.0.1:4711", with a login if one is given ("user:password").
  std::string url(std::string_view scheme, std::string_view login = {}) const;

  // Connections of clients so far.
  int connections() const { return connections_; }

  // "CONNECT waldur.test:443", "SOCKS5 127.0.0.1:80", "GET http://waldur.test/", in order; "login
  // refused" where that was the end.
  std::vector<std::string> log() const;
  int count(std::string_view beginning) const; // of lines of the log

  // Every later request: this HTTP status, and its low byte as SOCKS5's reply. 0 = serve again.
  void refuse_with(int status) { refusal_ = status; }

  // Every later connection: accepted, and never answered.
  void fall_silent() { is_silent_ = true; }

private:
  class link;

  struct client {
    std::unique_ptr<link> connection;
    std::thread worker;
  };

  void accept_all();
  void serve(link& c);
  void serve_http(link& c);
  void serve_socks(link& c);
  bool serve_absolute(link& c, const std::string& head);
  bool is_welcome(const std::string& head) const;
  int dial(const std::string& host, std::uint16_t port) const;
  void note(const std::string& line);

  const proxy_server_options options_;
  std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::atomic<int> connections_{0};
  std::atomic<int> refusal_{0};
  std::atomic<bool> is_silent_{false};
  std::atomic<bool> is_stopping_{false};
  mutable std::mutex mutex_; // of log_ and clients_
  std::vector<std::string> log_;
  std::list<client> clients_;
  std::thread acceptor_;
};

} // namespace siteagent::net::test
