// SPDX-License-Identifier: MIT
#include "core/observe/log_buffer.hpp"

#include <set>
#include <utility>

namespace siteagent::observe {

std::size_t log_buffer::cost_of(const log_record& r) {
  return sizeof(log_record) + r.logger.size() + r.message.size() + r.topic.size();
}

void log_buffer::add(log_record r) {
  r.number = next_++;
  bytes_ += cost_of(r);
  records_.push_back(std::move(r));
  while (bytes_ > limit_) {
    bytes_ -= cost_of(records_.front());
    records_.pop_front();
    ++dropped_;
  }
}

std::vector<std::string> log_buffer::topics() const {
  std::vector<std::string> out;
  std::set<std::string> seen;
  for (const log_record& r : records_) {
    if (seen.insert(r.topic).second) {
      out.push_back(r.topic);
    }
  }
  return out;
}

std::vector<log_record> log_buffer::front(const std::string& topic, std::size_t most) const {
  std::vector<log_record> out;
  for (const log_record& r : records_) {
    if (out.size() == most) {
      break;
    }
    if (r.topic == topic) {
      out.push_back(r);
    }
  }
  return out;
}

void log_buffer::remove(const std::vector<log_record>& taken) {
  auto next = records_.begin();
  for (const log_record& r : taken) {
    while (next != records_.end() && next->number < r.number) {
      ++next;
    }
    if (next != records_.end() && next->number == r.number) {
      bytes_ -= cost_of(*next);
      next = records_.erase(next);
    } else if (dropped_ > 0) {
      --dropped_;
    }
  }
}

std::uint64_t log_buffer::take_dropped() {
  return std::exchange(dropped_, 0);
}

} // namespace siteagent::observe
