// SPDX-License-Identifier: MIT
#include "core/host/inspect.hpp"

#include "core/base/json.hpp"
#include "core/host/negotiate.hpp"
#include "core/host/plugin_impl.hpp"
#include "core/host/trust.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>

extern char** environ;

namespace siteagent::host {

namespace {

constexpr const char* child_argument = "--sagent-inspect-plugin";
constexpr int result_fd = 3;
constexpr std::size_t longest_answer = 4 * 1024 * 1024;
constexpr std::chrono::seconds patience{30};

// Set once by main, before any thread: this program can be its own inspection child.
std::atomic<bool> can_be_child{false};

base::json to_json(const plugin_info& info) {
  base::json extensions = base::json::array();
  for (const std::string& e : info.extensions) {
    extensions.push_back(e);
  }
  base::json schemas = base::json::object();
  for (const auto& [extension, schema] : info.settings_schemas) {
    schemas.set(extension, schema);
  }
  return base::json::object({
      {"id", info.id},
      {"path", info.path},
      {"version", info.version},
      {"vendor", info.vendor},
      {"abi_minor", info.abi_minor},
      {"threads", info.threads},
      {"extensions", extensions},
      {"settings_schemas", schemas},
      {"cloud_hosts", info.cloud_hosts},
  });
}

plugin_info from_json(const base::json& j) {
  plugin_info info;
  info.id = j["id"].string_or("");
  info.path = j["path"].string_or("");
  info.version = j["version"].string_or("");
  info.vendor = j["vendor"].string_or("");
  info.abi_minor = static_cast<unsigned>(j["abi_minor"].integer().value_or(0));
  info.threads = j["threads"].string_or("");
  for (const base::json& e : j["extensions"].items()) {
    info.extensions.push_back(e.string_or(""));
  }
  for (const auto& [extension, schema] : j["settings_schemas"].members()) {
    info.settings_schemas.emplace(extension, schema.string_or(""));
  }
  info.cloud_hosts = j["cloud_hosts"].string_or("");
  return info;
}

// Starts ourselves as the child; the read end of its answer, or -1.
int start_child(const std::string& path, const std::string& stem, pid_t& child) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    return -1;
  }
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  // What the plugin prints while being looked at is nobody's output.
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], result_fd);
  ::posix_spawn_file_actions_addclosefrom_np(&actions, result_fd + 1);
  sigset_t all;
  sigset_t none;
  ::sigfillset(&all);
  ::sigemptyset(&none);
  ::posix_spawnattr_setsigdefault(&attributes, &all);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  const char* const arguments[] = {
      "plugin-inspection", child_argument, path.c_str(), stem.c_str(), nullptr};
  const int failed = ::posix_spawn(
      &child, "/proc/self/exe", &actions, &attributes, const_cast<char* const*>(arguments), environ
  );
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  ::close(ends[1]);
  if (failed != 0) {
    ::close(ends[0]);
    return -1;
  }
  return ends[0];
}

// Reads until the child closes its end; false when it takes too long or says too much.
bool read_answer(int fd, std::string& answer) {
  const auto give_up = std::chrono::steady_clock::now() + patience;
  char buffer[16 * 1024];
  while (answer.size() <= longest_answer) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        give_up - std::chrono::steady_clock::now()
    );
    pollfd waiting{fd, POLLIN, 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&waiting, 1, static_cast<int>(left.count()));
    if (ready == 0) {
      return false;
    }
    const ssize_t got = ready < 0 ? -1 : ::read(fd, buffer, sizeof buffer);
    if (got == 0) {
      return true;
    }
    if (got < 0 && errno != EINTR && errno != EAGAIN) {
      return false;
    }
    if (got > 0) {
      answer.append(buffer, static_cast<std::size_t>(got));
    }
  }
  return false;
}

int run_child(const char* path, const char* stem) {
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::fcntl(result_fd, F_SETFD, FD_CLOEXEC);
  auto loaded = load_file(path, stem);
  const std::string answer = loaded
                                 ? base::json::object({{"info", to_json((*loaded)->info)}}).dump()
                                 : base::json::object({{"refusal", loaded.error().message}}).dump();
  for (std::size_t sent = 0; sent < answer.size();) {
    const ssize_t n = ::write(result_fd, answer.data() + sent, answer.size() - sent);
    if (n <= 0) {
      return 1;
    }
    sent += static_cast<std::size_t>(n);
  }
  // The answer is out: exit handlers of a strange plugin are none of our business here.
  ::_exit(0);
}

base::error refusal(const std::string& path, const std::string& why) {
  return {.code = base::error_code::invalid, .message = path + ": " + why};
}

base::result<plugin_info> inspect_here(const std::string& path, std::string_view stem) {
  auto loaded = load_file(path, stem);
  if (!loaded) {
    return loaded.error();
  }
  return (*loaded)->info;
}

} // namespace

int run_inspection_child(int argc, char** argv) {
  if (argc == 4 && std::strcmp(argv[1], child_argument) == 0) {
    return run_child(argv[2], argv[3]);
  }
  can_be_child = true;
  return not_an_inspection_child;
}

base::result<plugin_info> inspect_file(const std::string& path, std::string_view stem) {
  if (!can_be_child) {
    return inspect_here(path, stem);
  }
  pid_t child = -1;
  const int fd = start_child(path, std::string(stem), child);
  if (fd < 0) {
    return base::error{
        .code = base::error_code::transient,
        .message = path + ": the process that should look at it cannot be started"};
  }
  std::string answer;
  const bool complete = read_answer(fd, answer);
  ::close(fd);
  if (!complete) {
    ::kill(child, SIGKILL);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!complete) {
    return refusal(path, "did not finish loading in 30 s; it must not do work when loaded");
  }
  if (WIFSIGNALED(status)) {
    return refusal(
        path,
        "crashes while being loaded (signal " + std::to_string(WTERMSIG(status)) + ", " +
            ::sigabbrev_np(WTERMSIG(status)) + "); the file is damaged or broken, install it again"
    );
  }
  const auto parsed = base::json::parse(answer);
  if (!parsed || !parsed->is_object()) {
    return refusal(path, "ended the process while being loaded; the plugin is broken");
  }
  if (const auto why = (*parsed)["refusal"].string()) {
    return base::error{.code = base::error_code::invalid, .message = std::string(*why)};
  }
  return from_json((*parsed)["info"]);
}

base::result<void> rehearse_load(const std::string& path, std::string_view stem) {
  if (!can_be_child) {
    return {};
  }
  auto seen = inspect_file(path, stem);
  if (!seen) {
    return seen.error();
  }
  return {};
}

base::result<plugin_info>
inspect_plugin(std::string_view id, const std::vector<plugin_directory>& directories) {
  auto path = find_file(id, directories);
  if (!path) {
    return path.error();
  }
  return inspect_file(*path, id);
}

std::vector<plugin_listing> list_plugins(const std::vector<plugin_directory>& directories) {
  std::vector<plugin_listing> listed;
  for (const plugin_directory& d : directories) {
    std::error_code failed;
    std::vector<std::string> stems;
    for (std::filesystem::directory_iterator it(d.path, failed), end; !failed && it != end;
         it.increment(failed)) {
      if (it->path().extension() == ".so") {
        stems.push_back(it->path().stem().string());
      }
    }
    std::sort(stems.begin(), stems.end());
    for (const std::string& stem : stems) {
      listed.push_back({d.path + "/" + stem + ".so", inspect_plugin(stem, directories)});
    }
  }
  return listed;
}

} // namespace siteagent::host
