// SPDX-License-Identifier: MIT
// A client that sends exactly what a test writes and reads one answer at a time: for looking at a
// server without a library's help or mercy. Every wait ends after five seconds.
#pragma once

#include "core/base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

namespace siteagent::net::test {

struct raw_answer {
  int status = 0;                             // 0: the connection ended without an answer
  std::map<std::string, std::string> headers; // names in lower case
  std::string body;
  bool is_complete = false; // as many body bytes as Content-Length says
};

class raw_client {
public:
  explicit raw_client(std::uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval limit{5, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = connect(fd_, reinterpret_cast<const sockaddr*>(&to), sizeof to) == 0;
  }

  ~raw_client() { close(fd_); }

  raw_client(const raw_client&) = delete;
  raw_client& operator=(const raw_client&) = delete;

  bool is_connected() const { return connected_; }

  raw_client& send(std::string_view bytes) {
    while (!bytes.empty()) {
      const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        break;
      }
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return *this;
  }

  void finish_sending() { shutdown(fd_, SHUT_WR); }

  // The next answer. `to_head`: it has no body whatever its length says.
  raw_answer read(bool to_head = false) {
    raw_answer a;
    while (buffer_.find("\r\n\r\n") == std::string::npos) {
      if (!more()) {
        return a;
      }
    }
    const auto end = buffer_.find("\r\n\r\n");
    parse_head(std::string_view(buffer_).substr(0, end), a);
    buffer_.erase(0, end + 4);
    const auto said = a.headers.find("content-length");
    const std::size_t length =
        said == a.headers.end() ? 0 : static_cast<std::size_t>(std::atol(said->second.c_str()));
    while (!to_head && buffer_.size() < length && more()) {
    }
    a.is_complete = to_head || buffer_.size() >= length;
    a.body = to_head ? "" : buffer_.substr(0, length);
    buffer_.erase(0, a.body.size());
    return a;
  }

  // Whether the other side ends the connection without sending anything more.
  bool is_closed() { return buffer_.empty() && !more() && ended_; }

  // Whether bytes (or the end) are there already.
  bool is_quiet() const {
    char c = 0;
    return buffer_.empty() && recv(fd_, &c, 1, MSG_PEEK | MSG_DONTWAIT) < 0;
  }

private:
  static void parse_head(std::string_view head, raw_answer& a) {
    for (std::string_view line : base::split(head, '\n')) {
      line = base::trim(line);
      const auto colon = line.find(':');
      if (line.starts_with("HTTP/")) {
        a.status = std::atoi(std::string(line.substr(line.find(' ') + 1, 3)).c_str());
      } else if (colon != std::string_view::npos) {
        a.headers[base::to_lower(line.substr(0, colon))] = base::trim(line.substr(colon + 1));
      }
    }
  }

  bool more() {
    std::array<char, 16'384> part{};
    const auto n = recv(fd_, part.data(), part.size(), 0);
    // A reset is an end too; only a time-out is none.
    ended_ = n == 0 || (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK);
    if (n <= 0) {
      return false;
    }
    buffer_.append(part.data(), static_cast<std::size_t>(n));
    return true;
  }

  int fd_;
  bool connected_ = false;
  bool ended_ = false;
  std::string buffer_;
};

} // namespace siteagent::net::test
