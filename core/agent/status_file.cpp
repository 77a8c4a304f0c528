// SPDX-License-Identifier: MIT
// The file the status lies in.
#include "core/agent/board.hpp"
#include "core/base/uuid.hpp"
#include "core/observe/log.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <utility>

namespace siteagent::agent {

namespace {

namespace fs = std::filesystem;

constexpr std::chrono::seconds write_interval{5};
constexpr std::size_t largest_status = std::size_t{64} << 20U;
// Where systemd makes the runtime directories of services; ours are named after the units.
constexpr const char* runtime_root = "/run";
constexpr const char* unit_prefix = "waldur-";
constexpr const char* own_path = "WALDUR_SITE_AGENT_STATUS_PATH";

std::string variable(const char* name) {
  const char* text = std::getenv(name); // NOLINT(concurrency-mt-unsafe)
  return text == nullptr ? std::string() : std::string(text);
}

std::string reason(int number) {
  std::array<char, 128> buffer{};
  return ::strerror_r(number, buffer.data(), buffer.size());
}

base::error unusable(const std::string& path, const std::string& why) {
  return {.code = base::error_code::invalid, .message = "status file " + path + ": " + why};
}

// The same for `status` and for the agent it asks about, wherever each was started. FNV-1a, because
// std::hash may change between builds.
std::string prefix_of(const std::string& config_file) {
  std::error_code failed;
  fs::path absolute = fs::weakly_canonical(config_file, failed);
  if (failed) {
    absolute = fs::path(config_file);
  }
  std::uint64_t hash = 14695981039346656037U;
  for (const char c : absolute.string()) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  }
  constexpr const char* digits = "0123456789abcdef";
  std::string hex;
  for (int shift = 60; shift >= 0; shift -= 4) {
    hex += digits[(hash >> static_cast<unsigned>(shift)) & 15U];
  }
  return "waldur-site-agent-" + hex + "-";
}

// $RUNTIME_DIRECTORY may name several, separated by colons.
std::string first_of(const std::string& list) {
  return list.substr(0, list.find(':'));
}

std::vector<std::string> directories() {
  std::error_code ignored;
  std::vector<std::string> all{
      first_of(variable("RUNTIME_DIRECTORY")),
      variable("XDG_RUNTIME_DIR"),
      fs::temp_directory_path(ignored).string()};
  std::erase(all, "");
  std::error_code failed;
  for (fs::directory_iterator at(runtime_root, failed), end; !failed && at != end;
       at.increment(failed)) {
    if (at->path().filename().string().starts_with(unit_prefix) && at->is_directory(ignored)) {
      all.push_back(at->path().string());
    }
  }
  return all;
}

// Field 22 of /proc/PID/stat. The second one, the program's name, may hold anything.
unsigned long long start_of(int pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/stat");
  std::string text;
  std::getline(in, text);
  std::size_t at = text.rfind(')');
  for (int field = 2; field < 22 && at != std::string::npos; ++field) {
    at = text.find(' ', at + 1);
  }
  if (at == std::string::npos) {
    return 0;
  }
  unsigned long long ticks = 0;
  std::from_chars(text.data() + at + 1, text.data() + text.size(), ticks);
  return ticks;
}

base::result<std::string> read_all(int fd, const std::string& path) {
  std::string text;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return unusable(path, "cannot be read: " + reason(errno));
    }
    if (got == 0) {
      return text;
    }
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > largest_status) {
      return unusable(path, "is too large to be one");
    }
  }
}

base::result<void> write_all(int fd, const std::string& text, const std::string& path) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t put = ::write(fd, text.data() + done, text.size() - done);
    if (put < 0 && errno == EINTR) {
      continue;
    }
    if (put <= 0) {
      return unusable(path, "cannot be written: " + reason(errno));
    }
    done += static_cast<std::size_t>(put);
  }
  return {};
}

struct descriptor {
  int fd;

  ~descriptor() {
    if (fd >= 0) {
      ::close(fd);
    }
  }
};

} // namespace

process_mark own_mark() {
  const int pid = ::getpid();
  return {pid, start_of(pid)};
}

bool is_alive(const process_mark& mark) {
  return mark.pid > 0 && mark.start != 0 && start_of(mark.pid) == mark.start;
}

std::string status_path(const std::string& config_file, const std::string& mode) {
  if (std::string own = variable(own_path); !own.empty()) {
    return own;
  }
  std::string directory = first_of(variable("RUNTIME_DIRECTORY"));
  if (directory.empty()) {
    directory = variable("XDG_RUNTIME_DIR");
  }
  std::error_code ignored;
  if (directory.empty() || !fs::is_directory(directory, ignored)) {
    directory = fs::temp_directory_path(ignored).string();
  }
  return directory + "/" + prefix_of(config_file) + mode + "-" + std::to_string(::getpid()) +
         ".json";
}

