// SPDX-License-Identifier: MIT
#include "core/fleet/marked_stream.hpp"

#include <algorithm>

namespace siteagent::fleet {

void marked_stream::take(std::string_view bytes) {
  held_ += bytes;
  for (;;) {
    const std::size_t at = held_.find(mark_);
    if (at == std::string::npos) {
      break;
    }
    pass(at);
    const std::size_t end = held_.find('\n');
    if (end == std::string::npos) {
      return; // the rest of the line is still to come
    }
    const std::string text = held_.substr(mark_.size(), end - mark_.size());
    held_.erase(0, end + 1);
    on_mark_(text);
  }
  std::size_t keep = std::min(held_.size(), mark_.size() - 1);
  while (!held_.ends_with(std::string_view(mark_).substr(0, keep))) {
    --keep;
  }
  pass(held_.size() - keep);
}

void marked_stream::finish() {
  pass(held_.size());
}

void marked_stream::pass(std::size_t length) {
  if (length > 0) {
    const std::string front = held_.substr(0, length);
    held_.erase(0, length);
    hand_on_(front);
  }
}

} // namespace siteagent::fleet
