// SPDX-License-Identifier: MIT
#include "tests/unit/net/hostile_server.hpp"

#include "core/base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <stdexcept>
#include <utility>

namespace siteagent::net::test {

namespace {

// A condition of the test itself failed: nothing it says would mean anything.
void require(bool condition, const char* what) {
  if (!condition) {
    throw std::runtime_error(std::string("hostile server: ") + what);
  }
}

} // namespace

connection::~connection() {
  finish();
  SSL_free(tls_);
}

void connection::finish() {
  const std::lock_guard lock(mutex_);
  if (socket_ >= 0) {
    close(socket_);
    socket_ = -1;
  }
}

bool connection::start_tls(SSL_CTX* context) {
  tls_ = SSL_new(context);
  SSL_set_fd(tls_, socket_);
  const bool is_done = SSL_accept(tls_) == 1;
  ERR_clear_error();
  return is_done;
}

long connection::receive(char* to, std::size_t size) {
  if (tls_ == nullptr) {
    return recv(socket_, to, size, 0);
  }
  const int n = SSL_read(tls_, to, static_cast<int>(size));
  ERR_clear_error();
  return n;
}

std::string connection::read_request() {
  std::array<char, 16'384> buffer{};
  std::size_t needed = std::string::npos;
  for (;;) {
    const auto head = unread_.find("\r\n\r\n");
    if (head != std::string::npos) {
      const std::string length = header_of(unread_.substr(0, head + 4), "content-length");
      needed = head + 4 + static_cast<std::size_t>(std::strtoul(length.c_str(), nullptr, 10));
    }
    if (unread_.size() >= needed) {
      std::string request = unread_.substr(0, needed);
      unread_.erase(0, needed);
      return request;
    }
    const long n = receive(buffer.data(), buffer.size());
    if (n <= 0) {
      return {};
    }
    unread_.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

std::string connection::read() {
  if (!unread_.empty()) {
    return std::exchange(unread_, {});
  }
  std::string bytes(16'384, '\0');
  bytes.resize(static_cast<std::size_t>(std::max(receive(bytes.data(), bytes.size()), 0L)));
  return bytes;
}

bool connection::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const long n = tls_ == nullptr ? send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL)
                                   : SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()));
    ERR_clear_error();
    if (n <= 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

bool connection::wait_until_closed(std::chrono::milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  std::array<char, 16'384> buffer{};
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end - std::chrono::steady_clock::now()
    );
    pollfd waiting{socket_, POLLIN, 0};
    if (left.count() <= 0 || poll(&waiting, 1, static_cast<int>(left.count())) <= 0) {
      return false;
    }
    if (recv(socket_, buffer.data(), buffer.size(), 0) <= 0) {
      return true;
    }
  }
}

void connection::reset() {
  const linger abort{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
}

std::string connection::server_name() const {
  const char* name =
      tls_ == nullptr ? nullptr : SSL_get_servername(tls_, TLSEXT_NAMETYPE_host_name);
  return name == nullptr ? "" : name;
}

void connection::shut_down() {
  const std::lock_guard lock(mutex_);
  shutdown(socket_, SHUT_RDWR);
}

hostile_server::hostile_server(script s, const tls_server& tls)
    : script_(std::move(s)), context_(nullptr, SSL_CTX_free) {
  if (!tls.certificate_file.empty()) {
    make_context(tls);
  }
  listen_on_loopback();
  acceptor_ = std::thread([this] { accept_all(); });
}

hostile_server::~hostile_server() {
  is_stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (client& c : clients_) {
      c.link->shut_down();
    }
  }
  for (client& c : clients_) {
    c.worker.join();
  }
  close(listener_);
}

std::string hostile_server::url(std::string_view target) const {
  return (context_ ? "https://127.0.0.1:" : "http://127.0.0.1:") + std::to_string(port_) +
         std::string(target);
}

void hostile_server::listen_on_loopback() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  require(listener_ >= 0, "no socket");
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  require(bind(listener_, plain, size) == 0, "cannot bind");
  require(listen(listener_, 128) == 0, "cannot listen");
  require(getsockname(listener_, plain, &size) == 0, "no port");
  port_ = ntohs(address.sin_port);
}

void hostile_server::make_context(const tls_server& tls) {
  context_.reset(SSL_CTX_new(TLS_server_method()));
  SSL_CTX* c = context_.get();
  require(
      SSL_CTX_use_certificate_chain_file(c, tls.certificate_file.c_str()) == 1 &&
          SSL_CTX_use_PrivateKey_file(c, tls.key_file.c_str(), SSL_FILETYPE_PEM) == 1,
      "certificate or key unusable"
  );
  if (tls.max_version != 0) {
    // The library's defaults would not speak the old versions.
    SSL_CTX_set_cipher_list(c, "DEFAULT:@SECLEVEL=0");
    SSL_CTX_set_min_proto_version(c, 0);
    SSL_CTX_set_max_proto_version(c, tls.max_version);
  }
}

void hostile_server::accept_all() {
  for (int number = 0;; ++number) {
    const int socket = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0 || is_stopping_) {
      if (socket >= 0) {
        close(socket);
      }
      return;
    }
    const int now = 1;
    setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
    ++connections_;
    const std::lock_guard lock(mutex_);
    client& c = clients_.emplace_back();
    c.link = std::make_unique<connection>(socket);
    c.worker = std::thread([this, &link = *c.link, number] { serve(link, number); });
  }
}

void hostile_server::serve(connection& link, int number) {
  if (!context_ || link.start_tls(context_.get())) {
    script_(link, number);
  }
  link.finish();
}

std::string answer(int status, std::string_view body, std::string_view more_headers) {
  return "HTTP/1.1 " + std::to_string(status) +
         " X\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(more_headers) + "\r\n" + std::string(body);
}

void echo_target(connection& c, int) {
  for (std::string r = c.read_request(); !r.empty(); r = c.read_request()) {
    c.write(answer(200, target_of(r)));
  }
}

std::string target_of(const std::string& request) {
  const auto from = request.find(' ') + 1;
  return request.substr(from, request.find(' ', from) - from);
}

std::string header_of(const std::string& request, std::string_view name) {
  for (const std::string_view line : base::split(request, '\n')) {
    const auto colon = line.find(':');
    if (colon != std::string_view::npos &&
        base::equals_ignoring_case(base::trim(line.substr(0, colon)), name)) {
      return std::string(base::trim(line.substr(colon + 1)));
    }
  }
  return {};
}

} // namespace siteagent::net::test
