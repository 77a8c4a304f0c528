// SPDX-License-Identifier: MIT
#include "core/fleet/runner.hpp"

#include "core/fleet/descriptor.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>

extern char** environ;

namespace siteagent::fleet {

namespace {

using base::error;
using base::error_code;
using base::result;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Between SIGTERM to a group that is to stop and SIGKILL.
constexpr milliseconds polite_end{2'000};
constexpr std::size_t piece = 64U << 10U;

error failed_to(const command& c, std::string_view what, int number) {
  return {
      .code = error_code::transient,
      .message =
          "cannot run " + c.argv.front() + ": " + std::string(what) + ": " + std::strerror(number)};
}

// Writing to a program that no longer reads must not end this one. Blocked for this thread only,
// and a signal that came meanwhile is taken away again.
class sigpipe_guard {
public:
  sigpipe_guard() {
    ::sigemptyset(&pipe_only_);
    ::sigaddset(&pipe_only_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_only_, &before_);
  }

  sigpipe_guard(const sigpipe_guard&) = delete;
  sigpipe_guard& operator=(const sigpipe_guard&) = delete;

  ~sigpipe_guard() {
    if (!was_pending_) {
      const timespec at_once{0, 0};
      while (::sigtimedwait(&pipe_only_, nullptr, &at_once) == -1 && errno == EINTR) {
      }
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

private:
  sigset_t pipe_only_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

struct pipe_ends {
  descriptor read;
  descriptor write;
};

// Above 2, so that putting them on 0 to 2 of the child never overwrites one that is still needed
// (this process may itself have been started without standard streams).
result<descriptor> above_standard(int fd) {
  const descriptor taken(fd);
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (moved < 0) {
    return error{.code = error_code::transient, .message = std::strerror(errno)};
  }
  return descriptor(moved);
}

result<pipe_ends> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return error{.code = error_code::transient, .message = std::strerror(errno)};
  }
  auto read = above_standard(ends[0]);
  auto write = above_standard(ends[1]);
  if (!read || !write) {
    return read ? write.error() : read.error();
  }
  return pipe_ends{*std::move(read), *std::move(write)};
}

void make_unblocking(const descriptor& fd) {
  ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
}

// "NAME=value" of this process with `set` over it.
std::vector<std::string> variables_with(const std::vector<std::pair<std::string, std::string>>& set
) {
  std::vector<std::string> all;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string_view entry(*v);
    const std::string_view name = entry.substr(0, entry.find('='));
    if (std::none_of(set.begin(), set.end(), [&](const auto& s) { return s.first == name; })) {
      all.emplace_back(entry);
    }
  }
  for (const auto& [name, value] : set) {
    all.push_back(name + "=" + value);
  }
  return all;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

struct standard_streams {
  int in = -1; // -1: /dev/null
  int out = -1;
  int err = -1;
};

// The child's id, or errno as a negative number.
pid_t spawn(const command& c, const standard_streams& streams) {
  std::vector<std::string> words = c.argv;
  std::vector<std::string> variables = variables_with(c.set);
  const std::vector<char*> argv = pointers_to(words);
  const std::vector<char*> envp = pointers_to(variables);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  if (streams.in >= 0) {
    ::posix_spawn_file_actions_adddup2(&actions, streams.in, 0);
  } else {
    ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  }
  ::posix_spawn_file_actions_adddup2(&actions, streams.out, 1);
  ::posix_spawn_file_actions_adddup2(&actions, streams.err, 2);
  // Without it the child would hold every socket and lock that someone opened without O_CLOEXEC.
  ::posix_spawn_file_actions_addclosefrom_np(&actions, 3);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  ::sigemptyset(&none);
  sigset_t all;
  ::sigfillset(&all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(
      &attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF
  );
  pid_t id = -1;
  const int failed =
      ::posix_spawnp(&id, argv.front(), &actions, &attributes, argv.data(), envp.data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  return failed == 0 ? id : -failed;
}

// One running program: its group is killed and its leader reaped at the latest with the object.
class process {
public:
  explicit process(pid_t id)
      : id_(id), ended_(descriptor(static_cast<int>(::syscall(SYS_pidfd_open, id, 0)))) {}

  process(const process&) = delete;
  process& operator=(const process&) = delete;

  ~process() {
    if (!was_reaped_) {
      signal_group(SIGKILL);
      (void)reap();
    }
  }

  // Readable when the leader ended.
  int fd() const { return ended_.get(); }

  // Only before reap: afterwards the number may be someone else's.
  void signal_group(int number) const { ::kill(-id_, number); }

  int reap() {
    int status = 0;
    while (::waitpid(id_, &status, 0) == -1 && errno == EINTR) {
    }
    was_reaped_ = true;
    return status;
  }

private:
  pid_t id_;
  descriptor ended_;
  bool was_reaped_ = false;
};

struct stream {
  descriptor fd;
  std::string* kept = nullptr;
  const std::function<void(std::string_view)>* hand_on = nullptr;
};

class run_loop {
public:
  run_loop(const command& c, const process& p, const descriptor& stopped, finished& f)
      : command_(c), process_(p), stopped_(stopped), finished_(f) {}

  stream out;
  stream err;
  descriptor input;

  // Until the leader ended and both streams are closed, or it had to be killed.
  std::optional<error_code> wait() {
    started_ = steady_clock::now();
    while (!has_ended_ || out.fd || err.fd) {
      const auto left = time_left();
      if (left && *left <= milliseconds(0)) {
        process_.signal_group(SIGKILL);
        return stop_asked_ ? error_code::cancelled : error_code::deadline;
      }
      step(left);
    }
    if (stop_asked_) {
      process_.signal_group(SIGKILL); // grandchildren that closed the streams but did not end
      return error_code::cancelled;
    }
    return std::nullopt;
  }

private:
  std::optional<milliseconds> time_left() const {
    const auto now = steady_clock::now();
    std::optional<milliseconds> left;
    if (command_.cap.count() > 0) {
      left = std::chrono::ceil<milliseconds>(started_ + command_.cap - now);
    }
    if (stop_asked_) {
      const auto polite = std::chrono::ceil<milliseconds>(*stop_asked_ + polite_end - now);
      left = left ? std::min(*left, polite) : polite;
    }
    return left;
  }

  void step(std::optional<milliseconds> left) {
    std::array<pollfd, 5> all{
        pollfd{out.fd.get(), POLLIN, 0},
        pollfd{err.fd.get(), POLLIN, 0},
        pollfd{input.get(), POLLOUT, 0},
        pollfd{has_ended_ ? -1 : process_.fd(), POLLIN, 0},
        pollfd{stop_asked_ ? -1 : stopped_.get(), POLLIN, 0}};
    constexpr milliseconds longest{3'600'000};
    const int time = left ? static_cast<int>(std::min(*left, longest).count()) : -1;
    if (::poll(all.data(), all.size(), time) <= 0) {
      return;
    }
    if (all[4].revents != 0) {
      stop_asked_ = steady_clock::now();
      process_.signal_group(SIGTERM);
    }
    if (all[0].revents != 0) {
      take(out);
    }
    if (all[1].revents != 0) {
      take(err);
    }
    if (all[2].revents != 0) {
      feed();
    }
    if (all[3].revents != 0) {
      has_ended_ = true;
      input.close();
    }
  }

  void take(stream& s) {
    buffer_.resize(piece);
    const ssize_t got = ::read(s.fd.get(), buffer_.data(), buffer_.size());
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    if (got <= 0) {
      s.fd.close();
      return;
    }
    const std::string_view bytes(buffer_.data(), static_cast<std::size_t>(got));
    if (*s.hand_on) {
      (*s.hand_on)(bytes);
      return;
    }
    const std::size_t room = command_.most_output - std::min(command_.most_output, s.kept->size());
    s.kept->append(bytes.substr(0, room));
    finished_.output_was_cut = finished_.output_was_cut || room < bytes.size();
  }

  void feed() {
    const std::string_view rest = std::string_view(command_.input).substr(written_);
    const ssize_t sent = ::write(input.get(), rest.data(), rest.size());
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) {
      return;
    }
    written_ += sent > 0 ? static_cast<std::size_t>(sent) : 0;
    if (sent < 0 || written_ == command_.input.size()) {
      input.close(); // a program that does not want its input may still do its work
    }
  }

  const command& command_;
  const process& process_;
  const descriptor& stopped_;
  finished& finished_;
  std::string buffer_;
  std::size_t written_ = 0;
  bool has_ended_ = false;
  steady_clock::time_point started_;
  std::optional<steady_clock::time_point> stop_asked_;
};

error ended_early(const command& c, error_code why) {
  if (why == error_code::cancelled) {
    return {.code = why, .message = c.argv.front() + " was stopped"};
  }
  return {
      .code = why,
      .message = c.argv.front() + " did not end within " +
                 std::to_string(std::chrono::ceil<std::chrono::seconds>(c.cap).count()) + " s"};
}

error not_started(const command& c, int number) {
  if (number == ENOENT) {
    return {
        .code = error_code::not_found,
        .message = "cannot run " + c.argv.front() + ": there is no such program; install it"};
  }
  error e = failed_to(c, "not started", number);
  e.code = number == EAGAIN || number == ENOMEM ? error_code::transient : error_code::permanent;
  return e;
}

class posix_runner final : public runner {
public:
  result<finished> run(const command& c, std::stop_token stop) override {
    if (c.argv.empty()) {
      return error{.code = error_code::invalid, .message = "cannot run a program without a name"};
    }
    if (stop.stop_requested()) {
      return ended_early(c, error_code::cancelled);
    }
    const sigpipe_guard no_sigpipe;
    auto out = make_pipe();
    auto err = make_pipe();
    auto in = make_pipe();
    const descriptor stopped(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!out || !err || !in || !stopped) {
      return failed_to(c, "no pipe", errno);
    }
    const bool feeds = c.input_fd < 0 && !c.input.empty();
    const int input_fd = feeds ? in->read.get() : c.input_fd;
    const pid_t id = spawn(c, {input_fd, out->write.get(), err->write.get()});
    if (id < 0) {
      return not_started(c, -id);
    }
    out->write.close();
    err->write.close();
    in->read.close();
    if (!feeds) {
      in->write.close();
    }
    return follow(c, id, stopped, {*std::move(out), *std::move(err), *std::move(in)}, stop);
  }

private:
  struct pipes {
    pipe_ends out;
    pipe_ends err;
    pipe_ends in;
  };

  static result<finished>
  follow(const command& c, pid_t id, const descriptor& stopped, pipes p, std::stop_token stop) {
    process running(id);
    if (running.fd() < 0) {
      return failed_to(c, "not followed", errno);
    }
    finished f;
    run_loop loop(c, running, stopped, f);
    make_unblocking(p.out.read);
    make_unblocking(p.err.read);
    loop.out = {std::move(p.out.read), &f.output, &c.on_output};
    loop.err = {std::move(p.err.read), &f.error_output, &c.on_error_output};
    if (p.in.write) {
      make_unblocking(p.in.write);
      loop.input = std::move(p.in.write);
    }
    const std::stop_callback wake(std::move(stop), [&stopped] {
      const std::uint64_t one = 1;
      (void)!::write(stopped.get(), &one, sizeof one);
    });
    const std::optional<error_code> early = loop.wait();
    const int status = running.reap();
    if (early) {
      return ended_early(c, *early);
    }
    f.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    f.status = f.signal != 0 ? 128 + f.signal : WEXITSTATUS(status);
    return f;
  }
};

} // namespace

runner& system_runner() {
  static posix_runner& one = *new posix_runner; // outlives whoever runs programs at the exit
  return one;
}

} // namespace siteagent::fleet
