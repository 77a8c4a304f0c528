// SPDX-License-Identifier: MIT
#include "core/observe/log.hpp"

#include "core/observe/tap.hpp"

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/secret.hpp"

#include <spdlog/formatter.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <fcntl.h>
#include <unistd.h>

#include <mutex>
#include <stdexcept>

namespace siteagent::observe {

namespace {

// The payload already is one JSON object: spdlog's patterns do not escape.
class line_formatter final : public spdlog::formatter {
public:
  void format(const spdlog::details::log_msg& msg, spdlog::memory_buf_t& dest) override {
    dest.append(msg.payload.data(), msg.payload.data() + msg.payload.size());
    dest.push_back('\n');
  }

  std::unique_ptr<spdlog::formatter> clone() const override {
    return std::make_unique<line_formatter>();
  }
};

std::unique_ptr<spdlog::logger> make_output(level lowest, spdlog::sink_ptr sink);

// The process's one output. Never destroyed: plugins may log until the very end.
struct output {
  std::mutex mutex; // guards the next two
  std::vector<std::string>* lines = nullptr;
  std::shared_ptr<const log_tap> tap; // shared with calls under way
  std::unique_ptr<spdlog::logger> sink =
      make_output(level::info, std::make_shared<spdlog::sinks::stdout_sink_mt>());
};

output& the_output() {
  static auto* const instance = new output;
  return *instance;
}

spdlog::level::level_enum to_spdlog(level at) {
  switch (at) {
  case level::debug:
    return spdlog::level::debug;
  case level::info:
    return spdlog::level::info;
  case level::warning:
    return spdlog::level::warn;
  case level::error:
    return spdlog::level::err;
  }
  return spdlog::level::err;
}

std::string_view name_of(level at) {
  switch (at) {
  case level::debug:
    return "debug";
  case level::info:
    return "info";
  case level::warning:
    return "warning";
  case level::error:
    return "error";
  }
  return "error";
}

std::unique_ptr<spdlog::logger> make_output(level lowest, spdlog::sink_ptr sink) {
  sink->set_formatter(std::make_unique<line_formatter>());
  auto made = std::make_unique<spdlog::logger>("site-agent", std::move(sink));
  made->set_level(to_spdlog(lowest));
  // Each line at once: a line still in a buffer when the process is killed explains nothing.
  made->flush_on(spdlog::level::debug);
  return made;
}

// spdlog creates files by the umask; a log is nobody else's business.
void create_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0) {
    throw std::runtime_error("log file " + path + " cannot be opened for writing");
  }
  ::close(fd);
}

// Values are scrubbed one by one, before JSON escapes them: a secret with a quote or a line feed
// inside is found too, and the line's own keys stay what they are.
void put(base::json& line, std::string_view key, std::string_view value) {
  std::string name(key);
  while (line.find(name) != nullptr) {
    name += '_';
  }
  line.set(name, base::global_redactor().scrub(value));
}

} // namespace

void set_up_logs(level lowest, const std::string& path) {
  spdlog::sink_ptr sink;
  if (path.empty()) {
    sink = std::make_shared<spdlog::sinks::stdout_sink_mt>();
  } else if (path == log_to_stderr) {
    sink = std::make_shared<spdlog::sinks::stderr_sink_mt>();
  } else {
    create_private(path);
    sink = std::make_shared<spdlog::sinks::basic_file_sink_mt>(path);
  }
  the_output().sink = make_output(lowest, std::move(sink));
}

void set_lowest_level(level lowest) {
  if (the_output().sink) {
    the_output().sink->set_level(to_spdlog(lowest));
  }
}

void capture_logs_for_test(std::vector<std::string>* lines) {
  const std::lock_guard lock(the_output().mutex);
  the_output().lines = lines;
}

void set_log_tap(log_tap tap) {
  auto shared = tap ? std::make_shared<const log_tap>(std::move(tap)) : nullptr;
  const std::lock_guard lock(the_output().mutex);
  the_output().tap = std::move(shared);
}

logger::logger(std::string name)
    : name_(std::move(name)),
      context_(std::make_shared<const std::vector<std::pair<std::string, std::string>>>()) {}

logger logger::with(std::string_view key, std::string value) const {
  auto extended = *context_;
  extended.emplace_back(std::string(key), std::move(value));
  logger made = *this;
  made.context_ =
      std::make_shared<const std::vector<std::pair<std::string, std::string>>>(std::move(extended));
  return made;
}

bool logger::is_enabled(level at) {
  return the_output().sink->should_log(to_spdlog(at));
}

void logger::debug(std::string_view event, std::initializer_list<field> fields) const {
  write(level::debug, event, fields);
}

void logger::info(std::string_view event, std::initializer_list<field> fields) const {
  write(level::info, event, fields);
}

void logger::warning(std::string_view event, std::initializer_list<field> fields) const {
  write(level::warning, event, fields);
}

void logger::error(std::string_view event, std::initializer_list<field> fields) const {
  write(level::error, event, fields);
}

void logger::failure(
    level at, std::string_view event, const base::error& e, std::initializer_list<field> fields
) const {
  std::vector<field> all(fields);
  all.emplace_back("error", e.message);
  all.emplace_back("error_code", base::name_of(e.code));
  if (!e.provider_code.empty()) {
    all.emplace_back("provider_code", e.provider_code);
  }
  if (!e.provider_request_id.empty()) {
    all.emplace_back("provider_request_id", e.provider_request_id);
  }
  write(at, event, all);
}

void logger::write(level at, std::string_view event, const std::vector<field>& fields) const {
  if (!is_enabled(at)) {
    return;
  }
  base::json line = base::json::object();
  line.set("event", base::global_redactor().scrub(event));
  line.set("level", name_of(at));
  line.set("logger", name_);
  line.set("timestamp", base::to_rfc3339(base::real_clock().wall(), true));
  for (const auto& [key, value] : *context_) {
    put(line, key, value);
  }
  for (const auto& [key, value] : fields) {
    put(line, key, value);
  }
  const std::string text = line.dump();
  the_output().sink->log(to_spdlog(at), spdlog::string_view_t(text.data(), text.size()));
  std::shared_ptr<const log_tap> tap;
  {
    const std::lock_guard lock(the_output().mutex);
    if (the_output().lines != nullptr) {
      the_output().lines->push_back(text);
    }
    tap = the_output().tap;
  }
  if (tap) {
    (*tap)(at, line);
  }
}

} // namespace siteagent::observe
