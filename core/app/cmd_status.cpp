// SPDX-License-Identifier: MIT
// status: what the agents on a file are doing, as they last wrote it.
#include "core/agent/board.hpp"
#include "core/app/commands.hpp"
#include "core/base/clock.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace siteagent::app {

namespace {

using base::json;

// "3 h 12 min", "4 min 5 s", "7 s"
std::string in_words(std::chrono::seconds time) {
  const auto s = std::max<std::int64_t>(time.count(), 0);
  if (s >= 86'400) {
    return std::to_string(s / 86'400) + " d " + std::to_string(s % 86'400 / 3'600) + " h";
  }
  if (s >= 3'600) {
    return std::to_string(s / 3'600) + " h " + std::to_string(s % 3'600 / 60) + " min";
  }
  if (s >= 60) {
    return std::to_string(s / 60) + " min " + std::to_string(s % 60) + " s";
  }
  return std::to_string(s) + " s";
}

// Times of a document against now.
class teller {
public:
  explicit teller(base::wall_time now) : now_(now) {}

  std::string since(const json& time) const { return told(time, "never", "for ", ""); }

  std::string ago(const json& time) const { return told(time, "never", "", " ago"); }

  std::string until(const json& time) const {
    const auto t = base::parse_rfc3339(time.string_or(""));
    if (!t) {
      return "at the next pass";
    }
    return *t <= now_ ? "now" : "in " + in_words(seconds(*t - now_));
  }

private:
  static std::chrono::seconds seconds(base::wall_time::duration d) {
    return std::chrono::duration_cast<std::chrono::seconds>(d);
  }

  std::string
  told(const json& time, const char* absent, const char* before, const char* after) const {
    const auto t = base::parse_rfc3339(time.string_or(""));
    return t ? before + in_words(seconds(now_ - *t)) + after : absent;
  }

  const base::wall_time now_;
};

std::string count(const json& n) {
  return std::to_string(n.integer().value_or(0));
}

void print_load(const char* name, const json& load) {
  std::cout << name << ' ' << count(load["running"]) << " running, " << count(load["waiting"])
            << " waiting";
}

void print_events(const json& events) {
  if (events.is_null()) {
    return;
  }
  std::cout << "    events:";
  for (const auto& [key, member] : events.members()) {
    if (!member.is_object() && !member.is_array()) {
      std::cout << ' ' << key << '=' << (member.is_string() ? member.string_or("") : member.dump());
    }
  }
  std::cout << '\n';
}

void print_mode(const json& mode, const teller& tell) {
  std::cout << "  " << mode["mode"].string_or("") << " (" << mode["plugin"].string_or("") << "): ";
  if (!mode["running_since"].is_null()) {
    std::cout << "running " << tell.since(mode["running_since"]) << "; ";
  }
  std::cout << "last success " << tell.ago(mode["last_success"]);
  if (!mode["next_pass"].is_null()) {
    std::cout << ", next pass " << tell.until(mode["next_pass"]);
  }
  std::cout << '\n';
  if (!mode["last_error"].is_null()) {
    std::cout << "    failed " << count(mode["failures_in_a_row"])
              << " time(s): " << mode["last_error"].string_or("") << '\n';
  }
  print_events(mode["events"]);
}

void print_order(const json& order, const teller& tell) {
  std::cout << "  order " << order["order"].string_or("") << ' ' << order["type"].string_or("")
            << ", resource " << order["resource"].string_or("none") << ": ";
  const std::string state = order["state"].string_or("");
  if (state == "running") {
    std::cout << order["step"].string_or("") << ", " << tell.since(order["since"]);
    if (order["throttled"].boolean().value_or(false)) {
      std::cout << "; throttled, goes on " << tell.until(order["next_attempt"]) << ": "
                << order["reason"].string_or("");
    }
    std::cout << '\n';
  } else if (state == "queued") {
    std::cout << "waits for a worker or an older order, " << tell.since(order["since"]) << '\n';
  } else {
    std::cout << "waits, next attempt " << tell.until(order["next_attempt"]);
    if (order["failures"].integer().value_or(0) > 0) {
      std::cout << " after " << count(order["failures"]) << " failure(s)";
    }
    std::cout << (order["throttled"].boolean().value_or(false) ? ", throttled" : "")
              << (order["reason"].is_null() ? "" : ": " + order["reason"].string_or("")) << '\n';
  }
}

void print_offering(const json& offering, const teller& tell) {
  std::cout << "offering " << offering["name"].string_or("") << ' '
            << offering["uuid"].string_or("");
  if (offering["retiring"].boolean().value_or(false)) {
    std::cout << ", no longer configured like this; ends what it began";
  }
  if (offering["credentials_refused"].boolean().value_or(false)) {
    std::cout << ", the cloud refuses its credentials: orders wait";
  }
  if (!offering["throttled_until"].is_null()) {
    std::cout << ", throttled; next attempt " << tell.until(offering["throttled_until"]);
  }
  const json& lease = offering["lease"];
  if (!lease.is_null()) {
    std::cout
        << (lease["held"].boolean().value_or(false)
                ? ", lease held"
                : ", lease held by " + lease["holder"].string_or("nobody"));
  }
  std::cout << '\n';
  for (const json& mode : offering["modes"].items()) {
    print_mode(mode, tell);
  }
  for (const json& order : offering["orders"].items()) {
    print_order(order, tell);
  }
}

void print(const agent::status_file& file, const teller& tell) {
  const json& d = file.document;
  std::cout << "waldur-site-agent " << d["version"].string_or("") << ", process " << count(d["pid"])
            << ", mode " << d["mode"].string_or("")
            << (file.is_alive ? ", up " : ", NOT RUNNING any more; was up ")
            << tell.since(d["started_at"]).substr(4) << ", as of " << tell.ago(d["written_at"])
            << '\n';
  print_load("orders:", d["workers"]);
  print_load("; upkeep:", d["upkeep"]);
  std::cout << '\n';
  if (!d["stuck"].is_null()) {
    std::cout << "STUCK, the heartbeat is withheld: " << d["stuck"].string_or("") << '\n';
  }
  for (const json& offering : d["offerings"].items()) {
    print_offering(offering, tell);
  }
}

} // namespace

int run_status(const command_line& line) {
  const std::vector<std::string> files = line.status_file.empty()
                                             ? agent::find_status_files(line.config_file)
                                             : std::vector<std::string>{line.status_file};
  const teller tell(base::real_clock().wall());
  json agents = json::array();
  bool is_any_alive = false;
  for (const std::string& path : files) {
    base::result<agent::status_file> read = agent::read_status(path);
    if (!read) {
      std::cerr << read.error().message << '\n';
      continue;
    }
    is_any_alive = is_any_alive || read->is_alive;
    if (line.json) {
      read->document.set("alive", read->is_alive);
      agents.push_back(std::move(read->document));
    } else {
      print(*read, tell);
    }
  }
  if (line.json) {
    std::cout << json::object({{"agents", std::move(agents)}}).pretty() << '\n';
  }
  if (!is_any_alive) {
    std::cerr << "no agent runs on " << line.config_file
              << ", or its status lies elsewhere (WALDUR_SITE_AGENT_STATUS_PATH, --status-file)\n";
  }
  return is_any_alive ? exit_fine : exit_failed;
}

} // namespace siteagent::app
