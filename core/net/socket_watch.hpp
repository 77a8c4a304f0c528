// SPDX-License-Identifier: MIT
// Counts what a connection received, behind the back of the HTTP library: it reads headers and
// chunks of any size into memory before anybody is asked.
#pragma once

#include <cstdint>

namespace siteagent::net {

// A descriptor of its own onto somebody else's TCP socket, so that its number cannot be reused
// meanwhile. Move-only.
class socket_watch {
public:
  socket_watch() = default; // watches nothing
  // Duplicates the descriptor; also marks `socket` close-on-exec.
  explicit socket_watch(int socket);
  socket_watch(socket_watch&& other) noexcept;
  socket_watch& operator=(socket_watch&& other) noexcept;
  ~socket_watch();

  // Payload bytes since the watch began; 0 where the kernel does not count them.
  std::uint64_t received() const;
  // Ends the connection for both sides. The owner's pending reads and writes end with it, on the
  // owner's own threads.
  void shut_down() const;

private:
  int descriptor_ = -1;
  std::uint64_t before_ = 0;
};

// Of a connection at rest: the other side has closed it, broken it, or sent what nobody asked for
// and what would be taken for the answer to the next request. Does not block.
bool has_unexpected_input(int socket);

} // namespace siteagent::net
