// SPDX-License-Identifier: MIT
#include "core/net/proxy_link.hpp"

#include "core/net/resolver.hpp"
#include "core/net/tunnel.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509_vfy.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <optional>
#include <system_error>

namespace siteagent::net {

namespace {

using std::chrono::milliseconds;
using outcome = byte_stream::outcome;

constexpr milliseconds poll_interval{50};
constexpr const char* user_agent = "site-agent/" SITEAGENT_VERSION;

failure failed(std::string why, ending end = ending::no_connection) {
  return {.end = end, .why = std::move(why)};
}

failure failed(const base::error& e) {
  // A proxy that wants another login will not change its mind at its next address.
  return failed(
      e.message, e.code == base::error_code::auth ? ending::proxy_login : ending::no_connection
  );
}

class opening {
public:
  opening(const proxy_hop& hop, const time_limits& by, const std::function<bool()>& stop)
      : hop_(hop), by_(by), stop_(stop) {}

  std::variant<proxy_link, failure> run();

private:
  std::optional<failure> wait(short events) const;
  std::optional<failure> connect();
  std::optional<failure> start_tls();
  std::optional<failure> ask(std::string& early_bytes);
  std::optional<failure> send(std::string bytes) const;
  failure unreachable(int number) const;
  failure tls_refused() const;

