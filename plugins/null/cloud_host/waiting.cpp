// SPDX-License-Identifier: MIT
#include "plugins/null/cloud_host/waiting.hpp"

#include <sys/stat.h>

#include <fcntl.h>
#include <unistd.h>

#include <set>

namespace siteagent::null {

namespace {

using base::json;

void write_file(const std::string& file, const std::string& text) {
  const int fd = ::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool ok =
      fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (fd >= 0) {
    ::close(fd);
  }
  if (!ok) {
    throw sagent::failure(
        SAGENT_E_PERMANENT, file + " cannot be written; check the folder in null.hosts"
    );
  }
}

std::string key_of(const std::string& address, std::int64_t port) {
  return address + ":" + std::to_string(port);
}

} // namespace

waiting_host next_waiting_host(const hosts_settings& settings, const json& state) {
  std::set<std::string> taken;
  for (const auto& [id, object] : state["objects"].members()) {
    if (object["address"].is_string()) {
      taken.insert(key_of(object["address"].string_or(""), object["port"].integer().value_or(22)));
    }
  }
  for (const waiting_host& host : settings.hosts) {
    if (!taken.contains(key_of(host.address, host.port))) {
      return host;
    }
  }
  if (!settings.hosts.empty()) {
    throw sagent::failure(SAGENT_E_NO_CAPACITY, "every entry of null.hosts is in use");
  }
  for (int last = 1; last < 255; ++last) {
    const std::string address = "127.100.0." + std::to_string(last);
    if (!taken.contains(key_of(address, 22))) {
      return {address, 22, ""};
    }
  }
  throw sagent::failure(SAGENT_E_NO_CAPACITY, "the null provider has no address left");
}

void boot(const std::string& folder, const std::string& public_key, const std::string& user_data) {
  if (folder.empty()) {
    return;
  }
  ::mkdir(folder.c_str(), 0700);
  write_file(folder + "/user-data", user_data);
  write_file(folder + "/authorized_keys", public_key + "\n");
}

void shut_down(const std::string& folder) {
  if (!folder.empty()) {
    write_file(folder + "/authorized_keys", "");
  }
}

} // namespace siteagent::null
