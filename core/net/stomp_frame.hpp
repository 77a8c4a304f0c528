// SPDX-License-Identifier: MIT
// STOMP 1.2 frames as bytes. Pure: no I/O, no clock.
#pragma once

#include "core/base/result.hpp"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::net {

struct stomp_frame {
  std::string command; // as sent, for example "MESSAGE"
  // In order, unescaped; of repeated names the first counts.
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};

  // Value of the first header of that name (case counts, as in STOMP), or nullptr.
  const std::string* find(std::string_view name) const;
  // The same, "" when absent.
  std::string_view get(std::string_view name) const;
};

// A single end of line: a heart-beat.
inline constexpr std::string_view stomp_heart_beat = "\n";

// The frame with its closing NUL. Headers are escaped, except in CONNECT and CONNECTED, which have
// no escapes; content-length is added when there is a body. `invalid`: a header that cannot be
// expressed (NUL anywhere; CR, LF, or a colon in the name, of CONNECT). The message names the
// header, not its value.
base::result<std::string> to_bytes(const stomp_frame& frame);

struct stomp_limits {
  std::size_t body = std::size_t{16} << 20U;
  std::size_t head = std::size_t{64} << 10U; // command and headers
};

// Frames out of a stream of bytes that may be cut anywhere. Ends of line (LF or CR LF) between
// frames are heart-beats and skipped. Memory: one frame at a time, within the limits, plus what was
// appended and not taken. Not thread-safe.
class stomp_parser {
public:
  explicit stomp_parser(stomp_limits limits = {}) : limits_(limits) {}

  // No-op after an error.
  void append(std::string_view bytes);

  // The next whole frame, nullopt when bytes are missing. Errors stay: what follows a frame that is
  // no frame cannot be found. `transient`: not STOMP 1.2 (what and where, no content);
  // `permanent`: beyond the limits.
  base::result<std::optional<stomp_frame>> next();

private:
  enum class part : std::uint8_t { between, head, body };

  bool take_line(std::string_view& line);
  std::optional<base::error> take_head();
  std::optional<base::error> take_header(std::string_view line);
  std::optional<base::error> finish_head();
  bool take_body();
  base::result<std::optional<stomp_frame>> fail(base::error e);

  stomp_limits limits_;
  std::string bytes_;
  std::size_t taken_ = 0;   // bytes_ before it are done with
  std::size_t scanned_ = 0; // no end of line (no NUL) before it
  std::size_t head_size_ = 0;
  part part_ = part::between;
  stomp_frame frame_;
  std::optional<std::size_t> length_; // content-length
  std::optional<base::error> failure_;
};

} // namespace siteagent::net
