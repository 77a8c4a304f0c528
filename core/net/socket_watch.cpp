// SPDX-License-Identifier: MIT
#include "core/net/socket_watch.hpp"

// The C library's own netinet/tcp.h has an older tcp_info, without the counters.
#include <fcntl.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <utility>

namespace siteagent::net {

namespace {

std::uint64_t total_received(int descriptor) {
  tcp_info info{};
  socklen_t size = sizeof(info);
  constexpr auto needed =
      offsetof(tcp_info, tcpi_bytes_received) + sizeof(info.tcpi_bytes_received);
  if (descriptor < 0 || getsockopt(descriptor, IPPROTO_TCP, TCP_INFO, &info, &size) != 0 ||
      size < needed) {
    return 0;
  }
  return info.tcpi_bytes_received;
}

} // namespace

socket_watch::socket_watch(int socket) : descriptor_(fcntl(socket, F_DUPFD_CLOEXEC, 0)) {
  fcntl(socket, F_SETFD, FD_CLOEXEC);
  before_ = total_received(descriptor_);
}

socket_watch::socket_watch(socket_watch&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), before_(other.before_) {}

socket_watch& socket_watch::operator=(socket_watch&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  std::swap(before_, other.before_);
  return *this;
}

socket_watch::~socket_watch() {
  if (descriptor_ >= 0) {
    close(descriptor_);
  }
}

std::uint64_t socket_watch::received() const {
  return total_received(descriptor_) - before_;
}

void socket_watch::shut_down() const {
  if (descriptor_ >= 0) {
    shutdown(descriptor_, SHUT_RDWR);
  }
}

bool has_unexpected_input(int socket) {
  char byte = 0;
  const auto n = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return n >= 0 || (errno != EAGAIN && errno != EWOULDBLOCK);
}

} // namespace siteagent::net
