// SPDX-License-Identifier: MIT
// The broker's processes, folders and settings; its management calls are in broker_management.cpp.
#include "tests/rabbitmq/broker_state.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <random>
#include <stdexcept>

namespace siteagent::rabbitmq {

namespace {

using namespace std::chrono_literals;

constexpr const char* server = "/usr/lib/rabbitmq/bin/rabbitmq-server";
constexpr const char* name_server = "/usr/bin/epmd";
constexpr auto startup_deadline = 240s; // sanitizers and a machine full of other tests included

bool can_bind(std::uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int on = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool is_free = ::bind(socket, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  ::close(socket);
  return is_free;
}

// Below the range from which the kernel gives ports to clients and to listeners on port 0, so that
// nobody takes them while the broker restarts. Consecutive: a set of two brokers rarely overlaps.
broker_ports choose_ports() {
  std::random_device random;
  for (int attempt = 0; attempt < 200; ++attempt) {
    const auto first = static_cast<std::uint16_t>(10'240 + random() % 2'000 * 10);
    bool is_free = true;
    for (int i = 0; i < 6; ++i) {
      is_free = is_free && can_bind(static_cast<std::uint16_t>(first + i));
    }
    if (is_free) {
      const auto at = [first](int i) { return static_cast<std::uint16_t>(first + i); };
      return {at(0), at(1), at(2), at(3), at(4), at(5)};
    }
  }
  throw std::runtime_error("rabbitmq: no free ports on 127.0.0.1");
}

std::string last_lines(const std::string& text) {
  return text.size() <= 3'000 ? text : "..." + text.substr(text.size() - 3'000);
}

} // namespace

std::optional<std::string> broker::why_unavailable() {
  for (const char* program : {server, name_server}) {
    if (::access(program, X_OK) != 0) {
      return std::string("no ") + program + " here; install the package rabbitmq-server";
    }
  }
  return std::nullopt;
}

broker& broker::shared() {
  static broker only;
  only.start();
  return only;
}

broker::broker() : state_(std::make_unique<state>()) {
  std::filesystem::create_directory(state_->folder.file("home"));
}

broker::~broker() {
  kill(); // nothing of it is to be kept
}

// The broker dies with the thread that called this: also when that is killed.
std::vector<std::string> broker::command(const std::vector<std::string>& program) const {
  const auto& folder = state_->folder;
  std::vector<std::string> out{"/usr/bin/setpriv", "--pdeathsig", "KILL", "/usr/bin/env", "-i"};
  const std::map<std::string, std::string> environment{
      {"PATH", "/usr/sbin:/usr/bin:/sbin:/bin"},
      {"LANG", "C.UTF-8"},
      {"HOME", folder.file("home")},
      {"ERL_EPMD_PORT", std::to_string(ports_.epmd)},
      {"ERL_EPMD_ADDRESS", "127.0.0.1"},
      {"RABBITMQ_NODENAME", "test@127.0.0.1"},
      {"RABBITMQ_USE_LONGNAME", "true"},
      {"RABBITMQ_DIST_PORT", std::to_string(ports_.distribution)},
      {"RABBITMQ_CONF_ENV_FILE", "/dev/null"},
      {"RABBITMQ_CONFIG_FILE", folder.file("rabbitmq.conf")},
      {"RABBITMQ_CONFIG_FILES", folder.file("conf.d")},
      {"RABBITMQ_ADVANCED_CONFIG_FILE", folder.file("advanced.config")},
      {"RABBITMQ_ENABLED_PLUGINS_FILE", folder.file("enabled_plugins")},
      {"RABBITMQ_MNESIA_BASE", folder.file("data")},
      {"RABBITMQ_LOG_BASE", folder.file("logs")},
      {"RABBITMQ_PID_FILE", folder.file("pid")},
      // Makes the script replace itself, so that our child is the broker, not a shell.
      {"RABBITMQ_ALLOW_INPUT", "1"},
      {"RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS",
       "-noinput -start_epmd false -kernel inet_dist_use_interface {127,0,0,1}"},
  };
  for (const auto& [name, value] : environment) {
    out.push_back(name + "=" + value);
  }
  out.insert(out.end(), program.begin(), program.end());
  return out;
}

void broker::write_settings() {
  const auto& folder = state_->folder;
  net::test::temporary_directory& keys = state_->certificates;
  if (authority_file_.empty()) {
    net::test::authority authority(keys);
    state_->certificate = authority.issue("DNS:localhost,IP:127.0.0.1");
    authority_file_ = authority.file();
  }
  const auto port = [](std::uint16_t value) { return std::to_string(value) + "\n"; };
  integration::write_file(
      folder.file("rabbitmq.conf"),
      "listeners.tcp = none\n"
      "stomp.listeners.tcp.1 = 127.0.0.1:" +
          port(ports_.stomp) + "web_stomp.ws_path = " + std::string(web_stomp_path) +
          "\n"
          "web_stomp.tcp.ip = 127.0.0.1\n"
          "web_stomp.tcp.port = " +
          port(ports_.web_stomp) +
          "web_stomp.ssl.ip = 127.0.0.1\n"
          "web_stomp.ssl.port = " +
          port(ports_.web_stomp_tls) +
          "web_stomp.ssl.certfile = " + state_->certificate.certificate_file +
          "\n"
          "web_stomp.ssl.keyfile = " +
          state_->certificate.key_file +
          "\n"
          "web_stomp.ssl.cacertfile = " +
          authority_file_ +
          "\n"
          "management.tcp.ip = 127.0.0.1\n"
          "management.tcp.port = " +
          port(ports_.management) + "default_user = " + std::string(admin_user) +
          "\n"
          "default_pass = " +
          std::string(admin_password) +
          "\n"
          "disk_free_limit.absolute = 1MB\n"
          "collect_statistics_interval = 200\n"
          "log.file = false\n"
          "log.console = true\n"
          "log.console.level = info\n"
  );
  integration::write_file(
      folder.file("enabled_plugins"), "[rabbitmq_web_stomp,rabbitmq_management].\n"
  );
}

void broker::start() {
  if (is_running()) {
    return;
  }
  if (const auto why = why_unavailable()) {
    throw std::runtime_error("rabbitmq: " + *why);
  }
  // Somebody may take a port between choosing and using it; then it is tried with others.
  for (int attempt = 1;; ++attempt) {
    if (!state_->has_started) {
      ports_ = choose_ports();
      state_->name_server.reset();
    }
    const auto failure = try_start();
    if (!failure) {
      state_->has_started = true;
      state_->connect_management(ports_.management);
      return;
    }
    kill();
    if (state_->has_started || attempt == 3 || failure->find("eaddrinuse") == std::string::npos) {
      throw std::runtime_error("rabbitmq: did not start: " + *failure);
    }
  }
}

// nullopt: it is up; else the end of what it printed.
std::optional<std::string> broker::try_start() {
  write_settings();
  const std::string log_file = state_->log_file();
  if (!state_->name_server) {
    state_->name_server = std::make_unique<integration::process>(
        command({name_server, "-address", "127.0.0.1", "-port", std::to_string(ports_.epmd)}),
        integration::process::environment{},
        state_->folder.file("logs.epmd")
    );
  }
  std::error_code none_yet;
  const auto size = std::filesystem::file_size(log_file, none_yet);
  const std::uintmax_t from = none_yet ? 0 : size;
  state_->server = std::make_unique<integration::process>(
      command({server}), integration::process::environment{}, log_file
  );
  const auto end = std::chrono::steady_clock::now() + startup_deadline;
  const auto is_up = [&] {
    return integration::read_file(log_file, from).find("Server startup complete") !=
           std::string::npos;
  };
  while (state_->server->is_running() && std::chrono::steady_clock::now() < end) {
    // In short turns: a broker that dies need not write anything.
    if (integration::wait_for_change(state_->folder.path(), is_up, 1s)) {
      return std::nullopt;
    }
  }
  return last_lines(integration::read_file(log_file, from));
}

void broker::stop() {
  if (!is_running()) {
    return;
  }
  thaw();
  state_->server->signal(SIGTERM);
  if (!state_->server->wait(60s)) {
    kill();
    throw std::runtime_error("rabbitmq: did not stop within 60 s of SIGTERM: " + last_lines(log()));
  }
  state_->server.reset();
}

void broker::kill() {
  state_->server.reset();
}

void broker::restart() {
  stop();
  start();
}

bool broker::is_running() const {
  return state_->server != nullptr && state_->server->is_running();
}

void broker::freeze() {
  state_->server->signal(SIGSTOP);
}

void broker::thaw() {
  state_->server->signal(SIGCONT);
}

std::string broker::log() const {
  return integration::read_file(state_->log_file());
}

std::string broker::management_url() const {
  return "http://127.0.0.1:" + std::to_string(ports_.management);
}

} // namespace siteagent::rabbitmq
