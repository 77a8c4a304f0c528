// SPDX-License-Identifier: MIT
// The journal: one JSON line per answered request, written before the answer leaves, so that a
// client that has its answer finds the line.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/result.hpp"

#include <cstdint>
#include <fstream>
#include <mutex>
#include <string>
#include <string_view>

namespace siteagent::emulators {

// SHA-256 as 64 lower-case hex digits.
std::string sha256_hex(std::string_view bytes);

struct journal_entry {
  base::wall_time time;
  std::string_view method;
  std::string_view path;
  std::string_view query;
  int status = 0; // 0: cut or never answered
  std::string_view request_id;
  std::string_view body;  // of the request; only its digest is written
  std::string_view fault; // "" = none
};

// [any thread]
class journal {
public:
  // "" keeps no journal. An existing file is continued, and its numbering too.
  base::result<void> open(const std::string& file);
  void write(const journal_entry& e);

private:
  std::mutex mutex_;
  std::ofstream out_;
  std::uint64_t seq_ = 0;
};

} // namespace siteagent::emulators
