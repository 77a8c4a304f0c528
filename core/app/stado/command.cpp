// SPDX-License-Identifier: MIT
#include "core/app/stado/command.hpp"

#include "core/base/secret.hpp"

#include <algorithm>
#include <ostream>

namespace siteagent::app::stado {

namespace {

bool has_member(const base::error& e, std::string_view name) {
  const base::result<base::json> detail = base::json::parse(e.detail);
  return detail && detail->find(name) != nullptr;
}

bool status_says_later(int status) {
  constexpr int request_timeout = 408;
  constexpr int too_many_requests = 429;
  constexpr int first_server_error = 500;
  return status == request_timeout || status == too_many_requests || status >= first_server_error;
}

// Characters that people see as one column each; good enough for what the tables hold.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
  }));
}

std::string on_one_line(std::string_view text) {
  std::string out = base::global_redactor().scrub(text);
  std::replace_if(
      out.begin(),
      out.end(),
      [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; },
      ' '
  );
  return out;
}

} // namespace

int invocation::stop_signal() const {
  return signal == nullptr ? 0 : signal->load();
}

int exit_code_of(const base::error& e, const invocation& i) {
  constexpr int signal_base = 128;
  if (e.code == base::error_code::cancelled) {
    return i.stop_signal() == 0 ? exit_failure : signal_base + i.stop_signal();
  }
  if (e.code == base::error_code::conflict && has_member(e, "lost_race")) {
    return exit_lost_race;
  }
  const base::error_class kind = base::class_of(e.code);
  const bool later = kind == base::error_class::transient ||
                     kind == base::error_class::outcome_unknown ||
                     status_says_later(e.http_status) ||
                     (e.code == base::error_code::conflict && has_member(e, "held_by"));
  return later ? exit_retry_may_help : exit_failure;
}

int report_failure(const invocation& i, const base::error& e, bool json, const base::json& more) {
  const int code = exit_code_of(e, i);
  const std::string line = on_one_line(e.message);
  *i.err << "Error: " << line << std::endl;
  if (json) {
    base::json document = base::json::object(
        {{"status", "error"},
         {"error_code", base::name_of(e.code)},
         {"retryable", code == exit_retry_may_help || code == exit_lost_race},
         {"message", line}}
    );
    for (const auto& [key, value] : more.members()) {
      document.set(key, value);
    }
    print_json(i, document);
  }
  return code;
}

void print_json(const invocation& i, const base::json& document) {
  *i.out << base::global_redactor().scrub(document.pretty()) << std::endl;
}

void print_table(
    const invocation& i,
    const std::vector<std::string>& header,
    const std::vector<std::vector<std::string>>& rows
) {
  std::vector<std::size_t> widths;
  const auto measure = [&](const std::vector<std::string>& row) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t n = 0; n < row.size(); ++n) {
      widths[n] = std::max(widths[n], width_of(row[n]));
    }
  };
  const auto print = [&](const std::vector<std::string>& row) {
    std::string line;
    for (std::size_t n = 0; n < row.size(); ++n) {
      line += row[n];
      line.append(widths[n] - width_of(row[n]) + 2, ' ');
    }
    line.erase(line.find_last_not_of(' ') + 1);
    *i.out << line << '\n';
  };
  measure(header);
  std::for_each(rows.begin(), rows.end(), measure);
  *i.out << '\n';
  print(header);
  std::for_each(rows.begin(), rows.end(), print);
  i.out->flush();
}

} // namespace siteagent::app::stado
