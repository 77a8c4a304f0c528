// SPDX-License-Identifier: MIT
#include "tests/integration/process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <stdexcept>

extern char** environ;

namespace siteagent::integration {

namespace {

int milliseconds_until(std::chrono::steady_clock::time_point end) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
  return static_cast<int>(std::max<long>(left.count(), 0));
}

// The machine's own proxy is not for children on loopback.
bool is_of_proxies(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return static_cast<char>(std::tolower(c));
  });
  return name.ends_with("_proxy");
}

int decode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace

temp_dir::temp_dir() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "site-agent-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("no temporary directory");
  }
  path_ = pattern;
}

temp_dir::~temp_dir() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string read_file(const std::string& path, std::uintmax_t from) {
  std::ifstream in(path, std::ios::binary);
  in.seekg(static_cast<std::streamoff>(from));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  if (!out.flush()) {
    throw std::runtime_error("cannot write " + path);
  }
}

bool wait_for_change(
    const std::string& directory, const std::function<bool()>& ready, std::chrono::seconds deadline
) {
  const auto end = std::chrono::steady_clock::now() + deadline;
  const int fd = ::inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  ::inotify_add_watch(
      fd,
      directory.c_str(),
      IN_MODIFY | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE | IN_CLOSE_WRITE
  );
  bool done = ready();
  while (!done && milliseconds_until(end) > 0) {
    pollfd p{fd, POLLIN, 0};
    ::poll(&p, 1, milliseconds_until(end));
    char events[4096];
    while (::read(fd, events, sizeof events) > 0) {
    }
    done = ready();
  }
  ::close(fd);
  return done;
}

process::process(
    std::vector<std::string> arguments, const environment& extra, const std::string& output_file
)
    : output_file_(output_file) {
  std::vector<std::string> variables;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string name(*v, std::strcspn(*v, "="));
    if (!extra.contains(name) && !is_of_proxies(name)) {
      variables.emplace_back(*v);
    }
  }
  for (const auto& [name, value] : extra) {
    variables.push_back(name + "=" + value);
  }
  std::vector<char*> argv;
  std::vector<char*> envp;
  for (std::string& a : arguments) {
    argv.push_back(a.data());
  }
  for (std::string& v : variables) {
    envp.push_back(v.data());
  }
  argv.push_back(nullptr);
  envp.push_back(nullptr);

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(
      &actions, 1, output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600
  );
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  pid_t id = -1;
  const int failed = ::posix_spawn(&id, argv[0], &actions, nullptr, argv.data(), envp.data());
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    throw std::runtime_error("cannot start " + arguments.front() + ": " + std::strerror(failed));
  }
  id_ = id;
}

process::~process() {
  if (!exit_) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
}

void process::signal(int number) const {
  if (!exit_) {
    ::kill(id_, number);
  }
}

bool process::is_running() const {
  siginfo_t info{};
  return !exit_ &&
         ::waitid(P_PID, static_cast<id_t>(id_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
         info.si_pid == 0;
}

std::optional<int> process::wait(std::chrono::seconds deadline) {
  if (exit_) {
    return exit_;
  }
  const auto end = std::chrono::steady_clock::now() + deadline;
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, id_, 0));
  pollfd p{fd, POLLIN, 0};
  const int woken = ::poll(&p, 1, milliseconds_until(end));
  ::close(fd);
  if (woken == 1) {
    int status = 0;
    ::waitpid(id_, &status, 0);
    exit_ = decode(status);
  }
  return exit_;
}

std::string process::output() const {
  return read_file(output_file_);
}

} // namespace siteagent::integration
