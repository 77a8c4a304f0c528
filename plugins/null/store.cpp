// SPDX-License-Identifier: MIT
#include "plugins/null/store.hpp"

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

json to_json(const resource& r) {
  return json::object({
      {"uuid", r.uuid},
      {"name", r.name},
      {"created_at", r.created_at},
      {"tags", r.tags},
      {"limits", r.limits},
      {"users", r.users},
      {"has_disk", r.has_disk},
      {"has_machine", r.has_machine},
      {"power", r.power},
  });
}

resource from_json(const json& j) {
  resource r;
  r.uuid = j["uuid"].string_or("");
  r.name = j["name"].string_or("");
  r.created_at = j["created_at"].string_or("");
  r.tags = j["tags"];
  r.limits = j["limits"];
  r.users = j["users"];
  r.has_disk = j["has_disk"].boolean().value_or(false);
  r.has_machine = j["has_machine"].boolean().value_or(false);
  r.power = j["power"].string_or("running");
  return r;
}

resources read_file(const std::string& file) {
  resources all;
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    if (::access(file.c_str(), F_OK) == 0) {
      fail_on(file, "cannot be read; check its owner and mode");
    }
    return all;
  }
  std::ostringstream text;
  text << in.rdbuf();
  const auto parsed = json::parse(text.str());
  if (!parsed || !(*parsed)["resources"].is_array()) {
    fail_on(file, "is damaged; remove it to begin with an empty cloud");
  }
  for (const json& each : (*parsed)["resources"].items()) {
    resource r = from_json(each);
    all[r.uuid] = std::move(r);
  }
  return all;
}

void write_file(const std::string& file, const resources& all) {
  json list = json::array();
  for (const auto& [uuid, r] : all) {
    list.push_back(to_json(r));
  }
  const std::string text = json::object({{"resources", list}}).pretty() + "\n";
  const std::string fresh = file + ".new";
  const int fd = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool ok = fd >= 0;
  for (std::size_t done = 0; ok && done < text.size();) {
    const ssize_t n = ::write(fd, text.data() + done, text.size() - done);
    ok = n > 0 || (n < 0 && errno == EINTR);
    done += n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  ok = ok && ::fsync(fd) == 0;
  if (fd >= 0) {
    ::close(fd);
  }
  if (!ok || std::rename(fresh.c_str(), file.c_str()) != 0) {
    fail_on(file, "cannot be written; check its directory and the free space");
  }
}

} // namespace

void store::change(const std::function<bool(resources&)>& work) {
  if (file_.empty()) {
    const std::lock_guard lock(mutex_);
    resources copy = in_memory_;
    if (work(copy)) {
      in_memory_ = std::move(copy);
    }
    return;
  }
  const file_lock lock(file_);
  resources all = read_file(file_);
  if (work(all)) {
    write_file(file_, all);
  }
}

void store::look(const std::function<void(const resources&)>& work) {
  change([&work](resources& all) {
    work(all);
    return false;
  });
}

} // namespace siteagent::null
