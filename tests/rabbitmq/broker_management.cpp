// SPDX-License-Identifier: MIT
// The broker's management API, and plain STOMP for messages by the thousand.
#include "core/base/text.hpp"
#include "core/net/stomp_frame.hpp"
#include "tests/rabbitmq/broker_state.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <stdexcept>

namespace siteagent::rabbitmq {

namespace {

using base::json;

std::string path(std::initializer_list<std::string_view> segments) {
  std::string out = "/api";
  for (const std::string_view segment : segments) {
    out += "/" + net::encode(segment);
  }
  return out;
}

json to_json(const std::map<std::string, std::string>& headers) {
  json out = json::object();
  for (const auto& [name, value] : headers) {
    out.set(name, value);
  }
  return out;
}

std::uint64_t count(const json& object, std::string_view name) {
  return static_cast<std::uint64_t>(object[name].integer().value_or(0));
}

// Asks again and again: the broker tells nobody when its statistics change.
bool wait_until(const std::function<bool()>& is_so, std::chrono::milliseconds at_most) {
  const auto end = std::chrono::steady_clock::now() + at_most;
  while (!is_so()) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    ::poll(nullptr, 0, 50);
  }
  return true;
}

// A STOMP client just good enough to publish: blocking, one socket.
class publisher {
public:
  publisher(std::uint16_t port, std::string_view virtual_host)
      : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    const timeval patience{30, 0};
    ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) {
      ::close(socket_);
      throw std::runtime_error("rabbitmq: no connection to the STOMP listener");
    }
    send(
        {.command = "CONNECT",
         .headers =
             {{"accept-version", "1.2"},
              {"host", std::string(virtual_host)},
              {"login", std::string(broker::admin_user)},
              {"passcode", std::string(broker::admin_password)}}}
    );
    flush();
    expect("CONNECTED");
  }

  ~publisher() { ::close(socket_); }

  publisher(const publisher&) = delete;
  publisher& operator=(const publisher&) = delete;

  void send(const net::stomp_frame& frame) {
    const auto bytes = net::to_bytes(frame);
    if (!bytes) {
      throw std::runtime_error("rabbitmq: " + bytes.error().message);
    }
    unsent_ += *bytes;
    if (unsent_.size() > 1U << 20U) {
      flush();
    }
  }

  void flush() {
    std::string_view left = unsent_;
    while (!left.empty()) {
      const auto n = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
      if (n <= 0) {
        throw std::runtime_error("rabbitmq: the STOMP listener hung up while publishing");
      }
      left.remove_prefix(static_cast<std::size_t>(n));
    }
    unsent_.clear();
  }

  void expect(std::string_view command) {
    std::array<char, 16'384> buffer{};
    for (;;) {
      auto frame = parser_.next();
      if (frame && *frame && (**frame).command == command) {
        return;
      }
      if (frame && *frame) {
        throw std::runtime_error(
            "rabbitmq: publishing: " + (**frame).command + " " + (**frame).body
        );
      }
      const auto n = ::recv(socket_, buffer.data(), buffer.size(), 0);
      if (!frame || n <= 0) {
        throw std::runtime_error("rabbitmq: publishing: no " + std::string(command));
      }
      parser_.append(std::string_view(buffer.data(), static_cast<std::size_t>(n)));
    }
  }

private:
  int socket_;
  std::string unsent_;
  net::stomp_parser parser_;
};

} // namespace

void broker::state::connect_management(std::uint16_t port) {
  if (management == nullptr) {
    const net::origin self{"http", "127.0.0.1", port};
    auto made = net::make_transport({.allowed_origins = {self}});
    if (!made) {
      throw std::runtime_error("rabbitmq: " + made.error().message);
    }
    management = std::move(*made);
  }
}

// The answer's body; null for 404 when that may be. Throws for every other status from 300 on.
std::optional<json> broker::call(
    const std::string& method,
    const std::string& path_and_query,
    const json& body,
    bool may_be_absent
) const {
  net::request r{.method = method, .url = management_url() + path_and_query};
  const std::string login = std::string(admin_user) + ":" + std::string(admin_password);
  r.headers.emplace_back("authorization", "Basic " + base::base64(login));
  r.fresh_connection = true; // the broker may have been restarted since the last call
  if (!body.is_null()) {
    r.body = body.dump();
  }
  const auto answer = state_->management->perform(r);
  const std::string what = "rabbitmq: " + method + " " + path_and_query + ": ";
  if (!answer) {
    throw std::runtime_error(what + answer.error().message);
  }
  if (answer->status == 404 && may_be_absent) {
    return std::nullopt;
  }
  if (answer->status >= 300) {
    throw std::runtime_error(what + std::to_string(answer->status) + " " + answer->body);
  }
  if (answer->body.empty()) {
    return json();
  }
  auto parsed = json::parse(answer->body);
  if (!parsed) {
    throw std::runtime_error(what + parsed.error().message);
  }
  return std::move(*parsed);
}

