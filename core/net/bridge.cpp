// SPDX-License-Identifier: MIT
#include "core/net/bridge.hpp"

#include <arpa/inet.h>
#include <linux/sockios.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <exception>
#include <system_error>
#include <utility>

namespace siteagent::net {

namespace {

using outcome = byte_stream::outcome;

failure failed(const std::string& what, int number) {
  return {
      .end = ending::no_connection,
      .why = what + ": " + std::generic_category().message(number) +
             "; the machine is short of something"};
}

// The listening socket and its port; -1: errno says why.
std::pair<int, std::uint16_t> listen_on_loopback() {
  const int made = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  auto* plain = reinterpret_cast<sockaddr*>(&address);
  socklen_t size = sizeof(address);
  if (made >= 0 && bind(made, plain, size) == 0 && listen(made, 4) == 0 &&
      getsockname(made, plain, &size) == 0) {
    return {made, ntohs(address.sin_port)};
  }
  const int number = errno;
  if (made >= 0) {
    close(made);
  }
  errno = number;
  return {-1, 0};
}

} // namespace

std::variant<std::unique_ptr<bridge>, failure> bridge::open(
    const proxy_hop& hop, const time_limits& by, const std::function<bool()>& stop_requested
) {
  auto link = open_proxy_link(hop, by, stop_requested);
  if (auto* problem = std::get_if<failure>(&link)) {
    return std::move(*problem);
  }
  const auto [listener, port] = listen_on_loopback();
  if (listener < 0) {
    return failed("no port on loopback for the proxy's connection", errno);
  }
  const int wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake < 0) {
    close(listener);
    return failed("no event for the proxy's connection", errno);
  }
  try {
    return std::make_unique<bridge>(std::get<proxy_link>(std::move(link)), listener, port, wake);
  } catch (const std::system_error& e) {
    return failed("no thread for the proxy's connection", e.code().value());
  }
}

bridge::bridge(proxy_link link, int listener, std::uint16_t port, int wake)
    : listener_(std::make_unique<byte_stream>(listener)), wake_(wake), link_(std::move(link)),
      port_(port), worker_([this] { run(); }) {}

bridge::~bridge() {
  const std::uint64_t one = 1;
  (void)::write(wake_.socket(), &one, sizeof(one));
  worker_.join();
}

void bridge::run() {
  try {
    const auto client = accept_client();
    listener_ = nullptr; // the library would take a second connection for the first one's repeat
    if (client) {
      copy(*client);
    }
  } catch (const std::exception&) {
    // Out of memory: the connection is gone, which its client sees.
  }
}

// False: the bridge ends. Without a client: until one knocks.
bool bridge::wait(const byte_stream* client) {
  std::array<pollfd, 3> waiting{};
  waiting[0] = {wake_.socket(), POLLIN, 0};
  waiting[1] = {listener_ ? listener_->socket() : -1, POLLIN, 0};
  waiting[2] = {-1, 0, 0};
  if (client != nullptr) {
    const bool has_room = link_.early_bytes.empty();
    short near = to_proxy_.empty() ? client->read_events() : short{0};
    short far = has_room ? link_.stream->read_events() : short{0};
    near = static_cast<short>(near | (has_room ? 0 : client->write_events()));
    far = static_cast<short>(far | (to_proxy_.empty() ? 0 : link_.stream->write_events()));
    // Nothing wanted: not even to be told again and again that it is closed.
    waiting[1] = {near == 0 ? -1 : client->socket(), near, 0};
    waiting[2] = {far == 0 ? -1 : link_.stream->socket(), far, 0};
  }
  while (poll(waiting.data(), waiting.size(), -1) < 0 && errno == EINTR) {
  }
  return waiting[0].revents == 0;
}

std::unique_ptr<byte_stream> bridge::accept_client() {
  while (wait(nullptr)) {
    sockaddr_in from{};
    socklen_t size = sizeof(from);
    const int made = accept4(
        listener_->socket(), reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC | SOCK_NONBLOCK
    );
    if (made < 0) {
      continue;
    }
    auto client = std::make_unique<byte_stream>(made);
    if (ntohs(from.sin_port) == admitted_) {
      const int now = 1;
      setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &now, sizeof(now));
      return client;
    }
  }
  return nullptr;
}

// An end would make half an answer look like a whole one. A reset drops what is still on its way,
// so that comes first.
void bridge::reset(const byte_stream& client) const {
  constexpr int pause_ms = 5;
  pollfd stop{wake_.socket(), POLLIN, 0};
  int unread = 0;
  while (ioctl(client.socket(), SIOCOUTQ, &unread) == 0 && unread > 0 &&
         poll(&stop, 1, pause_ms) == 0) {
  }
  client.reset_on_close();
}

// One buffer each way, filled only when it is empty: a slow reader slows the writer.
void bridge::copy(byte_stream& client) {
  std::string& to_client = link_.early_bytes;
  for (;;) {
    outcome from_client = to_proxy_.empty() ? client.read(to_proxy_) : outcome::blocked;
    outcome from_proxy = to_client.empty() ? link_.stream->read(to_client) : outcome::blocked;
    const outcome forth = to_proxy_.empty() ? outcome::blocked : link_.stream->write(to_proxy_);
    const outcome back = to_client.empty() ? outcome::blocked : client.write(to_client);
    if (from_client == outcome::ended || from_client == outcome::broken ||
        back == outcome::broken) {
      return; // nobody is left to read an answer
    }
    if (from_proxy == outcome::broken || forth == outcome::broken) {
      reset(client);
      return;
    }
    if (from_proxy == outcome::ended) {
      return; // everything was handed over: the buffer was empty
    }
    const bool is_moving = from_client == outcome::moved || from_proxy == outcome::moved ||
                           forth == outcome::moved || back == outcome::moved;
    if (!is_moving && !wait(&client)) {
      return;
    }
  }
}

} // namespace siteagent::net
