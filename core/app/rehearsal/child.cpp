// SPDX-License-Identifier: MIT
#include "core/app/rehearsal/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <utility>

extern char** environ;

namespace siteagent::app {

namespace {

constexpr std::chrono::seconds polite_end{10};

int decode(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

bool is_dropped(std::string_view variable, const std::vector<std::string>& drop) {
  return std::any_of(drop.begin(), drop.end(), [&](const std::string& prefix) {
    return variable.substr(0, prefix.size()) == prefix;
  });
}

} // namespace

base::result<child> child::start(
    const std::vector<std::string>& arguments,
    const std::vector<std::string>& drop,
    const std::vector<std::string>& add,
    const std::string& output_file
) {
  std::vector<std::string> words = arguments;
  std::vector<std::string> variables = add;
  std::vector<char*> argv;
  for (std::string& word : words) {
    argv.push_back(word.data());
  }
  argv.push_back(nullptr);
  std::vector<char*> envp;
  for (char** v = environ; *v != nullptr; ++v) {
    if (!is_dropped(*v, drop)) {
      envp.push_back(*v);
    }
  }
  for (std::string& v : variables) {
    envp.push_back(v.data());
  }
  envp.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(
      &actions, 1, output_file.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600
  );
  ::posix_spawn_file_actions_adddup2(&actions, 1, 2);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  // A signal of the terminal is ours to pass on, in our order.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  pid_t id = -1;
  const int failed = ::posix_spawn(&id, argv[0], &actions, &attributes, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) {
    return base::error{
        .code = base::error_code::invalid,
        .message = "cannot start " + arguments.front() + ": " + std::strerror(failed)};
  }
  return child(id);
}

child::child(child&& other) noexcept
    : id_(std::exchange(other.id_, -1)), exit_(std::exchange(other.exit_, std::nullopt)) {}

child& child::operator=(child&& other) noexcept {
  if (this != &other) {
    kill_and_wait();
    id_ = std::exchange(other.id_, -1);
    exit_ = std::exchange(other.exit_, std::nullopt);
  }
  return *this;
}

child::~child() {
  kill_and_wait();
}

void child::kill_and_wait() noexcept {
  if (id_ > 0 && !exit_) {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }
}

std::optional<int> child::wait(std::chrono::milliseconds time) {
  if (exit_ || id_ < 0) {
    return exit_;
  }
  const int fd = static_cast<int>(::syscall(SYS_pidfd_open, id_, 0));
  pollfd p{fd, POLLIN, 0};
  const int woken = ::poll(&p, 1, static_cast<int>(time.count()));
  ::close(fd);
  if (woken == 1) {
    int status = 0;
    ::waitpid(id_, &status, 0);
    exit_ = decode(status);
  }
  return exit_;
}

bool child::is_running() {
  return id_ > 0 && !wait(std::chrono::milliseconds(0));
}

void child::end() {
  if (is_running()) {
    ::kill(id_, SIGTERM);
    if (!wait(polite_end)) {
      ::kill(id_, SIGKILL);
      (void)wait(polite_end);
    }
  }
}

} // namespace siteagent::app
