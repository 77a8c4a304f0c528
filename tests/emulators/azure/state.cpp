// SPDX-License-Identifier: MIT
#include "state.hpp"

#include "operations.hpp"
#include "seed.hpp"
#include "state_records.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace siteagent::azure_emulator {

using base::error;
using base::error_code;
using base::json;
using base::result;

namespace {

error failed(const std::string& what, const std::string& path) {
  return {error_code::permanent, "--state: " + what + " " + path + ": " + std::strerror(errno)};
}

result<void> write_all(int file, const std::string& text, const std::string& path) {
  std::size_t done = 0;
  while (done < text.size()) {
    const auto n = ::write(file, text.data() + done, text.size() - done);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n <= 0) {
      return failed("cannot write", path);
    }
    done += static_cast<std::size_t>(n);
  }
  return {};
}

// Small things that are kept together.
json rest_of(const world& w, std::chrono::seconds offset) {
  json providers = json::object();
  for (const auto& [key, state] : w.provider_states) {
    providers.set(key, state);
  }
  json registrations = json::object();
  for (const auto& [name, until] : w.registrations) {
    registrations.set(name, time_record(until));
  }
  json terms = json::array();
  for (const auto& term : w.behaviour.accepted_terms) {
    terms.push_back(term);
  }
  const auto [address, mac] = w.counters();
  return json::object(
      {{"providers", providers},
       {"registrations", registrations},
       {"terms", terms},
       {"address", address},
       {"mac", mac},
       {"roles_since", time_record(w.roles_since)},
       {"clock_offset", offset.count()}}
  );
}

void take_rest(world& w, const json& r) {
  for (const auto& [key, state] : r["providers"].members()) {
    w.provider_states[key] = state.string_or("");
  }
  for (const auto& [name, until] : r["registrations"].members()) {
    w.registrations[name] = time_from(until);
  }
  for (const auto& term : r["terms"].items()) {
    w.behaviour.accepted_terms.insert(term.string_or(""));
  }
  w.set_counters(
      static_cast<std::uint32_t>(r["address"].integer().value_or(1)),
      static_cast<std::uint32_t>(r["mac"].integer().value_or(1))
  );
}

json record_of(const json& value) {
  return value;
}

// Keys that sort as the events came.
std::string event_key(std::uint64_t number) {
  const std::string digits = std::to_string(number);
  return "event:" + std::string(20 - digits.size(), '0') + digits;
}

// The maps that note what changed, each with the word in front of its keys.
template <class World, class Visit>
void each_map(World& w, Visit visit) {
  visit("seed:", w.seeded);
  visit("group:", w.groups);
  visit("operation:", w.operations);
  visit("lock:", w.locks);
  visit("lingering:", w.lingering);
  visit("deployment:", w.deployments);
}

// A transaction with more records than this is a new log.
constexpr std::size_t most_records = 200;
// What is written at once while a log is made.
constexpr std::size_t chunk = 1 << 20;
// A log may grow to a multiple of what it was.
constexpr std::size_t least_growth = 1 << 20;

void take_operation(world& w, const json& record) {
  operation op = operation_from(record);
  const std::string key = key_of(op.id);
  if (op.status != operation_status::in_progress) {
    w.ended.emplace_back(op.ended, key);
  } else if (!op.is_stuck) {
    w.due.emplace(op.due, key);
  }
  w.operations[key] = std::move(op);
}

} // namespace

state_store::~state_store() {
  for (const int file : {file_, lock_}) {
    if (file >= 0) {
      ::close(file);
    }
  }
}

result<void> state_store::open(const std::string& directory) {
  std::error_code ec;
  std::filesystem::create_directories(directory, ec);
  const std::string guard = directory + "/lock";
  lock_ = ::open(guard.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (lock_ < 0) {
    return failed("cannot open", guard);
  }
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0) {
    return error{
        error_code::conflict, "--state: " + directory + " is in use by another emulator; end it"};
  }
  path_ = directory + "/state.jsonl";
  file_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (file_ < 0) {
    return failed("cannot open", path_);
  }
  return {};
}