  const proxy_hop& hop_;
  const time_limits& by_;
  const std::function<bool()>& stop_;
  std::unique_ptr<byte_stream> stream_;
};

std::optional<failure> opening::wait(short events) const {
  for (;;) {
    const auto now = std::chrono::steady_clock::now();
    if (stop_ && stop_()) {
      return failed("stopped on request", ending::stopped);
    }
    if (now >= by_.deadline) {
      return failed("the proxy did not answer before the deadline", ending::deadline);
    }
    if (now >= by_.connect_by) {
      return failed("the proxy did not answer in time; check that it can be reached");
    }
    const auto left = std::chrono::ceil<milliseconds>(by_.connect_by - now);
    pollfd waiting{stream_->socket(), events, 0};
    if (poll(&waiting, 1, static_cast<int>(std::min(left, poll_interval).count())) > 0) {
      return std::nullopt;
    }
  }
}

failure opening::unreachable(int number) const {
  return failed(
      "the proxy cannot be reached (" + std::generic_category().message(number) +
      "); check that it runs, and its host and port"
  );
}

std::optional<failure> opening::connect() {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(hop_.via.port);
  if (getaddrinfo(hop_.address.c_str(), port.c_str(), &hints, &found) != 0) {
    return failed("the proxy's address is none");
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> to(found, freeaddrinfo);
  const int made = ::socket(to->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (made < 0) {
    return unreachable(errno);
  }
  stream_ = std::make_unique<byte_stream>(made);
  const int now = 1;
  setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
  if (::connect(made, to->ai_addr, to->ai_addrlen) == 0) {
    return std::nullopt;
  }
  if (errno != EINPROGRESS) {
    return unreachable(errno);
  }
  if (auto late = wait(POLLOUT)) {
    return late;
  }
  int problem = 0;
  socklen_t size = sizeof(problem);
  getsockopt(made, SOL_SOCKET, SO_ERROR, &problem, &size);
  return problem == 0 ? std::nullopt : std::optional(unreachable(problem));
}

failure opening::tls_refused() const {
  const long reason = SSL_get_verify_result(stream_->tls());
  if (reason == X509_V_OK) {
    return failed("TLS handshake with the proxy failed; check that its port speaks TLS");
  }
  return failed(
      "the proxy's certificate was refused: " + std::string(X509_verify_cert_error_string(reason)) +
      "; check the proxy's name, or add its authority to the system's"
  );
}

// Against the system's authorities: what a service in the cloud trusts says nothing about a proxy
// of the site, and neither does a switched off check.
std::optional<failure> opening::start_tls() {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(
      SSL_CTX_new(TLS_client_method()), SSL_CTX_free
  );
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_default_verify_paths(context.get());
  SSL_CTX_set_verify(context.get(), SSL_VERIFY_PEER, nullptr);
  SSL* tls = SSL_new(context.get());
  stream_->set_tls(tls);
  SSL_set_fd(tls, stream_->socket());
  SSL_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const std::string& name = hop_.via.host;
  if (is_address(name)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(tls), name.c_str());
  } else {
    SSL_set1_host(tls, name.c_str());
    // The macro for this has a cast of C's.
    SSL_ctrl(
        tls,
        SSL_CTRL_SET_TLSEXT_HOSTNAME,
        TLSEXT_NAMETYPE_host_name,
        const_cast<char*>(name.c_str())
    );
  }
  for (;;) {
    ERR_clear_error();
    const int result = SSL_connect(tls);
    if (result == 1) {
      return std::nullopt;
    }
    const int want = SSL_get_error(tls, result);
    ERR_clear_error();
    if (want != SSL_ERROR_WANT_READ && want != SSL_ERROR_WANT_WRITE) {
      return tls_refused();
    }
    if (auto late = wait(want == SSL_ERROR_WANT_READ ? POLLIN : POLLOUT)) {
      return late;
    }
  }
}

std::optional<failure> opening::send(std::string bytes) const {
  while (!bytes.empty()) {
    switch (stream_->write(bytes)) {
    case outcome::moved:
      break;
    case outcome::blocked:
      if (auto late = wait(stream_->write_events())) {
        return late;
      }
      break;
    default:
      return failed("the proxy closed the connection");
    }
  }
  return std::nullopt;
}

std::optional<failure> opening::ask(std::string& early_bytes) {
  auto handshake = tunnel_handshake::start(hop_.via, hop_.host, hop_.port, user_agent);
  if (!handshake) {
    return failed(handshake.error());
  }
  for (;;) {
    if (auto problem = send(handshake->take_output())) {
      return problem;
    }
    std::string bytes;
    const outcome read = stream_->read(bytes);
    if (read == outcome::blocked) {
      if (auto late = wait(stream_->read_events())) {
        return late;
      }
      continue;
    }
    if (read != outcome::moved) {
      return failed(handshake->closed_early());
    }
    const auto is_open = handshake->receive(bytes);
    if (!is_open) {
      return failed(is_open.error());
    }
    if (*is_open) {
      early_bytes = handshake->early_bytes();
      return std::nullopt;
    }
  }
}

std::variant<proxy_link, failure> opening::run() {
  proxy_link out;
  auto problem = connect();
  if (!problem && hop_.via.kind == proxy::kind::https) {
    problem = start_tls();
  }
  if (!problem && hop_.is_tunnel) {
    problem = ask(out.early_bytes);
  }
  if (problem) {
    return *std::move(problem);
  }
  out.stream = std::move(stream_);
  return out;
}

} // namespace

byte_stream::byte_stream(int socket)
    : socket_(socket), read_events_(POLLIN), write_events_(POLLOUT) {}

byte_stream::~byte_stream() {
  SSL_free(tls_);
  close(socket_);
}

outcome byte_stream::tls_outcome(int result, short& events) {
  const int want = SSL_get_error(tls_, result);
  ERR_clear_error();
  switch (want) {
  case SSL_ERROR_WANT_READ:
    events = POLLIN;
    return outcome::blocked;
  case SSL_ERROR_WANT_WRITE:
    events = POLLOUT;
    return outcome::blocked;
  case SSL_ERROR_ZERO_RETURN:
    return outcome::ended;
  default:
    return outcome::broken;
  }
}

outcome byte_stream::read(std::string& to) {
  std::array<char, 16'384> part{};
  if (tls_ != nullptr) {
    ERR_clear_error();
    const int n = SSL_read(tls_, part.data(), static_cast<int>(part.size()));
    if (n <= 0) {
      return tls_outcome(n, read_events_);
    }
    to.append(part.data(), static_cast<std::size_t>(n));
    return outcome::moved;
  }
  const auto n = recv(socket_, part.data(), part.size(), 0);
  if (n < 0) {
    return errno == EAGAIN || errno == EINTR ? outcome::blocked : outcome::broken;
  }
  to.append(part.data(), static_cast<std::size_t>(n));
  return n == 0 ? outcome::ended : outcome::moved;
}

outcome byte_stream::write(std::string& from) {
  if (tls_ != nullptr) {
    ERR_clear_error();
    constexpr std::size_t most = 16'384;
    const int n = SSL_write(tls_, from.data(), static_cast<int>(std::min(from.size(), most)));
    if (n <= 0) {
      return tls_outcome(n, write_events_);
    }
    from.erase(0, static_cast<std::size_t>(n));
    return outcome::moved;
  }
  const auto n = send(socket_, from.data(), from.size(), MSG_NOSIGNAL);
  if (n < 0) {
    return errno == EAGAIN || errno == EINTR ? outcome::blocked : outcome::broken;
  }
  from.erase(0, static_cast<std::size_t>(n));
  return outcome::moved;
}

void byte_stream::reset_on_close() const {
  const linger abort{1, 0};
  setsockopt(socket_, SOL_SOCKET, SO_LINGER, &abort, sizeof(abort));
}

std::variant<proxy_link, failure> open_proxy_link(
    const proxy_hop& hop, const time_limits& by, const std::function<bool()>& stop_requested
) {
  return opening(hop, by, stop_requested).run();
}

} // namespace siteagent::net
