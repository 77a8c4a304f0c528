// SPDX-License-Identifier: MIT
// A file descriptor that is closed with its owner.
#pragma once

#include <unistd.h>

#include <utility>

namespace siteagent::fleet {

class descriptor {
public:
  descriptor() = default; // none

  explicit descriptor(int fd) : fd_(fd) {}

  descriptor(descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

  descriptor& operator=(descriptor&& other) noexcept {
    if (this != &other) {
      close();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }

  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;

  ~descriptor() { close(); }

  int get() const { return fd_; } // -1: none

  explicit operator bool() const { return fd_ >= 0; }

  void close() {
    if (fd_ >= 0) {
      ::close(std::exchange(fd_, -1));
    }
  }

private:
  int fd_ = -1;
};

} // namespace siteagent::fleet