result<bool> state_store::load(world& w, base::wall_time now) {
  std::ifstream in(path_);
  std::map<std::string, json> records;
  std::string line;
  std::size_t number = 0;
  std::size_t outdated = 0;
  bool is_torn = false;
  while (std::getline(in, line)) {
    ++number;
    // Without its newline the last line was never finished.
    auto transaction = in.eof() ? result<json>(error{error_code::invalid, "unfinished"})
                                : json::parse(line, {128, 50'000'000});
    if (!transaction) {
      if (in.eof() || in.peek() == std::ifstream::traits_type::eof()) {
        is_torn = true;
        break;
      }
      return error{
          error_code::invalid,
          "--state: " + path_ + " line " + std::to_string(number) +
              " is damaged: " + transaction.error().message};
    }
    size_ += line.size() + 1;
    for (auto& [key, record] : transaction->member_ref("put").members()) {
      auto& place = records[key];
      outdated += place.is_null() ? 0 : 1;
      place = std::move(record);
    }
    for (const auto& key : (*transaction)["drop"].items()) {
      outdated += records.erase(key.string_or(""));
    }
  }
  if (records.empty()) {
    if (auto done = clear(); !done) { // of half a line
      return done.error();
    }
    return false;
  }
  const bool replace = is_torn || outdated > records.size();
  if (auto done = take_records(w, records); !done) {
    return done.error();
  }
  if (replace) {
    if (auto done = compact(w); !done) {
      return done.error();
    }
  }
  compact_size_ = size_;
  events_from_ = w.first_event;
  events_to_ = w.first_event + w.activity.size();
  // What ends now ends once: it is kept before anybody sees it.
  w.track_changes();
  advance(w, now + clock_offset_);
  if (auto done = save(w, clock_offset_); !done) {
    return done.error();
  }
  return true;
}

// Each record is given up as it is taken: a large world is in memory once.
result<void> state_store::take_records(world& w, std::map<std::string, json>& records) {
  json settings = json::object();
  const json rest = std::move(records["rest"]);
  for (auto it = records.begin(); it != records.end(); it = records.erase(it)) {
    const auto& [key, record] = *it;
    kept_[key] = 0; // the text is not known; a record that is touched is written once too often
    const auto colon = key.find(':');
    const std::string kind = key.substr(0, colon);
    const std::string name = colon == std::string::npos ? std::string() : key.substr(colon + 1);
    if (kind == "seed") {
      settings.set(name, record);
    } else if (kind == "group") {
      w.groups[name] = group_from(record);
    } else if (kind == "resource") {
      w.put(resource_from(record));
    } else if (kind == "operation") {
      take_operation(w, record);
    } else if (kind == "lock") {
      w.locks[name] = lock_from(record);
    } else if (kind == "deployment") {
      w.deployments[name] = deployment_from(record);
    } else if (kind == "lingering") {
      w.lingering[name] = lingering_from(record);
    } else if (kind == "event") { // in the order of their numbers
      if (w.activity.empty()) {
        std::from_chars(name.data(), name.data() + name.size(), w.first_event);
      }
      w.activity.push_back(record);
    }
  }
  if (auto done = apply_settings(w, settings, time_from(rest["roles_since"])); !done) {
    return done;
  }
  take_rest(w, rest);
  std::sort(w.ended.begin(), w.ended.end());
  clock_offset_ = std::chrono::seconds(rest["clock_offset"].integer().value_or(0));
  return {};
}

