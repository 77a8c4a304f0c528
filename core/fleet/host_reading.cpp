// SPDX-License-Identifier: MIT
// What stands on a host, and the marker of who returns it.
#include "core/base/text.hpp"
#include "core/fleet/run_scripts.hpp"
#include "core/fleet/runs.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace siteagent::fleet {

namespace {

using base::error;
using base::error_code;
using base::result;

constexpr std::string_view line_mark = "STADO_CLOUD_HOST\t";
constexpr std::chrono::milliseconds reading_cap{60'000};
constexpr int status_not_yours = 4;
constexpr int status_live = 5;

error unreadable(std::string why) {
  return {.code = error_code::permanent, .message = std::move(why)};
}

std::optional<std::int64_t> count_of(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool is_whole = failed == std::errc() && end == text.data() + text.size() && number >= 0;
  return is_whole ? std::optional(number) : std::nullopt;
}

// Collects the lines; each kind once, but for runs.
class reading_parser {
public:
  bool take(const std::vector<std::string_view>& fields) {
    if (ended_) {
      return false;
    }
    if (fields.size() == 1) {
      ended_ = fields[0] == "end";
      return ended_;
    }
    return fields.size() == 2 ? take_value(fields[0], fields[1]) : take_named(fields);
  }

  std::optional<host_reading> finish() const {
    return ended_ && has_now_ && has_changed_ && has_cargo_ && has_rustc_ && has_booting_
               ? std::optional(reading_)
               : std::nullopt;
  }

private:
  static bool first_time(bool& has) { return !std::exchange(has, true); }

  bool take_value(std::string_view key, std::string_view value) {
    if (key == "changed" && value == "none") {
      return first_time(has_changed_);
    }
    constexpr std::int64_t end_of_9999 = 253'402'300'799; // times beyond it have no text
    const auto number = count_of(value);
    if (!number || *number > end_of_9999) {
      return false;
    }
    if (key == "now") {
      reading_.now = *number;
      return first_time(has_now_);
    }
    if (key == "changed") {
      reading_.changed = *number;
      return first_time(has_changed_);
    }
    if (key == "booting") {
      reading_.is_booting = *number != 0;
      return first_time(has_booting_);
    }
    return false;
  }

  bool take_named(const std::vector<std::string_view>& fields) {
    if (fields.size() != 3) {
      return false;
    }
    if (fields[0] == "run") {
      reading_.runs.push_back({printable(fields[1], 64), std::string(fields[2])});
      constexpr std::array<std::string_view, 4> states{"live", "dead", "unknown", "kept"};
      return std::find(states.begin(), states.end(), fields[2]) != states.end();
    }
    const auto number = count_of(fields[2]);
    if (fields[0] != "process" || !number) {
      return false;
    }
    if (fields[1] == "cargo") {
      reading_.cargo = *number;
      return first_time(has_cargo_);
    }
    reading_.rustc = *number;
    return fields[1] == "rustc" && first_time(has_rustc_);
  }

  host_reading reading_;
  bool has_now_ = false;
  bool has_changed_ = false;
  bool has_cargo_ = false;
  bool has_rustc_ = false;
  bool has_booting_ = false;
  bool ended_ = false;
};

// Why a script of ours failed, in one clause.
std::string said_by(const remote_answer& a) {
  const std::string line = a.last_error_line();
  return line.empty() ? "status " + std::to_string(a.status) : line;
}

} // namespace

bool host_reading::is_busy() const {
  return cargo > 0 || rustc > 0 ||
         std::any_of(runs.begin(), runs.end(), [](const auto& run) { return run.state != "dead"; });
}

result<host_reading> parse_host_reading(std::string_view output) {
  reading_parser parser;
  for (std::string_view line : base::split(output, '\n')) {
    if (!line.starts_with(line_mark)) {
      continue; // what a login shell's profile prints
    }
    line.remove_prefix(line_mark.size());
    if (!parser.take(base::split(line, '\t'))) {
      return unreadable("the host's answer has a line that says nothing: " + printable(line, 80));
    }
  }
  auto reading = parser.finish();
  if (!reading) {
    return unreadable("the host's answer is not whole");
  }
  return *std::move(reading);
}

result<host_reading> read_host(channel& c, const target& host, const channel_options& o) {
  channel_options bounded = o;
  if (o.cap == channel_options{}.cap) {
    bounded.cap = reading_cap;
  }
  const auto answer = c.run_script(host, reading_script(), {}, bounded);
  if (!answer) {
    return answer.error();
  }
  if (answer->status != 0) {
    return unreadable(host.name + ": its runs cannot be read: " + said_by(*answer));
  }
  auto reading = parse_host_reading(answer->output);
  return reading ? reading : base::with_context(reading.error(), host.name);
}

result<void> set_returning_marker(
    channel& c,
    const target& host,
    std::string_view owner,
    std::chrono::seconds stale,
    std::stop_token stop
) {
  channel_options o;
  o.stop = std::move(stop);
  const auto answer =
      c.run_script(host, set_marker_script(), {printable(owner), std::to_string(stale.count())}, o);
  if (!answer) {
    return answer.error();
  }
  if (answer->status == status_not_yours) {
    const std::string who = answer->last_error_line();
    return error{
        .code = error_code::conflict,
        .message = "another reaper holds it" + (who.empty() ? "" : " (" + who + ")")};
  }
  if (answer->status != 0) {
    return error{
        .code = error_code::refused,
        .message = host.name + ": it cannot be marked as being returned: " + said_by(*answer)};
  }
  return {};
}

result<void> clear_returning_marker(channel& c, const target& host, std::stop_token stop) {
  channel_options o;
  o.stop = std::move(stop);
  const auto answer = c.run_script(host, clear_marker_script(), {}, o);
  if (!answer) {
    return answer.error();
  }
  if (answer->status != 0) {
    return error{
        .code = error_code::refused,
        .message = host.name + ": the mark of being returned stays: " + said_by(*answer)};
  }
  return {};
}

result<void>
remove_run(channel& c, const target& host, std::string_view run, std::stop_token stop) {
  const bool is_name = !run.empty() && run != "." && run != ".." &&
                       run.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos;
  if (!is_name) {
    return error{
        .code = error_code::invalid,
        .message = "'" + printable(run, 80) + "' cannot be the name of a run"};
  }
  channel_options o;
  o.cap = std::chrono::minutes(10); // a big tree
  o.stop = std::move(stop);
  const auto answer = c.run_script(host, remove_run_script(), {std::string(run)}, o);
  if (!answer) {
    return answer.error();
  }
  const std::string what = host.name + ": run " + printable(run, 64);
  if (answer->status == status_not_yours) {
    std::vector<std::string> standing;
    for (const std::string_view line : base::split(base::trim(answer->output), '\n')) {
      if (!line.empty()) {
        standing.push_back(printable(line, 64));
      }
    }
    return error{
        .code = error_code::not_found,
        .message = what + " does not stand there (there " +
                   (standing.empty() ? "is none" : "are: " + base::join(standing, ", ")) + ")"};
  }
  if (answer->status == status_live) {
    return error{
        .code = error_code::refused, .message = what + " still runs; end its client first"};
  }
  if (answer->status != 0) {
    return error{
        .code = error_code::permanent, .message = what + " was not removed: " + said_by(*answer)};
  }
  return {};
}

} // namespace siteagent::fleet
