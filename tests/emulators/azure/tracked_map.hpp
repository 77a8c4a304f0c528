// SPDX-License-Identifier: MIT
// A map that knows which of its elements may have changed, for a state kept on disk.
#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace siteagent::azure_emulator {

// Whatever hands out a reference that can be written through notes the key; going through all
// elements is for readers only. Nothing is noted unless track() was called.
template <class Value>
class tracked_map {
public:
  using map = std::map<std::string, Value>;
  using iterator = typename map::iterator;
  using const_iterator = typename map::const_iterator;

  const_iterator begin() const { return map_.begin(); }

  const_iterator end() const { return map_.end(); }

  iterator end() { return map_.end(); }

  iterator find(const std::string& key) {
    touch(key);
    return map_.find(key);
  }

  const_iterator find(const std::string& key) const { return map_.find(key); }

  Value& operator[](const std::string& key) {
    touch(key);
    return map_[key];
  }

  const Value& at(const std::string& key) const { return map_.at(key); }

  std::size_t count(const std::string& key) const { return map_.count(key); }

  std::size_t size() const { return map_.size(); }

  bool empty() const { return map_.empty(); }

  iterator erase(const_iterator it) {
    touch(it->first);
    return map_.erase(it);
  }

  void clear() {
    for (const auto& [key, value] : map_) {
      touch(key);
    }
    map_.clear();
  }

  void track() { tracks_ = true; }

  // Keys of what may be new, other than it was, or gone.
  const std::set<std::string>& touched() const { return touched_; }

  void forget_touched() { touched_.clear(); }

private:
  void touch(const std::string& key) {
    if (tracks_) {
      touched_.insert(key);
    }
  }

  map map_;
  std::set<std::string> touched_;
  bool tracks_ = false;
};

} // namespace siteagent::azure_emulator
