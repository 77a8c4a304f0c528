// SPDX-License-Identifier: MIT
#include "core/fleet/known_hosts.hpp"

#include "core/base/text.hpp"
#include "core/fleet/descriptor.hpp"
#include "core/fleet/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

namespace siteagent::fleet {

namespace {

using base::error;
using base::error_code;
using base::result;

// Ours are never hashed (the channel says so to ssh), and one line has one name.
bool is_of(std::string_view line, std::string_view name) {
  const std::size_t end = line.find(' ');
  return end != std::string_view::npos && base::equals_ignoring_case(line.substr(0, end), name);
}

bool has_line_of(std::string_view text, std::string_view name) {
  for (const std::string_view line : base::split(text, '\n')) {
    if (is_of(line, name)) {
      return true;
    }
  }
  return false;
}

result<std::string> read_or_empty(const std::string& file) {
  auto text = read_file(file);
  if (!text && text.error().code == error_code::not_found) {
    return std::string();
  }
  return text;
}

} // namespace

result<std::string> known_hosts::fingerprint(std::string_view name, std::stop_token stop) const {
  const auto text = read_or_empty(file_);
  if (!text) {
    return text.error();
  }
  if (!has_line_of(*text, name)) {
    return std::string();
  }
  // Prints "# Host b1 found: line 1" and "b1 ED25519 SHA256:...".
  const auto told = programs_->run(
      {.argv = {"ssh-keygen", "-l", "-F", base::to_lower(name), "-f", file_}}, std::move(stop)
  );
  if (!told) {
    return base::with_context(told.error(), "the host key pinned for " + std::string(name));
  }
  for (const std::string_view word : base::split(told->output, ' ')) {
    if (word.starts_with("SHA256:")) {
      return std::string(base::trim(word.substr(0, word.find('\n'))));
    }
  }
  return error{
      .code = error_code::invalid,
      .message = "the host key pinned for " + std::string(name) + " in " + file_ +
                 " is not readable; remove its line"};
}

result<void> known_hosts::forget(std::string_view name) const {
  const auto before = read_or_empty(file_);
  if (!before || !has_line_of(*before, name)) {
    return before ? result<void>() : before.error();
  }
  const auto lock = file_lock::take(
      file_ + ".lock", "forgetting a host key", {.longest = std::chrono::minutes(1), .on_wait = {}}
  );
  if (!lock) {
    return lock.error();
  }
  const auto text = read_or_empty(file_);
  if (!text) {
    return text.error();
  }
  std::string rest;
  for (const std::string_view line : base::split(*text, '\n')) {
    if (!line.empty() && !is_of(line, name)) {
      rest.append(line).append("\n");
    }
  }
  return replace_file(file_, rest);
}

result<void> known_hosts::add_from(const std::string& other) const {
  const auto lines = read_file(other);
  if (!lines) {
    return lines.error();
  }
  const descriptor fd(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!fd ||
      ::write(fd.get(), lines->data(), lines->size()) != static_cast<ssize_t>(lines->size())) {
    return error{
        .code = error_code::transient,
        .message = "cannot pin a host key in " + file_ + ": " + std::strerror(errno)};
  }
  return {};
}

} // namespace siteagent::fleet
