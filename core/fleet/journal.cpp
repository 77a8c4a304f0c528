// SPDX-License-Identifier: MIT
#include "core/fleet/journal.hpp"

#include "core/base/text.hpp"
#include "core/fleet/files.hpp"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <string>

namespace siteagent::fleet {

namespace {

constexpr std::string_view ending = ".json";

std::string first_line_of(const std::string& file) {
  std::ifstream in(file);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string boot_id() {
  return first_line_of("/proc/sys/kernel/random/boot_id");
}

// Field 22 of /proc/<pid>/stat, counted behind the program's name, which may hold spaces; "" when
// there is no such process.
std::string start_ticks_of(const std::string& pid) {
  const std::string line = first_line_of("/proc/" + pid + "/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) {
    return {};
  }
  constexpr std::size_t fields_between = 20; // 3 to 22, the state being the first
  const auto fields = base::split(base::trim(std::string_view(line).substr(name_end + 1)), ' ');
  return fields.size() < fields_between ? std::string() : std::string(fields[fields_between - 1]);
}

base::json to_json(const journal_entry& e) {
  base::json objects = base::json::array();
  for (const host_object& o : e.objects) {
    objects.push_back(base::json::object({{"kind", o.kind}, {"id", o.id}}));
  }
  return base::json::object(
      {{"name", e.name},
       {"provider", e.provider},
       {"step", e.step},
       {"request", e.request},
       {"started_at", e.started_at},
       {"owner", e.owner},
       {"objects", std::move(objects)},
       {"created", e.created}}
  );
}

journal_entry from_json(std::string_view name, const base::json& j) {
  journal_entry e;
  e.name = name;
  e.provider = j["provider"].string_or("");
  e.step = static_cast<int>(j["step"].integer().value_or(0));
  e.request = j["request"];
  e.started_at = j["started_at"].string_or("");
  e.owner = j["owner"].string_or("");
  for (const base::json& o : j["objects"].items()) {
    e.objects.push_back({.kind = o["kind"].string_or(""), .id = o["id"].string_or("")});
  }
  e.created = j["created"];
  return e;
}

journal_entry read_entry(const std::string& file, std::string_view name) {
  const auto text = read_file(file);
  const auto document = base::json::parse(text ? *text : std::string());
  return from_json(name, document ? *document : base::json());
}

} // namespace

std::string process_owner() {
  const std::string pid = std::to_string(getpid());
  return "pid " + pid + " start " + start_ticks_of(pid) + " boot " + boot_id();
}

bool is_alive(std::string_view owner) {
  const auto words = base::split(owner, ' ');
  if (words.size() != 6 || words[0] != "pid" || words[2] != "start" || words[4] != "boot") {
    return false;
  }
  const bool is_number =
      !words[1].empty() &&
      std::all_of(words[1].begin(), words[1].end(), [](char c) { return c >= '0' && c <= '9'; });
  return is_number && words[5] == boot_id() && !words[3].empty() &&
         start_ticks_of(std::string(words[1])) == words[3];
}

bool journal_entry::owner_is_alive() const {
  return is_alive(owner);
}

base::result<void> journal::write(const journal_entry& e) const {
  if (auto made = make_directories(directory_); !made) {
    return made.error();
  }
  return replace_file(
      directory_ + "/" + e.name + std::string(ending), to_json(e).pretty() + "\n", mode_t{0600}
  );
}

base::result<void> journal::remove(std::string_view name) const {
  const std::string file = directory_ + "/" + std::string(name) + std::string(ending);
  std::error_code failure;
  std::filesystem::remove(file, failure);
  if (failure) {
    return base::error{
        .code = base::error_code::permanent,
        .message = "the journal " + file + " could not be removed: " + failure.message()};
  }
  return {};
}

base::result<std::optional<journal_entry>> journal::find(std::string_view name) const {
  const auto every = all();
  if (!every) {
    return every.error();
  }
  for (const journal_entry& e : *every) {
    if (e.name == name) {
      return std::optional(e);
    }
  }
  return std::optional<journal_entry>{};
}

base::result<std::vector<journal_entry>> journal::all() const {
  std::vector<journal_entry> out;
  std::error_code failure;
  std::filesystem::directory_iterator files(directory_, failure);
  if (failure == std::errc::no_such_file_or_directory) {
    return out;
  }
  for (; !failure && files != std::filesystem::directory_iterator(); files.increment(failure)) {
    const std::string file = files->path().filename().string();
    if (!file.ends_with(ending)) {
      continue;
    }
    const std::string name = file.substr(0, file.size() - ending.size());
    if (is_target_identifier(name)) {
      out.push_back(read_entry(files->path().string(), name));
    }
  }
  if (failure) {
    return base::error{
        .code = base::error_code::permanent,
        .message = "the journals in " + directory_ + " could not be listed: " + failure.message()};
  }
  std::sort(out.begin(), out.end(), [](const journal_entry& a, const journal_entry& b) {
    return a.name < b.name;
  });
  return out;
}

} // namespace siteagent::fleet
