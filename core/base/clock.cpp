// SPDX-License-Identifier: MIT
#include "core/base/clock.hpp"

#include <date/tz.h>

#include <array>
#include <cstdio>

namespace siteagent::base {

namespace {

class machine_clock final : public clock {
public:
  steady_time steady() const override { return std::chrono::steady_clock::now(); }

  wall_time wall() const override { return std::chrono::system_clock::now(); }
};

constexpr std::array<std::string_view, 7> weekdays = {
    "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> months = {
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

// Reads exactly `count` digits at `at` and moves on; -1 when they are not there.
int digits(std::string_view text, std::size_t& at, std::size_t count) {
  if (at + count > text.size()) {
    return -1;
  }
  int value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const char c = text[at + i];
    if (c < '0' || c > '9') {
      return -1;
    }
    value = value * 10 + (c - '0');
  }
  at += count;
  return value;
}

bool literal(std::string_view text, std::size_t& at, char c) {
  if (at < text.size() && text[at] == c) {
    ++at;
    return true;
  }
  return false;
}

std::optional<wall_time> compose(int y, int mo, int d, int h, int mi, int s) {
  if (y < 1700 || y > 2250) {
    return std::nullopt; // the clock counts nanoseconds and ends at 1678 and 2262
  }
  const date::year_month_day ymd{
      date::year(y), date::month(static_cast<unsigned>(mo)), date::day(static_cast<unsigned>(d))};
  if (mo < 1 || d < 1 || !ymd.ok() || h < 0 || h > 23 || mi < 0 || mi > 59 || s < 0 || s > 60) {
    return std::nullopt;
  }
  return wall_time(
      date::sys_days(ymd) + std::chrono::hours(h) + std::chrono::minutes(mi) +
      std::chrono::seconds(s)
  );
}

struct civil {
  date::year_month_day day;
  int hour = 0;
  int minute = 0;
  int second = 0;
  int millisecond = 0;
  unsigned weekday = 0;
};

civil civil_of(wall_time t) {
  const auto days = date::floor<date::days>(t);
  const auto rest = std::chrono::duration_cast<std::chrono::milliseconds>(t - days).count();
  return {
      date::year_month_day(days),
      static_cast<int>(rest / 3'600'000),
      static_cast<int>(rest / 60'000 % 60),
      static_cast<int>(rest / 1'000 % 60),
      static_cast<int>(rest % 1'000),
      date::weekday(days).c_encoding()};
}

const date::time_zone* zone(const std::string& name) {
  return date::locate_zone(name);
}

} // namespace

const clock& real_clock() {
  static const auto* the_clock = new machine_clock; // never destroyed: used until the last thread
  return *the_clock;
}

steady_time manual_clock::steady() const {
  const std::lock_guard lock(mutex_);
  return steady_;
}

wall_time manual_clock::wall() const {
  const std::lock_guard lock(mutex_);
  return wall_;
}

void manual_clock::advance(std::chrono::milliseconds by) {
  const std::lock_guard lock(mutex_);
  steady_ += by;
  wall_ += by;
}

std::optional<wall_time> parse_rfc3339(std::string_view text) {
  std::size_t at = 0;
  const int y = digits(text, at, 4);
  const bool date_ok = y >= 0 && literal(text, at, '-');
  const int mo = date_ok ? digits(text, at, 2) : -1;
  const int d = literal(text, at, '-') ? digits(text, at, 2) : -1;
  if (d < 0 || at >= text.size() || (text[at] != 'T' && text[at] != 't' && text[at] != ' ')) {
    return std::nullopt;
  }
  ++at;
  const int h = digits(text, at, 2);
  const int mi = literal(text, at, ':') ? digits(text, at, 2) : -1;
  const int s = literal(text, at, ':') ? digits(text, at, 2) : -1;
  auto t = compose(y, mo, d, h, mi, s);
  if (!t) {
    return std::nullopt;
  }
  if (literal(text, at, '.')) {
    std::int64_t nanos = 0;
    std::size_t count = 0;
    while (at < text.size() && text[at] >= '0' && text[at] <= '9' && count < 9) {
      nanos = nanos * 10 + (text[at] - '0');
      ++at;
      ++count;
    }
    if (count == 0) {
      return std::nullopt;
    }
    for (; count < 9; ++count) {
      nanos *= 10;
    }
    *t += std::chrono::duration_cast<wall_time::duration>(std::chrono::nanoseconds(nanos));
  }
  if (at + 1 == text.size() && (text[at] == 'Z' || text[at] == 'z')) {
    return t;
  }
  if (at >= text.size() || (text[at] != '+' && text[at] != '-')) {
    return std::nullopt;
  }
  const bool east = text[at++] == '+';
  const int oh = digits(text, at, 2);
  literal(text, at, ':');
  const int om = digits(text, at, 2);
  if (oh < 0 || oh > 23 || om < 0 || om > 59 || at != text.size()) {
    return std::nullopt;
  }
  const auto offset = std::chrono::hours(oh) + std::chrono::minutes(om);
  return east ? *t - offset : *t + offset;
}

std::string to_rfc3339(wall_time t, bool milliseconds) {
  const civil c = civil_of(t);
  std::array<char, 64> text{};
  const int n = std::snprintf(
      text.data(),
      text.size(),
      "%04d-%02u-%02uT%02d:%02d:%02d",
      static_cast<int>(c.day.year()),
      static_cast<unsigned>(c.day.month()),
      static_cast<unsigned>(c.day.day()),
      c.hour,
      c.minute,
      c.second
  );
  std::string out(text.data(), static_cast<std::size_t>(n));
  if (milliseconds) {
    std::snprintf(text.data(), text.size(), ".%03d", c.millisecond);
    out += text.data();
  }
  return out + "Z";
}

std::optional<wall_time> parse_http_date(std::string_view text) {
  // Sun, 06 Nov 1994 08:49:37 GMT
  if (text.size() != 29 || text.substr(3, 2) != ", " || text.substr(25) != " GMT") {
    return std::nullopt;
  }
  std::size_t at = 5;
  const int d = digits(text, at, 2);
  int mo = -1;
  for (std::size_t i = 0; i < months.size(); ++i) {
    if (text.substr(8, 3) == months[i]) {
      mo = static_cast<int>(i) + 1;
    }
  }
  at = 12;
  const int y = digits(text, at, 4);
  at = 17;
  const int h = digits(text, at, 2);
  const int mi = literal(text, at, ':') ? digits(text, at, 2) : -1;
  const int s = literal(text, at, ':') ? digits(text, at, 2) : -1;
  return compose(y, mo, d, h, mi, s);
}

std::string to_http_date(wall_time t) {
  const civil c = civil_of(t);
  std::array<char, 64> text{};
  const int n = std::snprintf(
      text.data(),
      text.size(),
      "%s, %02u %s %04d %02d:%02d:%02d GMT",
      weekdays[c.weekday].data(),
      static_cast<unsigned>(c.day.day()),
      months[static_cast<unsigned>(c.day.month()) - 1].data(),
      static_cast<int>(c.day.year()),
      c.hour,
      c.minute,
      c.second
  );
  return {text.data(), static_cast<std::size_t>(n)};
}

std::optional<time_zone> time_zone::find(std::string_view name) {
  time_zone z;
  z.name_ = name;
  try {
    (void)zone(z.name_);
  } catch (const std::exception&) {
    return std::nullopt;
  }
  return z;
}

month time_zone::month_of(wall_time t) const {
  const auto local = date::make_zoned(zone(name_), t).get_local_time();
  const date::year_month_day ymd(date::floor<date::days>(local));
  return {static_cast<int>(ymd.year()), static_cast<unsigned>(ymd.month())};
}

wall_time time_zone::start_of(month m) const {
  const date::local_days first(date::year(m.year) / date::month(m.number) / 1);
  return date::make_zoned(zone(name_), first, date::choose::earliest).get_sys_time();
}

std::string time_zone::start_text(month m) const {
  const auto info =
      zone(name_)->get_info(std::chrono::time_point_cast<std::chrono::seconds>(start_of(m)));
  const auto minutes = std::chrono::duration_cast<std::chrono::minutes>(info.offset).count();
  std::array<char, 64> text{};
  const int n = std::snprintf(
      text.data(),
      text.size(),
      "%04d-%02u-01T00:00:00%c%02d:%02d",
      m.year,
      m.number,
      minutes < 0 ? '-' : '+',
      static_cast<int>((minutes < 0 ? -minutes : minutes) / 60),
      static_cast<int>((minutes < 0 ? -minutes : minutes) % 60)
  );
  return {text.data(), static_cast<std::size_t>(n)};
}

} // namespace siteagent::base
