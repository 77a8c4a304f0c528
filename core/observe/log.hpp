// SPDX-License-Identifier: MIT
// Structured logs: one JSON object per line on stdout with the Python agent's keys (event, level,
// logger, timestamp) plus fields; every line scrubbed through base::global_redactor(). spdlog is
// behind this header. Also the audit trail of cloud writes.
#pragma once

#include "core/base/error.hpp"

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace siteagent::observe {

enum class level : std::uint8_t { debug, info, warning, error };

using field = std::pair<std::string_view, std::string>;

// A path that stands for stderr.
inline constexpr const char* log_to_stderr = "stderr:";

// Where lines go; call once, before the first line, while one thread runs. `path` "" = stdout; a
// file is opened for appending with mode 0600. Throws std::runtime_error when it cannot be opened.
// Without this call lines from `info` on go to stdout.
void set_up_logs(level lowest, const std::string& path = "");
// Changes the lowest level of what set_up_logs set up. [any thread]
void set_lowest_level(level lowest);
// Test hook: lines are also appended to *lines (caller's, must outlive the use; nullptr ends it).
void capture_logs_for_test(std::vector<std::string>* lines);

// A named source of lines with fixed fields ("offering": "My cloud", ...). Cheap to copy.
// [any thread]
class logger {
public:
  explicit logger(std::string name = "site-agent");

  logger with(std::string_view key, std::string value) const;

  // Would a line of that level be kept?
  static bool is_enabled(level at);

  void debug(std::string_view event, std::initializer_list<field> fields = {}) const;
  void info(std::string_view event, std::initializer_list<field> fields = {}) const;
  void warning(std::string_view event, std::initializer_list<field> fields = {}) const;
  void error(std::string_view event, std::initializer_list<field> fields = {}) const;
  // Adds error, error_code, provider_code, provider_request_id.
  void failure(
      level at,
      std::string_view event,
      const base::error& e,
      std::initializer_list<field> fields = {}
  ) const;

private:
  void write(level at, std::string_view event, const std::vector<field>& fields) const;

  std::string name_;
  std::shared_ptr<const std::vector<std::pair<std::string, std::string>>> context_;
};

} // namespace siteagent::observe
