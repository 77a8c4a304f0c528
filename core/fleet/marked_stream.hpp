// SPDX-License-Identifier: MIT
// A stream of any bytes with a few lines of ours in it.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace siteagent::fleet {

// Takes out what begins with `mark` and ends with the next line feed, wherever it stands, and hands
// on everything else unchanged and without delay, but for a tail that may become a mark. [one
// thread at a time]
class marked_stream {
public:
  // on_mark gets the text between mark and line feed.
  marked_stream(
      std::string mark,
      std::function<void(std::string_view)> hand_on,
      std::function<void(std::string_view)> on_mark
  )
      : mark_(std::move(mark)), hand_on_(std::move(hand_on)), on_mark_(std::move(on_mark)) {}

  void take(std::string_view bytes);
  void finish(); // hands on what was held back

private:
  void pass(std::size_t length); // of the front

  std::string mark_;
  std::function<void(std::string_view)> hand_on_;
  std::function<void(std::string_view)> on_mark_;
  std::string held_;
};

} // namespace siteagent::fleet
