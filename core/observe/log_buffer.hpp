// SPDX-License-Identifier: MIT
// Log records that wait for shipping: bounded, the oldest go first.
#pragma once

#include "core/base/clock.hpp"
#include "core/observe/log.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <vector>

namespace siteagent::observe {

struct log_record {
  base::wall_time time;
  level at = level::info;
  std::string logger;
  std::string message; // one line, at most 4 KiB
  std::string topic;   // the offering's name; "" = about none
  std::uint64_t number = 0;
};

// [one thread at a time]
class log_buffer {
public:
  explicit log_buffer(std::size_t bytes) : limit_(bytes) {}

  // Makes room by dropping the oldest.
  void add(log_record r);

  // Topics with records, those that have waited longest first.
  std::vector<std::string> topics() const;
  // The oldest of a topic; they stay.
  std::vector<log_record> front(const std::string& topic, std::size_t most) const;
  // Removes what front() gave, which has arrived: what was dropped meanwhile is no loss after all.
  void remove(const std::vector<log_record>& taken);

  // Records dropped since the last call.
  std::uint64_t take_dropped();

  std::size_t size() const { return records_.size(); }

private:
  static std::size_t cost_of(const log_record& r);

  const std::size_t limit_;
  std::size_t bytes_ = 0;
  std::uint64_t next_ = 1;
  std::uint64_t dropped_ = 0;
  std::list<log_record> records_; // by number
};

} // namespace siteagent::observe
