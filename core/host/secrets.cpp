// SPDX-License-Identifier: MIT
#include "core/host/secrets.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace siteagent::host {

namespace {

constexpr std::string_view file_prefix = "file:";
constexpr std::string_view credential_prefix = "credential:";
constexpr std::size_t largest_secret = 64 * 1024;

base::error unreadable(std::string message) {
  return {.code = base::error_code::auth, .message = std::move(message)};
}

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

// The name inside ${...}, or "" when the text has another form.
std::string_view environment_name(std::string_view source) {
  if (source.size() < 4 || source.substr(0, 2) != "${" || source.back() != '}') {
    return {};
  }
  const std::string_view name = source.substr(2, source.size() - 3);
  const bool ok =
      !(name[0] >= '0' && name[0] <= '9') && std::all_of(name.begin(), name.end(), is_name_char);
  return ok ? name : std::string_view();
}

bool is_credential_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return is_name_char(c) || c == '.' || c == '-' || c == '@';
         });
}

// Links are followed: mounted secrets (systemd, Kubernetes) are links.
base::result<base::secret> read_file(const std::string& path, const std::string& what) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    char buffer[128];
    return unreadable(what + " cannot be read: " + ::strerror_r(errno, buffer, sizeof buffer));
  }

  struct stat st {};

  std::string bytes(largest_secret + 1, '\0');
  std::size_t size = 0;
  bool failed = ::fstat(fd, &st) != 0 || !S_ISREG(st.st_mode);
  while (!failed && size < bytes.size()) {
    const ssize_t got = ::read(fd, bytes.data() + size, bytes.size() - size);
    failed = got < 0 && errno != EINTR;
    if (got == 0) {
      break;
    }
    size += got > 0 ? static_cast<std::size_t>(got) : 0;
  }
  ::close(fd);
  std::size_t length = size;
  if (length > 0 && bytes[length - 1] == '\n') {
    --length;
  }
  base::secret value{std::string_view(bytes.data(), length)};
  ::explicit_bzero(bytes.data(), bytes.size());
  if (failed) {
    return unreadable(what + " cannot be read: it is no regular file");
  }
  if (size > largest_secret) {
    return unreadable(what + " is larger than 64 KiB; it is no secret");
  }
  return value;
}

base::result<base::secret> read_unprotected(std::string_view source) {
  if (const auto name = environment_name(source); !name.empty()) {
    const char* value = std::getenv(std::string(name).c_str());
    if (value == nullptr) {
      return unreadable("the environment variable " + std::string(name) + " is not set");
    }
    return base::secret(value);
  }
  if (source.substr(0, file_prefix.size()) == file_prefix) {
    const std::string path(source.substr(file_prefix.size()));
    return read_file(path, "the file " + path);
  }
  if (source.substr(0, credential_prefix.size()) == credential_prefix) {
    const std::string name(source.substr(credential_prefix.size()));
    const char* directory = std::getenv("CREDENTIALS_DIRECTORY");
    if (directory == nullptr || directory[0] != '/') {
      return unreadable(
          "the credential '" + name +
          "' cannot be read: CREDENTIALS_DIRECTORY is not set; start the agent by systemd with "
          "LoadCredential=" +
          name
      );
    }
    return read_file(std::string(directory) + "/" + name, "the credential '" + name + "'");
  }
  return base::secret(source);
}

} // namespace

bool is_literal_secret(std::string_view source) {
  return environment_name(source).empty() && source.substr(0, file_prefix.size()) != file_prefix &&
         source.substr(0, credential_prefix.size()) != credential_prefix;
}

base::result<void> check_secret_source(std::string_view source) {
  const auto refused = [](std::string message) {
    return base::error{.code = base::error_code::invalid, .message = std::move(message)};
  };
  if (source.empty()) {
    return refused("is empty");
  }
  if (source.substr(0, file_prefix.size()) == file_prefix &&
      source.substr(file_prefix.size(), 1) != "/") {
    return refused("needs an absolute path after file:");
  }
  if (source.substr(0, credential_prefix.size()) == credential_prefix &&
      !is_credential_name(source.substr(credential_prefix.size()))) {
    return refused("needs the name of a systemd credential after credential:");
  }
  return {};
}

namespace {

// What every secret goes through before it is given out.
base::result<base::secret> checked(base::result<base::secret> value) {
  if (value) {
    if (value->empty()) {
      return unreadable("the secret is empty");
    }
    base::global_redactor().protect(value->reveal());
  }
  return value;
}

} // namespace

base::result<base::secret> read_secret_source(std::string_view source) {
  return checked(read_unprotected(source));
}

secret_store::secret_store(const secret_sources& sources) {
  for (const auto& [reference, source] : sources) {
    add(reference, [kept = base::secret(source)] { return read_unprotected(kept.reveal()); });
  }
}

void secret_store::add(std::string reference, secret_reader reader) {
  readers_.insert_or_assign(std::move(reference), std::move(reader));
}

base::result<base::secret> secret_store::read(std::string_view reference) const {
  const auto found = readers_.find(reference);
  if (found == readers_.end()) {
    return base::error{
        .code = base::error_code::not_found,
        .message = "the settings hold no secret of that reference"};
  }
  return checked(found->second());
}

} // namespace siteagent::host
