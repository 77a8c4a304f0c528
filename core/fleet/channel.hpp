// SPDX-License-Identifier: MIT
// The host channel: fixed commands and scripts on a registry target, over the system's ssh with the
// target's own key and pinned host key, or directly when the target is this machine.
#pragma once

#include "core/base/result.hpp"
#include "core/fleet/keys.hpp"
#include "core/fleet/registry_document.hpp"
#include "core/fleet/runner.hpp"
#include "core/fleet/surroundings.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::fleet {

struct remote_answer {
  int status = 0; // the remote program's own
  std::string output;
  std::string error_output;

  // The last non-empty line of error_output that is no notice of ssh itself, printable, at most 200
  // characters; "" when there is none. For causes.
  std::string last_error_line() const;
};

struct channel_options {
  std::chrono::milliseconds cap{120'000};
  std::stop_token stop = {};
  std::string input = {}; // run_words: for the program's standard input
  int input_fd = -1;      // instead of input
  std::function<void(std::string_view)> on_output = {}; // streamed instead of kept
  std::function<void(std::string_view)> on_error_output = {};
};

// [any thread]
class channel {
public:
  channel() = default;
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;
  virtual ~channel() = default;

  // Errors are about reaching the host, and name it: `transient` (no answer, connection lost),
  // `deadline` (cap), `cancelled`, `auth` (the key is refused), `forbidden` (the host key is not
  // the pinned one), `invalid` (kind, destination, ssh's configuration), `not_found` (no key
  // stored, no ssh program), `permanent` (an answer above 4 MiB). A remote status other than 0 is
  // no error, also 255; 127 is a program that is not there.
  //
  // One program with its words, each quoted for the remote shell.
  virtual base::result<remote_answer> run_words(
      const target& host, const std::vector<std::string>& words, const channel_options& o = {}
  ) = 0;
  // A fixed script on standard input of /bin/bash -s, with positional parameters.
  virtual base::result<remote_answer> run_script(
      const target& host,
      std::string_view script,
      const std::vector<std::string>& parameters = {},
      const channel_options& o = {}
  ) = 0;

  // SHA256 fingerprint of the host key pinned for this target; "" when none is.
  virtual base::result<std::string> pinned_host_key(const target& host) = 0;
  // Drops the pin (a deleted host). Succeeds when there is none.
  virtual base::result<void> forget_host_key(std::string_view target_name) = 0;

  // Program words that make rsync or tar speak over this channel: "ssh", options, without the
  // destination; empty when the host is this machine. `hold` must live as long as they are used.
  struct transport_words {
    std::vector<std::string> words;
    destination where;
    std::shared_ptr<const key_file> hold;
  };

  virtual base::result<transport_words> words_for_copy(const target& host) = 0;
};

// Is that target this machine: its name or one of its hostnames, short or full, without regard to
// case? Such a target is reached without ssh, whatever its destination is. A cloud host is known by
// its name only: its hostnames are what it said of itself.
bool is_this_machine(const target& host, std::string_view local_hostname);

// Over the system's ssh. Pins live in <state>/known_hosts; a cloud host whose registry entry has a
// host_key is held to that one, also on a machine that has not pinned it yet. `keys`, `programs`
// must outlive it.
std::unique_ptr<channel> make_ssh_channel(
    const fleet_keys& keys, runner& programs, folders where, std::string local_hostname
);

// For a shell: 'it'\''s'.
std::string shell_quoted(std::string_view word);
// Control characters and non-UTF-8 bytes escaped, at most `longest` characters.
std::string printable(std::string_view text, std::size_t longest = 200);

} // namespace siteagent::fleet
