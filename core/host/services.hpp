// SPDX-License-Identifier: MIT
// The host's side of sagent/services.h for one instance: log, secrets, clock.
#pragma once

#include "core/host/secrets.hpp"
#include "core/observe/log.hpp"

#include <sagent/services.h>

#include <atomic>
#include <string>

namespace siteagent::host {

class services {
public:
  services(observe::logger log, secret_store secrets);
  services(const services&) = delete;
  services& operator=(const services&) = delete;

  // What the plugin gets; valid as long as this lives. Every function in it is [any thread].
  const sagent_host* table() const { return &host_; }

  const observe::logger& log() const { return log_; }

  const secret_store& secrets() const { return secrets_; }

  // Lines longer than 16 KiB that were refused so far.
  std::uint64_t refused_lines() const { return refused_lines_; }

  void refuse_line();

private:
  sagent_host host_{};
  observe::logger log_;
  secret_store secrets_;
  std::atomic<std::uint64_t> refused_lines_{0};
};

// Marks the thread as working for this trace id, for the plugin's log lines.
class trace_scope {
public:
  explicit trace_scope(const std::string& trace_id);
  ~trace_scope();
  trace_scope(const trace_scope&) = delete;
  trace_scope& operator=(const trace_scope&) = delete;

private:
  const std::string* outer_;
};

} // namespace siteagent::host
