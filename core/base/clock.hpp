// SPDX-License-Identifier: MIT
// Clocks that tests can move, RFC 3339 times, and calendar months in a time zone.
// Durations and deadlines: steady(). Display, billing periods and HTTP dates: wall().
#pragma once

#include <chrono>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

namespace siteagent::base {

using steady_time = std::chrono::steady_clock::time_point;
using wall_time = std::chrono::system_clock::time_point;

class clock {
public:
  clock() = default;
  clock(const clock&) = delete;
  clock& operator=(const clock&) = delete;
  virtual ~clock() = default;
  virtual steady_time steady() const = 0; // [any thread]
  virtual wall_time wall() const = 0;     // [any thread]
};

// The machine's clocks. Never destroyed.
const clock& real_clock();

// Moves only when told to. [any thread]
class manual_clock final : public clock {
public:
  explicit manual_clock(wall_time start = wall_time{std::chrono::hours(24 * 365 * 56)})
      : wall_(start) {}

  steady_time steady() const override;
  wall_time wall() const override;
  void advance(std::chrono::milliseconds by);

private:
  mutable std::mutex mutex_;
  steady_time steady_{};
  wall_time wall_;
};

// "2026-01-31T12:00:00Z", with 0 to 9 fractional digits, Z or a numeric offset. nullopt otherwise
// and outside the years 1700 to 2250 (0001 is how some servers write "never").
std::optional<wall_time> parse_rfc3339(std::string_view text);
// Always UTC with Z; milliseconds when asked.
std::string to_rfc3339(wall_time t, bool milliseconds = false);
// IMF-fixdate ("Sat, 31 Jan 2026 12:00:00 GMT"), as in Retry-After and Date. Independent of the
// locale.
std::optional<wall_time> parse_http_date(std::string_view text);
std::string to_http_date(wall_time t);

struct month {
  int year = 1970;
  unsigned number = 1; // 1..12

  month previous() const { return number == 1 ? month{year - 1, 12} : month{year, number - 1}; }

  friend bool operator==(const month&, const month&) = default;
};

// An IANA time zone.
class time_zone {
public:
  time_zone() = default; // UTC
  // nullopt: no such zone in the system's database.
  static std::optional<time_zone> find(std::string_view name);

  const std::string& name() const { return name_; }

  month month_of(wall_time t) const;
  // First instant of the month, in that zone.
  wall_time start_of(month m) const;
  // "2026-11-01T00:00:00+01:00": the first instant with the zone's offset there.
  std::string start_text(month m) const;

private:
  std::string name_ = "UTC";
};

} // namespace siteagent::base
