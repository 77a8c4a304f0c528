// SPDX-License-Identifier: MIT
// Calls of RabbitMQ's management API.
#include "broker.hpp"

#include "core/base/text.hpp"

#include <array>
#include <iostream>
#include <utility>

namespace siteagent::waldur_emulator {

namespace {

using base::json;

base::error invalid(std::string message) {
  return {.code = base::error_code::invalid, .message = std::move(message)};
}

// Waldur's arguments of every queue it makes.
json queue_arguments() {
  return json::object(
      {{"x-message-ttl", 3'600'000},
       {"x-max-length", 10'000},
       {"x-overflow", "reject-publish-dlx"},
       {"x-dead-letter-exchange", ""},
       {"x-dead-letter-routing-key", "waldur.dlq.messages"}}
  );
}

json full_permissions() {
  return json::object({{"configure", ".*"}, {"write", ".*"}, {"read", ".*"}});
}

std::string path_of(std::initializer_list<std::string_view> segments) {
  std::string path = "/api";
  for (std::string_view s : segments) {
    path += "/" + net::encode(s);
  }
  return path;
}

bool cannot_be_reached(const base::error& e) {
  return e.code == base::error_code::transient || e.code == base::error_code::outcome_unknown ||
         e.code == base::error_code::deadline;
}

} // namespace

std::optional<base::result<int>> ticket::look() const {
  const std::lock_guard lock(mutex_);
  return outcome_;
}

void ticket::settle(base::result<int> outcome) {
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
}

base::result<broker_address> parse_broker_url(std::string_view text) {
  constexpr std::string_view form = "must be http://USER:PASSWORD@HOST:PORT";
  const auto scheme = text.find("://");
  const auto at = text.rfind('@');
  if (scheme == std::string_view::npos || at == std::string_view::npos || at < scheme + 3) {
    return invalid(std::string(form));
  }
  const std::string_view login = text.substr(scheme + 3, at - scheme - 3);
  const auto colon = login.find(':');
  if (colon == std::string_view::npos || colon == 0) {
    return invalid(std::string(form));
  }
  // Put together without the login, so that no message can show it.
  auto url =
      net::parse_url(std::string(text.substr(0, scheme + 3)) + std::string(text.substr(at + 1)));
  if (!url) {
    return url.error();
  }
  if (url->target != "/") {
    return invalid(std::string(form) + ", without a path");
  }
  return broker_address{
      url->origin, net::decode(login.substr(0, colon)), net::decode(login.substr(colon + 1))};
}

base::result<std::unique_ptr<broker>> broker::open(broker_address address, broker_options options) {
  net::transport_options http;
  http.allowed_origins = {address.origin};
  http.allow_plain_http = true; // the address was given by hand, of a broker for rehearsals
  auto made = net::make_transport(std::move(http));
  if (!made) {
    return made.error();
  }
  return std::unique_ptr<broker>(new broker(std::move(address), options, *std::move(made)));
}

broker::broker(broker_address address, broker_options options, std::unique_ptr<net::transport> http)
    : address_(std::move(address)), options_(options), http_(std::move(http)) {
  control_.thread = std::jthread([this](const std::stop_token& stop) { run(control_, stop); });
  outbox_.thread = std::jthread([this](const std::stop_token& stop) { run(outbox_, stop); });
}

broker::~broker() {
  is_closing_ = true;
  control_.thread.request_stop();
  outbox_.thread.request_stop();
}

ticket_ptr broker::enqueue(lane& where, std::function<base::result<int>()> work, bool persists) {
  auto outcome = std::make_shared<ticket>();
  {
    const std::lock_guard lock(mutex_);
    where.jobs.push_back({std::move(work), outcome, persists});
  }
  changed_.notify_all();
  return outcome;
}

void broker::run(lane& where, const std::stop_token& stop) {
  for (;;) {
    job next;
    {
      std::unique_lock lock(mutex_);
      where.is_busy = false;
      if (!changed_.wait(lock, stop, [&] { return !where.jobs.empty(); })) {
        return;
      }
      next = std::move(where.jobs.front());
      where.jobs.pop_front();
      where.is_busy = true;
    }
    auto outcome = next.persists ? persist(next, stop) : next.work();
    if (next.persists) {
      count(outcome);
    }
    next.outcome->settle(std::move(outcome));
  }
}

base::result<int> broker::persist(const job& j, const std::stop_token& stop) {
  const auto until = std::chrono::steady_clock::now() + options_.patience;
  for (;;) {
    auto outcome = j.work();
    const bool again = !outcome && cannot_be_reached(outcome.error()) &&
                       std::chrono::steady_clock::now() < until && !stop.stop_requested();
    if (!again) {
      return outcome;
    }
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, options_.pause, [&stop] { return stop.stop_requested(); });
  }
}

void broker::count(const base::result<int>& outcome) {
  const std::lock_guard lock(mutex_);
  if (!outcome) {
    if (dropped_++ == 0) {
      std::cerr << "waldur-emulator: a message is lost: " << outcome.error().message
                << "; later ones are only counted (see /_emu/inventory)\n";
    }
  } else if (*outcome == 404) {
    ++unrouted_;
  } else {
    ++published_;
  }
}

base::result<net::response>
broker::call(std::string_view method, const std::string& path, const json& body) const {
  net::request r;
  r.method = method;
  r.url = address_.origin.text() + path;
  r.deadline = options_.deadline;
  r.stop_requested = [this] { return is_closing_.load(); };
  r.headers.emplace_back(
      "Authorization", "Basic " + base::base64(address_.user + ":" + address_.password)
  );
  r.body = body.is_null() ? std::string() : body.dump();
  return http_->perform(r);
}

// 201 made, 204 was there; everything else is an error.
base::result<int> broker::put(const std::string& path, const json& body) const {
  auto answer = call("PUT", path, body);
  if (!answer) {
    return answer.error();
  }
  if (answer->status != 201 && answer->status != 204) {
    return base::error{
        .code = base::error_code::permanent,
        .message = "RabbitMQ answered " + std::to_string(answer->status) + " to PUT " + path,
        .http_status = answer->status};
  }
  return answer->status;
}

base::result<int> broker::remove(const std::string& path) const {
  auto answer = call("DELETE", path, {});
  if (!answer) {
    return answer.error();
  }
  return answer->status;
}

base::result<int> broker::build(const queue_place& place, const std::string& password) const {
  struct step {
    std::string path;
    json body;
    std::string_view failure; // as Waldur words it
  };

  const json queue = json::object({{"durable", true}, {"auto_delete", false}});
  json waldurs = queue;
  waldurs.set("arguments", queue_arguments());
  // The management user needs the permission to publish there. The queue itself comes last: its
  // status tells whether it was there.
  const std::array<step, 6> steps{
      {{path_of({"vhosts", place.vhost}), json::object(), "Failed to create RabbitMQ virtual host"},
       {path_of({"permissions", place.vhost, address_.user}),
        full_permissions(),
        "Failed to assign RabbitMQ permissions"},
       {path_of({"users", place.user}),
        json::object({{"password", password}, {"tags", ""}}),
        "Failed to create RabbitMQ user"},
       {path_of({"permissions", place.vhost, place.user}),
        full_permissions(),
        "Failed to assign RabbitMQ permissions"},
       {path_of({"queues", place.vhost, "waldur.dlq.messages"}),
        queue,
        "Failed to create RabbitMQ queue"},
       {path_of({"queues", place.vhost, place.queue}),
        waldurs,
        "Failed to create RabbitMQ queue"}}};
  base::result<int> status = 204;
  for (const auto& s : steps) {
    status = put(s.path, s.body);
    if (!status) {
      std::cerr << "waldur-emulator: " << status.error().message << '\n';
      auto e = status.error();
      e.message = s.failure;
      return e;
    }
  }
  return status;
}

base::result<int> broker::send(const broker_message& m) const {
  const json body = json::object(
      {{"properties",
        json::object(
            {{"delivery_mode", 2}, {"content_type", "application/json"}, {"headers", m.headers}}
        )},
       {"routing_key", m.queue},
       {"payload", m.payload},
       {"payload_encoding", m.is_base64 ? "base64" : "string"}}
  );
  auto answer = call("POST", path_of({"exchanges", m.vhost, "amq.default", "publish"}), body);
  if (!answer) {
    return answer.error();
  }
  if (answer->status >= 500) {
    // Also a broker that is starting, whose management is up before its queues.
    return base::error{
        .code = base::error_code::transient,
        .message = "RabbitMQ answered " + std::to_string(answer->status) + " to a message"};
  }
  const auto told = json::parse(answer->body);
  const bool routed = told && (*told)["routed"].boolean().value_or(false);
  return answer->status == 200 && routed ? 200 : 404;
}

ticket_ptr broker::make_queue(queue_place place, std::string password) {
  return enqueue(
      control_,
      [this, place = std::move(place), password = std::move(password)] {
        return build(place, password);
      },
      false
  );
}

ticket_ptr broker::remove_queue(std::string vhost, std::string queue) {
  return enqueue(
      control_, [this, path = path_of({"queues", vhost, queue})] { return remove(path); }, false
  );
}

ticket_ptr broker::remove_user(std::string user) {
  return enqueue(
      control_, [this, path = path_of({"users", user})] { return remove(path); }, false
  );
}

ticket_ptr broker::remove_vhost(std::string vhost) {
  return enqueue(
      control_, [this, path = path_of({"vhosts", vhost})] { return remove(path); }, false
  );
}

ticket_ptr broker::publish(broker_message message) {
  return enqueue(
      outbox_, [this, message = std::move(message)] { return send(message); }, true
  );
}

void broker::forget_messages() {
  std::deque<job> forgotten;
  {
    const std::lock_guard lock(mutex_);
    forgotten.swap(outbox_.jobs);
  }
  for (const auto& j : forgotten) {
    j.outcome->settle(base::error{
        .code = base::error_code::cancelled, .message = "message: dropped by a reset"});
  }
}

json broker::state() const {
  const std::lock_guard lock(mutex_);
  return json::object(
      {{"waiting", outbox_.jobs.size() + (outbox_.is_busy ? 1 : 0)},
       {"published", published_},
       {"unrouted", unrouted_},
       {"dropped", dropped_}}
  );
}

} // namespace siteagent::waldur_emulator
