// SPDX-License-Identifier: MIT
#include "core/host/services.hpp"

#include "core/base/clock.hpp"

#include <cstring>

namespace siteagent::host {

namespace {

constexpr std::uint64_t longest_line = 16 * 1024;
constexpr std::uint64_t shortest_secret = 8;

thread_local const std::string* current_trace = nullptr;

services& of(const sagent_host* host) {
  return *static_cast<services*>(host->host_data);
}

observe::level to_level(std::int32_t level) {
  if (level >= SAGENT_LOG_ERROR) {
    return observe::level::error;
  }
  if (level == SAGENT_LOG_WARNING) {
    return observe::level::warning;
  }
  return level == SAGENT_LOG_INFO ? observe::level::info : observe::level::debug;
}

void write_line(const observe::logger& log, observe::level at, std::string_view text) {
  switch (at) {
  case observe::level::debug:
    return log.debug(text);
  case observe::level::info:
    return log.info(text);
  case observe::level::warning:
    return log.warning(text);
  case observe::level::error:
    return log.error(text);
  }
}

// No exception may cross a callback: a lost line is the smaller evil.
void log_line(const sagent_host* host, std::int32_t level, const char* text, std::uint64_t len) {
  try {
    if (host == nullptr || (text == nullptr && len > 0)) {
      return;
    }
    if (len > longest_line) {
      of(host).refuse_line();
      return;
    }
    const std::string_view line = len == 0 ? std::string_view() : std::string_view(text, len);
    if (current_trace != nullptr) {
      write_line(of(host).log().with("trace_id", *current_trace), to_level(level), line);
    } else {
      write_line(of(host).log(), to_level(level), line);
    }
  } catch (...) { // NOLINT(bugprone-empty-catch)
  }
}

std::int32_t is_level_enabled(const sagent_host*, std::int32_t level) {
  return observe::logger::is_enabled(to_level(level)) ? 1 : 0;
}

sagent_code get_secret(
    const sagent_host* host,
    const char* reference,
    std::uint64_t len,
    sagent_secret_sink sink,
    void* ctx
) {
  try {
    if (host == nullptr || reference == nullptr || sink == nullptr) {
      return SAGENT_E_INVALID;
    }
    auto value = of(host).secrets().read(std::string_view(reference, len));
    if (!value) {
      of(host).log().failure(
          observe::level::warning, "a secret of the settings cannot be read", value.error()
      );
      return static_cast<sagent_code>(value.error().code);
    }
    const std::string_view bytes = value->reveal();
    sink(ctx, bytes.data(), bytes.size());
    return SAGENT_OK;
  } catch (...) {
    return SAGENT_E_TRANSIENT;
  }
}

void protect_secret(const sagent_host*, const char* bytes, std::uint64_t len) {
  try {
    if (bytes != nullptr && len >= shortest_secret) {
      base::global_redactor().protect(std::string_view(bytes, len));
    }
  } catch (...) { // NOLINT(bugprone-empty-catch)
  }
}

template <class Duration>
std::int64_t in_ms(Duration d) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
}

std::int64_t unix_ms(const sagent_host*) {
  return in_ms(base::real_clock().wall().time_since_epoch());
}

std::int64_t mono_ms(const sagent_host*) {
  return in_ms(base::real_clock().steady().time_since_epoch());
}

constexpr sagent_log_service log_table = {
    sizeof(sagent_log_service), 0, &log_line, &is_level_enabled};
constexpr sagent_secrets_service secrets_table = {
    sizeof(sagent_secrets_service), 0, &get_secret, &protect_secret};
constexpr sagent_clock_service clock_table = {sizeof(sagent_clock_service), 0, &unix_ms, &mono_ms};

const void* get_service(const sagent_host*, const char* id) {
  if (id == nullptr) {
    return nullptr;
  }
  if (std::strcmp(id, SAGENT_SERVICE_LOG) == 0) {
    return &log_table;
  }
  if (std::strcmp(id, SAGENT_SERVICE_SECRETS) == 0) {
    return &secrets_table;
  }
  return std::strcmp(id, SAGENT_SERVICE_CLOCK) == 0 ? &clock_table : nullptr;
}

} // namespace

services::services(observe::logger log, secret_store secrets)
    : log_(std::move(log)), secrets_(std::move(secrets)) {
  host_.struct_size = sizeof host_;
  host_.abi_minor = SAGENT_ABI_MINOR;
  host_.host_data = this;
  host_.get_service = &get_service;
}

void services::refuse_line() {
  const std::uint64_t count = ++refused_lines_;
  log_.warning(
      "the plugin wrote a log line longer than 16 KiB; it was refused",
      {{"refused_lines", std::to_string(count)}}
  );
}

trace_scope::trace_scope(const std::string& trace_id) : outer_(current_trace) {
  current_trace = &trace_id;
}

trace_scope::~trace_scope() {
  current_trace = outer_;
}

} // namespace siteagent::host
