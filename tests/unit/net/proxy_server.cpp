// SPDX-License-Identifier: MIT
#include "tests/unit/net/proxy_server.hpp"

#include "core/base/text.hpp"
#include "tests/unit/net/hostile_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace siteagent::net::test {

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

void send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto n = send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) {
      return;
    }
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::size_t length_of(const std::string& head) {
  return std::strtoul(header_of(head, "content-length").c_str(), nullptr, 10);
}

} // namespace

// One client, with what it asked to be connected to.
class proxy_server::link {
public:
  explicit link(int socket) : near_(socket) {}

  ~link() {
    SSL_free(tls_);
    close(near_);
    if (far_ >= 0) {
      close(far_);
    }
  }

  link(const link&) = delete;
  link& operator=(const link&) = delete;

  bool start_tls(SSL_CTX* context) {
    tls_ = SSL_new(context);
    SSL_set_fd(tls_, near_);
    const bool is_done = SSL_accept(tls_) == 1;
    ERR_clear_error();
    return is_done;
  }

  // Appends to unread(); false: the client left.
  bool more() {
    std::array<char, 16'384> part{};
    const long n = tls_ == nullptr ? recv(near_, part.data(), part.size(), 0)
                                   : SSL_read(tls_, part.data(), static_cast<int>(part.size()));
    ERR_clear_error();
    unread_.append(part.data(), n > 0 ? static_cast<std::size_t>(n) : 0);
    return n > 0;
  }

  std::string take(std::size_t size) {
    while (unread_.size() < size) {
      if (!more()) {
        return {};
      }
    }
    std::string out = unread_.substr(0, size);
    unread_.erase(0, size);
    return out;
  }

  std::string take_head() {
    while (unread_.find("\r\n\r\n") == std::string::npos) {
      if (!more()) {
        return {};
      }
    }
    return take(unread_.find("\r\n\r\n") + 4);
  }

  char peek() { return !unread_.empty() || more() ? unread_[0] : '\0'; }

  void say(std::string_view bytes) {
    if (tls_ == nullptr) {
      send_all(near_, bytes);
    } else {
      SSL_write(tls_, bytes.data(), static_cast<int>(bytes.size()));
      ERR_clear_error();
    }
  }

  void connect_to(int socket) { far_ = socket; }

  int far() const { return far_; }

  // Until one side ends.
  void copy() {
    send_all(far_, std::exchange(unread_, {}));
    for (;;) {
      std::array<pollfd, 2> waiting{pollfd{near_, POLLIN, 0}, pollfd{far_, POLLIN, 0}};
      const bool is_buffered = tls_ != nullptr && SSL_pending(tls_) > 0;
      if (!is_buffered && poll(waiting.data(), waiting.size(), -1) <= 0) {
        return;
      }
      if (is_buffered || waiting[0].revents != 0) {
        if (!more()) {
          return;
        }
        send_all(far_, std::exchange(unread_, {}));
      }
      if (waiting[1].revents != 0) {
        std::array<char, 16'384> part{};
        const auto n = recv(far_, part.data(), part.size(), 0);
        if (n < 0) {
          reset();
        }
        if (n <= 0) {
          return;
        }
        say({part.data(), static_cast<std::size_t>(n)});
      }
    }
  }

  // RST instead of FIN.
  void reset() const {
    sockaddr nobody{};
    nobody.sa_family = AF_UNSPEC;
    ::connect(near_, &nobody, sizeof(nobody));
  }

  void shut_down() const { shutdown(near_, SHUT_RDWR); }

private:
  int near_;
  int far_ = -1;
  SSL* tls_ = nullptr;
  std::string unread_;
};