void broker::create_virtual_host(std::string_view name) {
  call("PUT", path({"vhosts", name}), json::object());
  permit(admin_user, name, ".*", ".*", ".*");
}

void broker::delete_virtual_host(std::string_view name) {
  call("DELETE", path({"vhosts", name}), {});
}

void broker::create_user(std::string_view name, std::string_view password) {
  call("PUT", path({"users", name}), json::object({{"password", password}, {"tags", ""}}));
}

void broker::change_password(std::string_view name, std::string_view password) {
  create_user(name, password);
}

void broker::delete_user(std::string_view name) {
  call("DELETE", path({"users", name}), {});
}

void broker::permit(
    std::string_view user,
    std::string_view virtual_host,
    std::string_view configure,
    std::string_view write,
    std::string_view read
) {
  call(
      "PUT",
      path({"permissions", virtual_host, user}),
      json::object({{"configure", configure}, {"write", write}, {"read", read}})
  );
}

void broker::create_queue(
    std::string_view virtual_host, std::string_view queue, const queue_arguments& a
) {
  call(
      "PUT",
      path({"queues", virtual_host, queue}),
      json::object(
          {{"durable", true},
           {"auto_delete", false},
           {"arguments",
            json::object(
                {{"x-message-ttl", a.message_ttl.count()},
                 {"x-max-length", a.max_length},
                 {"x-overflow", a.overflow},
                 {"x-dead-letter-exchange", a.dead_letter_exchange},
                 {"x-dead-letter-routing-key", a.dead_letter_routing_key}}
            )}}
      )
  );
}

bool broker::delete_queue(std::string_view virtual_host, std::string_view queue) {
  return call("DELETE", path({"queues", virtual_host, queue}), {}, true).has_value();
}

bool broker::has_queue(std::string_view virtual_host, std::string_view queue) {
  return call("GET", path({"queues", virtual_host, queue}), {}, true).has_value();
}

void broker::purge_queue(std::string_view virtual_host, std::string_view queue) {
  call("DELETE", path({"queues", virtual_host, queue, "contents"}), {});
}

void broker::publish(
    std::string_view virtual_host,
    std::string_view queue,
    std::string_view body,
    const std::map<std::string, std::string>& headers
) {
  const auto answer = call(
      "POST",
      path({"exchanges", virtual_host, "amq.default", "publish"}),
      json::object(
          {{"properties",
            json::object(
                {{"delivery_mode", 2},
                 {"content_type", "application/json"},
                 {"headers", to_json(headers)}}
            )},
           {"routing_key", queue},
           {"payload", base::base64(body)},
           {"payload_encoding", "base64"}}
      )
  );
  if ((*answer)["routed"].boolean() != true) {
    throw std::runtime_error("rabbitmq: no queue " + std::string(queue) + " took the message");
  }
}

void broker::publish_all(
    std::string_view virtual_host,
    std::string_view queue,
    const std::vector<std::string>& bodies,
    const std::map<std::string, std::string>& headers
) {
  publisher link(ports_.stomp, virtual_host);
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    net::stomp_frame frame{
        .command = "SEND",
        .headers =
            {{"destination", "/amq/queue/" + std::string(queue)},
             {"persistent", "true"},
             {"content-type", "application/json"}},
        .body = bodies[i]};
    frame.headers.insert(frame.headers.end(), headers.begin(), headers.end());
    if (i + 1 == bodies.size()) {
      frame.headers.emplace_back("receipt", "last");
    }
    link.send(frame);
  }
  link.flush();
  if (!bodies.empty()) {
    link.expect("RECEIPT");
  }
}

queue_depth broker::depth(std::string_view virtual_host, std::string_view queue) {
  const auto answer = call("GET", path({"queues", virtual_host, queue}), {});
  return {count(*answer, "messages_ready"), count(*answer, "messages_unacknowledged")};
}

bool broker::wait_for_depth(
    std::string_view virtual_host,
    std::string_view queue,
    queue_depth expected,
    std::chrono::milliseconds at_most
) {
  return wait_until([&] { return depth(virtual_host, queue) == expected; }, at_most);
}

std::vector<std::string> broker::connections(std::string_view virtual_host) const {
  // By name only: the whole objects have members twice.
  const auto open =
      call("GET", path({"vhosts", virtual_host, "connections"}) + "?columns=name", {});
  std::vector<std::string> names;
  for (const json& connection : open->items()) {
    names.push_back(connection["name"].string_or(""));
  }
  return names;
}

std::size_t broker::connection_count(std::string_view virtual_host) {
  return connections(virtual_host).size();
}

std::size_t
broker::close_connections(std::string_view virtual_host, std::chrono::milliseconds at_most) {
  std::vector<std::string> open;
  wait_until(
      [&] {
        open = connections(virtual_host);
        return !open.empty();
      },
      at_most
  );
  for (const std::string& name : open) {
    call("DELETE", path({"connections", name}), {}, true);
  }
  return open.size();
}

} // namespace siteagent::rabbitmq
