// SPDX-License-Identifier: MIT
#include "core/host/process_state.hpp"

#include "core/base/text.hpp"
#include "core/observe/log.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <clocale>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

namespace siteagent::host {

namespace {

constexpr std::array watched_signals = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};
constexpr std::array signal_names = {"SIGTERM", "SIGINT", "SIGHUP", "SIGPIPE"};

// umask() can only be read by setting it, which races with threads that create files.
std::optional<mode_t> current_umask() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.rfind("Umask:", 0) == 0) {
      return static_cast<mode_t>(std::strtoul(line.c_str() + 6, nullptr, 8));
    }
  }
  return std::nullopt;
}

std::string current_locale() {
  const char* name = std::setlocale(LC_ALL, nullptr);
  return name == nullptr ? "C" : name;
}

bool is_same_handler(const struct sigaction& a, const struct sigaction& b) {
  if ((a.sa_flags & SA_SIGINFO) != (b.sa_flags & SA_SIGINFO)) {
    return false;
  }
  return (a.sa_flags & SA_SIGINFO) != 0 ? a.sa_sigaction == b.sa_sigaction
                                        : a.sa_handler == b.sa_handler;
}

bool is_same_mask(const sigset_t& a, const sigset_t& b) {
  for (int signal = 1; signal < NSIG; ++signal) {
    if (::sigismember(&a, signal) != ::sigismember(&b, signal)) {
      return false;
    }
  }
  return true;
}

class process_state {
public:
  process_state() {
    for (std::size_t i = 0; i < watched_signals.size(); ++i) {
      ::sigaction(watched_signals[i], nullptr, &handlers_[i]);
    }
    umask_ = current_umask();
    locale_ = current_locale();
    directory_ = ::open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
  }

  process_state(const process_state&) = delete;
  process_state& operator=(const process_state&) = delete;

  ~process_state() {
    if (directory_ >= 0) {
      ::close(directory_);
    }
  }

  // Names what had to be put back.
  std::vector<std::string> restore() const {
    std::vector<std::string> changed;
    for (std::size_t i = 0; i < watched_signals.size(); ++i) {
      struct sigaction now {};

      if (::sigaction(watched_signals[i], nullptr, &now) == 0 &&
          !is_same_handler(now, handlers_[i])) {
        ::sigaction(watched_signals[i], &handlers_[i], nullptr);
        changed.push_back(std::string("handler of ") + signal_names[i]);
      }
    }
    if (umask_ && current_umask() != umask_) {
      ::umask(*umask_);
      changed.emplace_back("umask");
    }
    if (current_locale() != locale_) {
      std::setlocale(LC_ALL, locale_.c_str());
      changed.emplace_back("locale");
    }
    if (has_moved()) {
      changed.emplace_back("working directory");
      if (::fchdir(directory_) != 0) {
        changed.back() += " (cannot be restored)";
      }
    }
    return changed;
  }

private:
  bool has_moved() const {
    struct stat then {};

    struct stat now {};

    return directory_ >= 0 && ::fstat(directory_, &then) == 0 && ::stat(".", &now) == 0 &&
           (then.st_dev != now.st_dev || then.st_ino != now.st_ino);
  }

  std::array<struct sigaction, watched_signals.size()> handlers_{};
  std::optional<mode_t> umask_;
  std::string locale_;
  int directory_ = -1;
};

// Shared by overlapping guards; no lock is held while foreign code runs. Never destroyed.
struct shared_state {
  std::mutex mutex;
  unsigned active = 0;
  std::unique_ptr<process_state> before;
};

shared_state& shared() {
  static auto* const instance = new shared_state;
  return *instance;
}

} // namespace

process_guard::process_guard(std::string who) : who_(std::move(who)) {
  ::pthread_sigmask(SIG_SETMASK, nullptr, &mask_);
  const std::lock_guard lock(shared().mutex);
  if (shared().active++ == 0) {
    shared().before = std::make_unique<process_state>();
  }
}

process_guard::~process_guard() {
  std::vector<std::string> changed;
  {
    const std::lock_guard lock(shared().mutex);
    changed = shared().before->restore();
    if (--shared().active == 0) {
      shared().before.reset();
    }
  }
  sigset_t now;
  if (::pthread_sigmask(SIG_SETMASK, nullptr, &now) == 0 && !is_same_mask(now, mask_)) {
    ::pthread_sigmask(SIG_SETMASK, &mask_, nullptr);
    changed.emplace_back("signal mask");
  }
  if (!changed.empty()) {
    observe::logger("host").warning(
        who_ + " changed process-wide settings, which were restored; report this to its author",
        {{"changed", base::join(changed, ", ")}}
    );
  }
}

} // namespace siteagent::host