proxy_server::proxy_server(proxy_server_options options)
    : options_(std::move(options)), context_(nullptr, SSL_CTX_free) {
  if (!options_.certificate_file.empty()) {
    context_.reset(SSL_CTX_new(TLS_server_method()));
    if (SSL_CTX_use_certificate_chain_file(context_.get(), options_.certificate_file.c_str()) !=
            1 ||
        SSL_CTX_use_PrivateKey_file(context_.get(), options_.key_file.c_str(), SSL_FILETYPE_PEM) !=
            1) {
      throw std::runtime_error("proxy server: certificate or key unusable");
    }
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = loopback(0);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (listener_ < 0 || bind(listener_, plain, size) != 0 || listen(listener_, 128) != 0 ||
      getsockname(listener_, plain, &size) != 0) {
    throw std::runtime_error("proxy server: no port");
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

proxy_server::~proxy_server() {
  is_stopping_ = true;
  shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  for (const client& c : clients_) {
    c.connection->shut_down();
  }
  for (client& c : clients_) {
    c.worker.join();
  }
  close(listener_);
}

std::string proxy_server::url(std::string_view scheme, std::string_view login) const {
  return std::string(scheme) + "://" + std::string(login) + (login.empty() ? "" : "@") +
         "127.0.0.1:" + std::to_string(port_);
}

std::vector<std::string> proxy_server::log() const {
  const std::lock_guard lock(mutex_);
  return log_;
}

int proxy_server::count(std::string_view beginning) const {
  int n = 0;
  for (const std::string& line : log()) {
    n += line.starts_with(beginning) ? 1 : 0;
  }
  return n;
}

void proxy_server::note(const std::string& line) {
  const std::lock_guard lock(mutex_);
  log_.push_back(line);
}

void proxy_server::accept_all() {
  for (;;) {
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
    c.connection = std::make_unique<link>(socket);
    c.worker = std::thread([this, &connection = *c.connection] {
      serve(connection);
      connection.shut_down();
    });
  }
}

void proxy_server::serve(link& c) {
  if (is_silent_) {
    while (c.more()) {
    }
    return;
  }
  if (context_ && !c.start_tls(context_.get())) {
    return;
  }
  if (c.peek() == '\x05') {
    serve_socks(c);
  } else {
    serve_http(c);
  }
}

// The socket, or -1.
int proxy_server::dial(const std::string& host, std::uint16_t port) const {
  const auto known = options_.names.find(host);
  in_addr address{};
  const std::string& text = known == options_.names.end() ? host : known->second;
  if (inet_pton(AF_INET, text.c_str(), &address) != 1 || (ntohl(address.s_addr) >> 24U) != 127U) {
    return -1;
  }
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in to = loopback(port);
  if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof(to)) != 0) {
    close(socket);
    return -1;
  }
  const int now = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
  return socket;
}

bool proxy_server::is_welcome(const std::string& head) const {
  return options_.user.empty() ||
         header_of(head, "proxy-authorization") ==
             "Basic " + base::base64(options_.user + ":" + options_.password);
}

void proxy_server::serve_http(link& c) {
  for (std::string head = c.take_head(); !head.empty(); head = c.take_head()) {
    const std::string method = head.substr(0, head.find(' '));
    const std::string target = target_of(head);
    if (!is_welcome(head)) {
      note("login refused");
      c.say(answer(407, "", "Proxy-Authenticate: Basic realm=\"test\"\r\n"));
      return;
    }
    note(method + " " + target);
    if (refusal_ != 0) {
      c.say(answer(refusal_, "no"));
      return;
    }
    if (method != "CONNECT") {
      if (!serve_absolute(c, head)) {
        return;
      }
      continue;
    }
    const auto colon = target.rfind(':');
    c.connect_to(dial(
        target.substr(0, colon),
        static_cast<std::uint16_t>(std::atoi(target.substr(colon + 1).c_str()))
    ));
    if (c.far() < 0) {
      c.say(answer(502, "no way"));
      return;
    }
    c.say("HTTP/1.1 200 Connection established\r\n\r\n");
    c.copy();
    return;
  }
}

// One request, one answer, as long as their lengths are written in their heads.
bool proxy_server::serve_absolute(link& c, const std::string& head) {
  const std::string body = c.take(length_of(head));
  const std::string target = target_of(head);
  const std::string rest = target.substr(target.find("://") + 3);
  const std::string authority = rest.substr(0, rest.find('/'));
  const auto colon = authority.rfind(':');
  const int port = colon == std::string::npos ? 80 : std::atoi(authority.substr(colon + 1).c_str());
  const int far = dial(authority.substr(0, colon), static_cast<std::uint16_t>(port));
  if (far < 0) {
    c.say(answer(502, "no way"));
    return false;
  }
  std::string forwarded = head;
  forwarded.replace(head.find(target), target.size(), rest.substr(authority.size()));
  link upstream(far);
  upstream.say(forwarded + body);
  const std::string answered = upstream.take_head();
  c.say(answered + upstream.take(length_of(answered)));
  return !answered.empty();
}

void proxy_server::serve_socks(link& c) {
  const bool wants_login = !options_.user.empty();
  const std::string greeting = c.take(2);
  const std::string methods = c.take(static_cast<unsigned char>(greeting[1]));
  const char chosen = wants_login ? '\x02' : '\x00';
  if (methods.find(chosen) == std::string::npos) {
    note("login refused");
    c.say("\x05\xFF");
    return;
  }
  c.say(std::string{'\x05', chosen});
  if (wants_login) {
    const std::string user = c.take(static_cast<unsigned char>(c.take(2)[1]));
    const std::string password = c.take(static_cast<unsigned char>(c.take(1)[0]));
    const bool is_right = user == options_.user && password == options_.password;
    if (!is_right) {
      note("login refused"); // before the client can know
    }
    c.say(std::string{'\x01', is_right ? '\x00' : '\x01'});
    if (!is_right) {
      return;
    }
  }
  const std::string request = c.take(4);
  std::string host;
  if (request.size() == 4 && request[3] == '\x03') {
    host = c.take(static_cast<unsigned char>(c.take(1)[0]));
  } else {
    const bool is_ipv6 = request.size() == 4 && request[3] == '\x04';
    const std::string bytes = c.take(is_ipv6 ? 16 : 4);
    std::array<char, INET6_ADDRSTRLEN> text{};
    inet_ntop(is_ipv6 ? AF_INET6 : AF_INET, bytes.data(), text.data(), text.size());
    host = text.data();
  }
  const std::string port = c.take(2);
  const auto number = static_cast<std::uint16_t>(
      static_cast<unsigned char>(port[0]) << 8U | static_cast<unsigned char>(port[1])
  );
  note("SOCKS5 " + host + ":" + std::to_string(number));
  if (refusal_ == 0) {
    c.connect_to(dial(host, number));
  }
  const int refusal = refusal_ & 0xFF;
  const char reply = refusal_ != 0 ? static_cast<char>(refusal) : c.far() < 0 ? '\x04' : '\x00';
  c.say(std::string{'\x05', reply, '\0', '\x01', '\0', '\0', '\0', '\0', '\0', '\0'});
  if (c.far() >= 0) {
    c.copy();
  }
}

} // namespace siteagent::net::test