result<void> state_store::compact(const world& w) {
  const std::string fresh = path_ + ".new";
  const int file = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) {
    return failed("cannot open", fresh);
  }
  result<void> done;
  std::string text;
  std::size_t size = 0;
  const auto flush = [&] {
    if (done && !text.empty()) {
      done = write_all(file, text, fresh);
      size += text.size();
    }
    text.clear();
  };
  kept_.clear();
  const auto add = [&](const std::string& key, const json& record) {
    const std::string body = record.dump();
    kept_[key] = std::hash<std::string>()(body);
    text += R"({"put":{)" + json(key).dump() + ":" + body + "}}\n";
    if (text.size() >= chunk) {
      flush();
    }
  };
  add("rest", rest_of(w, clock_offset_));
  each_map(w, [&](const std::string& word, const auto& map) {
    for (const auto& [key, value] : map) {
      add(word + key, record_of(value));
    }
  });
  for (std::size_t i = 0; i < w.activity.size(); ++i) {
    add(event_key(w.first_event + i), w.activity[i]);
  }
  for (const auto& [key, r] : w.resources) {
    add("resource:" + key, record_of(r));
  }
  flush();
  if (done && (::fsync(file) != 0 || ::rename(fresh.c_str(), path_.c_str()) != 0)) {
    done = failed("cannot replace", path_);
  }
  if (!done) {
    ::close(file);
    return done;
  }
  ::close(file_);
  file_ = file;
  size_ = size;
  compact_size_ = size;
  events_from_ = w.first_event;
  events_to_ = w.first_event + w.activity.size();
  return {};
}

result<void> state_store::append(const std::string& line) {
  // A line that could not be finished would swallow the next one: cut it off again.
  const auto before = ::lseek(file_, 0, SEEK_END);
  auto done = write_all(file_, line, path_);
  if (!done && before >= 0 && ::ftruncate(file_, before) != 0) {
    return failed("cannot repair", path_);
  }
  size_ += done ? line.size() : 0;
  return done;
}

result<void> state_store::save(world& w, std::chrono::seconds clock_offset) {
  if (!is_open()) {
    return {};
  }
  clock_offset_ = clock_offset;
  std::size_t touched = w.touched.size();
  each_map(w, [&](const std::string&, const auto& map) { touched += map.touched().size(); });
  if (touched > most_records) {
    auto done = compact(w);
    w.forget_touched();
    return done;
  }
  json put = json::object();
  json drop = json::array();
  const auto keep = [&](const std::string& key, const json& record) {
    const auto hash = std::hash<std::string>()(record.dump());
    const auto [it, is_new] = kept_.try_emplace(key, hash);
    if (is_new || it->second != hash) {
      it->second = hash;
      put.members().emplace_back(key, record); // set() would look through all of them
    }
  };
  const auto forget = [&](const std::string& key) {
    if (kept_.erase(key) != 0) {
      drop.push_back(key);
    }
  };
  // What was only looked for may not have changed, or may never have been there.
  const auto keep_touched = [&](const std::string& word, const auto& map, const auto& keys) {
    for (const auto& key : keys) {
      const auto it = map.find(key);
      if (it == map.end()) {
        forget(word + key);
      } else {
        keep(word + key, record_of(it->second));
      }
    }
  };
  keep("rest", rest_of(w, clock_offset));
  each_map(std::as_const(w), [&](const std::string& word, const auto& map) {
    keep_touched(word, map, map.touched());
  });
  keep_touched("resource:", std::as_const(w.resources), w.touched);
  for (; events_from_ < w.first_event; ++events_from_) {
    forget(event_key(events_from_));
  }
  const auto end = w.first_event + w.activity.size();
  for (auto i = std::max(events_to_, w.first_event); i < end; ++i) {
    keep(event_key(i), w.activity[static_cast<std::size_t>(i - w.first_event)]);
  }
  events_to_ = end;
  w.forget_touched();
  if (put.size() == 0 && drop.size() == 0) {
    return {};
  }
  auto done = append(json::object({{"put", put}, {"drop", drop}}).dump() + "\n");
  return done && size_ > 2 * compact_size_ + least_growth ? compact(w) : done;
}

result<void> state_store::clear() {
  kept_.clear();
  events_from_ = 0;
  events_to_ = 0;
  size_ = 0;
  compact_size_ = 0;
  clock_offset_ = std::chrono::seconds(0);
  if (is_open() && ::ftruncate(file_, 0) != 0) {
    return failed("cannot empty", path_);
  }
  return {};
}

} // namespace siteagent::azure_emulator
