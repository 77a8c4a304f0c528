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

} // namespace

error_stream::error_stream(std::function<void(std::string_view)> hand_on)
    : hand_on_(std::move(hand_on)), stream_(
                                        std::string(status_marker),
                                        [this](std::string_view bytes) { pass(bytes); },
                                        [this](std::string_view) { has_marker_ = true; }
                                    ) {}

void error_stream::pass(std::string_view bytes) {
  if (!hand_on_) {
    text_ += bytes.substr(0, most_kept - std::min(most_kept, text_.size()));
    return;
  }
  hand_on_(bytes);
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
