// SPDX-License-Identifier: MIT
// Telling what ssh says of itself from what the remote program says.
#pragma once

#include "core/base/error.hpp"
#include "core/fleet/marked_stream.hpp"

#include <functional>
#include <string>
#include <string_view>

namespace siteagent::fleet {

// Runs its parameters and ends with their status. ssh's own failures have status 255; so that a
// remote 255 can be told from them, that one is followed by a line on standard error. All other
// answers carry nothing of ours, and standard output never does.
inline constexpr std::string_view status_wrapper =
    R"("$@"; s=$?; [ "$s" -ne 255 ] || echo stado-remote-status-255 >&2; exit "$s")";
inline constexpr std::string_view status_marker = "stado-remote-status-255";

// Standard error of one call: without the marker, handed on or kept, its end always known.
class error_stream {
public:
  // hand_on: empty = keep.
  explicit error_stream(std::function<void(std::string_view)> hand_on);

  void take(std::string_view bytes) { stream_.take(bytes); }

  void finish() { stream_.finish(); } // hands on what was held back

  bool has_marker() const { return has_marker_; }

  // All of it when it is kept (at most 4 MiB), else the last 8 KiB.
  const std::string& text() const { return text_; }

private:
  void pass(std::string_view bytes);

  std::function<void(std::string_view)> hand_on_;
  std::string text_;
  bool has_marker_ = false;
  marked_stream stream_;
};

// Why ssh itself failed (status 255 without the marker), by what it printed. The message is a
// clause: "the connection was lost: ...".
base::error failure_of_ssh(std::string_view error_output);

} // namespace siteagent::fleet
