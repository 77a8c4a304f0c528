// SPDX-License-Identifier: MIT
// A host channel that answers what a test says.
#pragma once

#include "core/base/text.hpp"
#include "core/fleet/channel.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace siteagent::fleet::test {

class scripted_channel final : public channel {
public:
  using answer = base::result<remote_answer>;

  // Gets the target's name and the words joined by spaces, or the script.
  explicit scripted_channel(
      std::function<answer(const std::string& host, const std::string& words)> say
  )
      : say_(std::move(say)) {}

  static answer said(std::string output, int status = 0, std::string error_output = "") {
    return remote_answer{
        .status = status, .output = std::move(output), .error_output = std::move(error_output)};
  }

  static answer failed(base::error_code code, std::string message = "no") {
    return base::error{.code = code, .message = std::move(message)};
  }

  answer run_words(
      const target& host, const std::vector<std::string>& words, const channel_options& o
  ) override {
    return note(host, base::join(words, " "), o);
  }

  answer run_script(
      const target& host,
      std::string_view script,
      const std::vector<std::string>&,
      const channel_options& o
  ) override {
    return note(host, std::string(script), o);
  }

  base::result<std::string> pinned_host_key(const target&) override { return std::string(); }

  base::result<void> forget_host_key(std::string_view) override { return {}; }

  base::result<transport_words> words_for_copy(const target&) override { return transport_words{}; }

  std::vector<std::string> calls; // "<host>: <words>"
  std::vector<std::chrono::milliseconds> caps;

private:
  answer note(const target& host, const std::string& words, const channel_options& o) {
    {
      const std::scoped_lock lock(mutex_);
      calls.push_back(host.name + ": " + words);
      caps.push_back(o.cap);
    }
    return say_(host.name, words);
  }

  std::function<answer(const std::string&, const std::string&)> say_;
  std::mutex mutex_;
};

} // namespace siteagent::fleet::test
