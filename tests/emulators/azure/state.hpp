// SPDX-License-Identifier: MIT
// The world on disk: one log of changes, written before the answer that made them leaves.
//
// A line is one transaction, {"put": {key: record}, "drop": [key]}, appended with a single write.
// What a kill left half written is the last line and is ignored; reading back applies the others
// in order. The log is replaced, by rename, by one that holds the present only: when it has
// outgrown it, and instead of a transaction as large as a seed. So what is written at once and what
// is held in memory for it stay small, however large the world is.
#pragma once

#include "world.hpp"

#include "core/base/result.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>

namespace siteagent::azure_emulator {

class state_store {
public:
  state_store() = default;
  state_store(const state_store&) = delete;
  state_store& operator=(const state_store&) = delete;
  ~state_store();

  // Takes the directory, makes it if need be and keeps other processes out.
  base::result<void> open(const std::string& directory);

  bool is_open() const { return file_ >= 0; }

  // Reads what is kept into a fresh world, ends what is due by now, and has the world note its
  // changes from here on. False: there is nothing.
  base::result<bool> load(world& w, base::wall_time now);
  // Writes what the world's maps noted since the last call, and nothing else; the world forgets
  // its notes. `clock_offset` is how far the clock was moved.
  base::result<void> save(world& w, std::chrono::seconds clock_offset);
  // Forgets everything kept.
  base::result<void> clear();

  // Of what load() read.
  std::chrono::seconds clock_offset() const { return clock_offset_; }

private:
  base::result<void> append(const std::string& line);
  base::result<void> take_records(world& w, std::map<std::string, base::json>& records);
  base::result<void> compact(const world& w);

  int file_ = -1;
  int lock_ = -1;
  std::string path_;
  std::chrono::seconds clock_offset_{0};
  std::unordered_map<std::string, std::size_t> kept_; // key of a record -> hash of its text
  std::uint64_t events_from_ = 0;                     // numbers of the events kept
  std::uint64_t events_to_ = 0;                       // one behind the last
  std::size_t size_ = 0;                              // of the log
  std::size_t compact_size_ = 0;                      // when it was replaced last
};

} // namespace siteagent::azure_emulator
