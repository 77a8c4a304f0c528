// SPDX-License-Identifier: MIT
#include "state.hpp"

#include "operations.hpp"
#include "seed.hpp"
#include "state_records.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sys/file.h>
#include <unistd.h>

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
  for (const auto& [name, state] : w.offer.providers) {
    providers.set(name, state);
  }
  json registrations = json::object();
  for (const auto& [name, until] : w.registrations) {
    registrations.set(name, time_record(until));
  }
  json terms = json::array();
  for (const auto& term : w.behaviour.accepted_terms) {
    terms.push_back(term);
  }
  json lingering = json::object();
  for (const auto& [key, use] : w.lingering) {
    lingering.set(key, record_of(use));
  }
  const auto [address, mac] = w.counters();
  return json::object(
      {{"providers", providers},
       {"registrations", registrations},
       {"terms", terms},
       {"lingering", lingering},
       {"address", address},
       {"mac", mac},
       {"roles_since", time_record(w.roles_since)},
       {"clock_offset", offset.count()}}
  );
}

void take_rest(world& w, const json& r) {
  w.offer.providers.clear();
  for (const auto& [name, state] : r["providers"].members()) {
    w.offer.providers[name] = state.string_or("");
  }
  for (const auto& [name, until] : r["registrations"].members()) {
    w.registrations[name] = time_from(until);
  }
  for (const auto& term : r["terms"].items()) {
    w.behaviour.accepted_terms.insert(term.string_or(""));
  }
  for (const auto& [key, use] : r["lingering"].members()) {
    w.lingering[key] = lingering_from(use);
  }
  w.set_counters(
      static_cast<std::uint32_t>(r["address"].integer().value_or(1)),
      static_cast<std::uint32_t>(r["mac"].integer().value_or(1))
  );
}

// Every record but the resources, which are many and change one by one.
void each_small_record(
    const world& w,
    std::chrono::seconds offset,
    const std::function<bool(const std::string& key)>& is_final, // kept, and never changes again
    const std::function<void(const std::string& key, const json& record)>& visit
) {
  visit("rest", rest_of(w, offset));
  for (const auto& [key, value] : w.seeded) {
    visit("seed:" + key, value);
  }
  for (const auto& [key, g] : w.groups) {
    visit("group:" + key, record_of(g));
  }
  for (const auto& [key, op] : w.operations) {
    const bool over = op.status != operation_status::in_progress;
    if (!over || !is_final("ended:" + key)) {
      visit("operation:" + key, record_of(op));
    }
  }
  for (const auto& [key, l] : w.locks) {
    visit("lock:" + key, record_of(l));
  }
  for (const auto& [key, d] : w.deployments) {
    visit("deployment:" + key, record_of(d));
  }
  for (const auto& event : w.activity) {
    const std::string key = "event:" + event["eventDataId"].string_or("");
    if (!is_final(key)) {
      visit(key, event);
    }
  }
}

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
  while (std::getline(in, line)) {
    ++number;
    // Without its newline the last line was never finished.
    auto transaction = in.eof() ? result<json>(error{error_code::invalid, "unfinished"})
                                : json::parse(line, {128, 50'000'000});
    if (!transaction) {
      if (in.eof() || in.peek() == std::ifstream::traits_type::eof()) {
        break;
      }
      return error{
          error_code::invalid,
          "--state: " + path_ + " line " + std::to_string(number) +
              " is damaged: " + transaction.error().message};
    }
    for (const auto& [key, record] : (*transaction)["put"].members()) {
      records[key] = record;
    }
    for (const auto& key : (*transaction)["drop"].items()) {
      records.erase(key.string_or(""));
    }
  }
  if (records.empty()) {
    return false;
  }
  json settings = json::object();
  for (const auto& [key, record] : records) {
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
    } else if (kind == "event") {
      w.activity.push_back(record);
    }
  }
  const auto& rest = records["rest"];
  if (auto done = apply_settings(w, settings, time_from(rest["roles_since"])); !done) {
    return done.error();
  }
  take_rest(w, rest);
  std::sort(w.activity.begin(), w.activity.end(), [](const json& a, const json& b) {
    return a["eventTimestamp"].string_or("") < b["eventTimestamp"].string_or("");
  });
  std::sort(w.ended.begin(), w.ended.end());
  clock_offset_ = std::chrono::seconds(rest["clock_offset"].integer().value_or(0));
  if (auto done = compact(w); !done) {
    return done.error();
  }
  advance(w, now + clock_offset_);
  return true;
}

