// SPDX-License-Identifier: MIT
#include "core/fleet/ssh_answer.hpp"

#include "core/fleet/channel.hpp"

#include <algorithm>
#include <array>

namespace siteagent::fleet {

namespace {

using base::error;
using base::error_code;

constexpr std::size_t most_kept = 4U << 20U;
constexpr std::size_t tail = 8U << 10U;

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

// How much of the end of `text` is a beginning of the marker.
std::size_t beginning_of_marker(std::string_view text) {
  std::size_t length = std::min(text.size(), status_marker.size() - 1);
  while (!text.ends_with(status_marker.substr(0, length))) {
    --length;
  }
  return length;
}

} // namespace

void error_stream::take(std::string_view bytes) {
  held_ += bytes;
  if (const std::size_t at = held_.find(status_marker); at != std::string::npos) {
    has_marker_ = true;
    held_.erase(at, status_marker.size());
  }
  const std::size_t keep = beginning_of_marker(held_);
  pass(std::string_view(held_).substr(0, held_.size() - keep));
  held_.erase(0, held_.size() - keep);
}

void error_stream::finish() {
  pass(held_);
  held_.clear();
}

void error_stream::pass(std::string_view bytes) {
  if (!hand_on_) {
    text_ += bytes.substr(0, most_kept - std::min(most_kept, text_.size()));
    return;
  }
  if (!bytes.empty()) {
    hand_on_(bytes);
  }
  text_ += bytes;
  if (text_.size() > tail) {
    text_.erase(0, text_.size() - tail);
  }
}

error failure_of_ssh(std::string_view error_output) {
  struct kind {
    std::string_view words;
    error_code code;
    std::string_view meaning;
  };

  static constexpr std::array kinds{
      kind{"REMOTE HOST IDENTIFICATION HAS CHANGED", error_code::forbidden, "its host key changed"},
      kind{"Host key verification failed", error_code::forbidden, "its host key was not accepted"},
      kind{": Permission denied (", error_code::auth, "the key was refused"},
      kind{"Too many authentication failures", error_code::auth, "the key was refused"},
      kind{"Bad configuration option", error_code::invalid, "ssh's configuration is not valid"},
      kind{"Bad owner or permissions on", error_code::invalid, "ssh's configuration is not valid"},
  };
  const std::string line =
      remote_answer{.status = 255, .output = "", .error_output = std::string(error_output)}
          .last_error_line();
  const std::string said = line.empty() ? "" : " (" + line + ")";
  for (const kind& k : kinds) {
    if (contains(error_output, k.words)) {
      return {.code = k.code, .message = std::string(k.meaning) + said};
    }
  }
  return {
      .code = error_code::transient,
      .message = line.empty() ? "the connection was lost" : "no connection" + said};
}

} // namespace siteagent::fleet
