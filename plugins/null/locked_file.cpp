// SPDX-License-Identifier: MIT
#include "plugins/null/locked_file.hpp"

#include <sagent/cpp/plugin.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace siteagent::null {

namespace {

using base::json;

[[noreturn]] void fail_on(const std::string& file, const std::string& why) {
  throw sagent::failure(SAGENT_E_NOT_READY, "state file " + file + " " + why);
}

// Holds an exclusive lock on a file beside the state file until it goes.
class file_lock {
public:
  explicit file_lock(const std::string& file)
      : fd_(::open((file + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    int locked = -1;
    do {
      locked = fd_ < 0 ? -1 : ::flock(fd_, LOCK_EX);
    } while (locked != 0 && fd_ >= 0 && errno == EINTR);
    if (locked != 0) {
      fail_on(file, "cannot be locked; check that its directory exists and may be written");
    }
  }

  file_lock(const file_lock&) = delete;
  file_lock& operator=(const file_lock&) = delete;

  ~file_lock() { ::close(fd_); }

private:
  int fd_;
};

json read_file(const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    if (::access(file.c_str(), F_OK) == 0) {
      fail_on(file, "cannot be read; check its owner and mode");
    }
    return json::object();
  }
  std::ostringstream text;
  text << in.rdbuf();
  auto parsed = json::parse(text.str());
  if (!parsed || !parsed->is_object()) {
    fail_on(file, "is damaged; remove it to begin with an empty cloud");
  }
  return *std::move(parsed);
}

bool write_all(int fd, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    if (n < 0 && errno != EINTR) {
      return false;
    }
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  return true;
}

void write_file(const std::string& file, durable d, const json& content) {
  const std::string fresh = file + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool ok =
      fd >= 0 && write_all(fd, content.pretty() + "\n") && (d == durable::no || ::fsync(fd) == 0);
  if (fd >= 0) {
    ::close(fd);
  }
  if (!ok || std::rename(fresh.c_str(), file.c_str()) != 0) {
    fail_on(file, "cannot be written; check its directory and the free space");
  }
}

} // namespace

void change_locked(const std::string& file, durable d, const std::function<bool(json&)>& work) {
  const file_lock lock(file);
  json content = read_file(file);
  if (work(content)) {
    write_file(file, d, content);
  }
}

void append_line(const std::string& file, const std::string& line) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  const bool ok = fd >= 0 && write_all(fd, line + "\n");
  if (fd >= 0) {
    ::close(fd);
  }
  if (!ok) {
    fail_on(file, "cannot be written; check its directory and the free space");
  }
}

} // namespace siteagent::null