result<void> state_store::compact(const world& w) {
  std::string text;
  kept_.clear();
  const auto add = [&](const std::string& key, const json& record) {
    kept_[key] = std::hash<std::string>()(record.dump());
    text += json::object({{"put", json::object({{key, record}})}}).dump() + "\n";
  };
  each_small_record(
      w, clock_offset_, [](const std::string&) { return false; }, add
  );
  for (const auto& [key, r] : w.resources) {
    add("resource:" + key, record_of(r));
  }
  const std::string fresh = path_ + ".new";
  const int file = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0600);
  if (file < 0) {
    return failed("cannot open", fresh);
  }
  auto done = write_all(file, text, fresh);
  if (done && (::fsync(file) != 0 || ::rename(fresh.c_str(), path_.c_str()) != 0)) {
    done = failed("cannot replace", path_);
  }
  if (!done) {
    ::close(file);
    return done;
  }
  ::close(file_);
  file_ = file;
  return {};
}

result<void> state_store::append(const std::string& line) {
  // A line that could not be finished would swallow the next one: cut it off again.
  const auto before = ::lseek(file_, 0, SEEK_END);
  auto done = write_all(file_, line, path_);
  if (!done && before >= 0 && ::ftruncate(file_, before) != 0) {
    return failed("cannot repair", path_);
  }
  return done;
}

result<void> state_store::save(world& w, std::chrono::seconds clock_offset) {
  if (!is_open()) {
    return {};
  }
  clock_offset_ = clock_offset;
  json put = json::object();
  json drop = json::array();
  std::unordered_map<std::string, bool> present;
  const auto keep = [&](const std::string& key, const json& record) {
    const auto hash = std::hash<std::string>()(record.dump());
    const auto [it, is_new] = kept_.try_emplace(key, hash);
    if (is_new || it->second != hash) {
      it->second = hash;
      put.members().emplace_back(key, record); // set() would look through all of them
    }
  };
  const auto is_final = [&](const std::string& key) {
    if (key.starts_with("event:")) {
      present[key] = true;
      return kept_.count(key) != 0;
    }
    const std::string name = "operation:" + key.substr(key.find(':') + 1);
    present[name] = true;
    return !ended_.insert(name).second && kept_.count(name) != 0;
  };
  each_small_record(w, clock_offset, is_final, [&](const std::string& key, const json& record) {
    present[key] = true;
    keep(key, record);
  });
  for (auto it = kept_.begin(); it != kept_.end();) {
    const bool gone = !it->first.starts_with("resource:") && present.count(it->first) == 0;
    if (gone) {
      drop.push_back(it->first);
      ended_.erase(it->first);
    }
    it = gone ? kept_.erase(it) : std::next(it);
  }
  for (const auto& key : w.touched) { // the key of what was only looked for may be unknown
    const auto it = w.resources.find(key);
    if (it != w.resources.end()) {
      keep("resource:" + key, record_of(it->second));
    } else if (kept_.erase("resource:" + key) != 0) {
      drop.push_back("resource:" + key);
    }
  }
  w.touched.clear();
  if (put.size() == 0 && drop.size() == 0) {
    return {};
  }
  return append(json::object({{"put", put}, {"drop", drop}}).dump() + "\n");
}

result<void> state_store::clear() {
  kept_.clear();
  ended_.clear();
  clock_offset_ = std::chrono::seconds(0);
  if (is_open() && ::ftruncate(file_, 0) != 0) {
    return failed("cannot empty", path_);
  }
  return {};
}

} // namespace siteagent::azure_emulator