std::vector<std::string> find_status_files(const std::string& config_file) {
  if (std::string own = variable(own_path); !own.empty()) {
    return {own};
  }
  const std::string prefix = prefix_of(config_file);
  std::vector<std::string> found;
  for (const std::string& directory : directories()) {
    std::error_code failed;
    for (fs::directory_iterator at(directory, failed), end; !failed && at != end;
         at.increment(failed)) {
      const std::string name = at->path().filename().string();
      if (name.starts_with(prefix) && name.ends_with(".json") &&
          std::find(found.begin(), found.end(), at->path().string()) == found.end()) {
        found.push_back(at->path().string());
      }
    }
  }
  return found;
}

base::result<void> write_status(const std::string& path, const std::string& text) {
  // A name nobody can have prepared; O_EXCL follows no link.
  const std::string fresh = path + "." + base::uuid::random().hex();
  const descriptor file{::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (file.fd < 0) {
    return unusable(path, "cannot be written: " + reason(errno));
  }
  base::result<void> written = write_all(file.fd, text, path);
  if (written && ::rename(fresh.c_str(), path.c_str()) != 0) {
    written = unusable(path, "cannot be replaced: " + reason(errno));
  }
  if (!written) {
    ::unlink(fresh.c_str());
  }
  return written;
}

base::result<status_file> read_status(const std::string& path) {
  const descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)};
  if (file.fd < 0) {
    return unusable(path, "cannot be read: " + reason(errno));
  }

  struct stat info {};

  if (::fstat(file.fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    return unusable(path, "is no regular file");
  }
  const base::result<std::string> text = read_all(file.fd, path);
  if (!text) {
    return text.error();
  }
  base::result<base::json> document = base::json::parse(*text);
  if (!document || !document->is_object()) {
    return unusable(path, "holds no status");
  }
  status_file out{path, *std::move(document), false};
  const process_mark mark{
      static_cast<int>(out.document["pid"].integer().value_or(0)),
      static_cast<unsigned long long>(out.document["process_start"].integer().value_or(0))};
  out.is_alive = is_alive(mark);
  if (!out.is_alive) {
    return out;
  }

  struct stat process {};

  const std::string entry = "/proc/" + std::to_string(mark.pid);
  if (::stat(entry.c_str(), &process) == 0 && process.st_uid != info.st_uid && info.st_uid != 0) {
    return unusable(path, "was not written by the process it tells of; remove it");
  }
  return out;
}

status_writer::status_writer(
    std::function<base::json()> describe,
    std::string config_file,
    std::string mode,
    const base::clock& clock,
    std::string path
)
    : describe_(std::move(describe)), config_file_(std::move(config_file)), mode_(std::move(mode)),
      clock_(clock), path_(path.empty() ? status_path(config_file_, mode_) : std::move(path)),
      mark_(own_mark()) {
  for (const std::string& old : find_status_files(config_file_)) {
    if (const base::result<status_file> read = read_status(old); read && !read->is_alive) {
      ::unlink(old.c_str());
    }
  }
  thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

status_writer::~status_writer() {
  thread_.request_stop();
  thread_.join();
  ::unlink(path_.c_str());
}

void status_writer::write_once(bool& told) {
  std::error_code failed;
  const fs::path absolute = fs::absolute(config_file_, failed);
  base::json document = base::json::object(
      {{"schema", 1},
       {"version", SITEAGENT_VERSION},
       {"pid", mark_.pid},
       {"process_start", static_cast<std::int64_t>(mark_.start)},
       {"written_at", base::to_rfc3339(clock_.wall())},
       {"config_file", failed ? config_file_ : absolute.string()},
       {"mode", mode_}}
  );
  const base::json state = describe_();
  for (const auto& [key, member] : state.members()) {
    document.set(key, member);
  }
  const base::result<void> written = write_status(path_, document.dump() + "\n");
  if (!written && !told) {
    observe::logger("status").failure(
        observe::level::warning,
        "status cannot be shown; set WALDUR_SITE_AGENT_STATUS_PATH to a file that can be written",
        written.error()
    );
  }
  told = !written;
}

void status_writer::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  bool told = false; // one line per trouble, not one per attempt
  while (!stop.stop_requested()) {
    write_once(told);
    std::unique_lock lock(mutex);
    wake.wait_for(lock, stop, write_interval, [] { return false; });
  }
}

} // namespace siteagent::agent
