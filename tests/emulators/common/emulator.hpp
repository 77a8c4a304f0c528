// SPDX-License-Identifier: MIT
// The frame around an emulator: command line, listening, journal, fault script, admin endpoints,
// clock. An emulator derives from `backend` and its main() is one call of run().
//
//   class azure final : public emulators::backend { ... };
//   int main(int argc, char** argv) { azure a; return emulators::run(a, argc, argv); }
//
// Threads: the frame calls every hook of a backend under one mutex, so a backend needs no lock and
// must not block. What a hook throws becomes a 500 and a line on stderr.
#pragma once

#include "core/base/clock.hpp"
#include "core/base/json.hpp"
#include "core/base/result.hpp"
#include "core/net/server.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace siteagent::emulators {

// A fault rule {"operation": ..., "code": ...} that fires for this request. The frame only matches;
// the emulator lets the long-running operation which this request starts end that way.
struct operation_fault {
  enum class outcome_kind : std::uint8_t { failed, canceled, stuck };
  outcome_kind outcome = outcome_kind::failed;
  std::string code; // the remote side's error code; "" = the emulator's choice
};

// A header by which an answer leaves a note in the "fault" of its journal line, for what an
// emulator refuses because a client should never do it. The frame takes it off the answer.
inline constexpr std::string_view note_header = "x-emu-note";

// What the frame knows about the request being handled.
struct call {
  // Scheme, host name of the Host header and the listening port, or --public-url; no slash at the
  // end. For every absolute URL in an answer.
  std::string base_url;
  std::string request_id;                     // dashed random uuid, also in the journal
  base::wall_time now;                        // the emulator's clock
  const operation_fault* operation = nullptr; // valid during the call; nullptr: none
  // How far the clock that tokens go by is ahead for this request; operations go by `now`.
  std::chrono::seconds skew{0};
};

// An option of one emulator beyond those of the frame.
struct option {
  std::string name;        // "--timing"
  std::string placeholder; // "MODE"; "" = a switch without value (apply gets "")
  std::string help;        // one line
  // Takes the value, or says what is wrong with it in a few words that follow the option's name.
  // Never empty.
  std::function<base::result<void>(std::string_view value)> apply;
};

class backend {
public:
  backend() = default;
  backend(const backend&) = delete;
  backend& operator=(const backend&) = delete;
  virtual ~backend() = default;

  virtual std::string name() const = 0; // the program's name

  virtual std::vector<option> options() { return {}; }

  // Called once, after the options and before anything else: the emulator's clock, which lives
  // as long as the frame. It runs with the machine's and is moved by POST /_emu/clock.
  virtual void attach_clock(const base::clock& clock) = 0;

  // Back to the state of a fresh start without a seed. Called at start too; the frame then applies
  // the seed of the command line. An emulator that keeps its state on disk drops it here unless
  // `at_start` is true, when it loads it instead.
  virtual base::result<void> reset(bool at_start) = 0;
  // Each key given replaces what is there under that key; everything else stays. Unknown keys and
  // wrong values are errors and change nothing. A persisted state loaded at start is not seeded
  // again by the command line: has_loaded_state() tells the frame.
  virtual base::result<void> seed(const base::json& document) = 0;

  virtual bool has_loaded_state() const { return false; }

  // How far the clock had been moved when that state was kept; the frame moves it there again.
  virtual std::chrono::seconds loaded_clock_offset() const { return std::chrono::seconds(0); }

  // Every object as its GET shows it.
  virtual base::json inventory(const call& c) = 0;

  // An admin call of this emulator alone: `name` is what follows /_emu/ of a POST, `body` its JSON.
  // nullopt: there is none of that name.
  virtual std::optional<net::server_response>
  administrate(std::string_view name, const base::json& body, const call& c) {
    static_cast<void>(name);
    static_cast<void>(body);
    static_cast<void>(c);
    return std::nullopt;
  }

  // POST /_emu/clock moved the clock.
  virtual void clock_advanced() {}

  // Lines printed at start, after the address: what a user needs to talk to it.
  virtual std::vector<std::string> banner() const = 0;

  // Whether fault rules with "operation" make sense here; else such a script is refused.
  virtual bool takes_operation_faults() const { return false; }

  // One request outside /_emu/. An answer that has to wait for something sets `delay` and `resume`:
  // `resume` is called after the delay, under the mutex too, and may again return such an answer.
  virtual net::server_response handle(const net::server_request& request, const call& c) = 0;

  // Last touch on every answer, made by handle or by a fault script: headers that each answer of
  // this service carries. Must not replace headers that are already there.
  virtual void
  finish(const net::server_request& request, const call& c, net::server_response& response) {
    static_cast<void>(request);
    static_cast<void>(c);
    static_cast<void>(response);
  }
};

struct frame_options {
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;
  std::string port_file;  // "" = none
  std::string public_url; // "" = from the Host header
  std::string tls_certificate_file;
  std::string tls_key_file;
  std::string tls_auto_directory; // "" = none
  std::string seed_file;
  std::string faults_file;
  std::string journal_file;
};

// A running emulator, also inside a test program.
class frame {
public:
  // `b` must outlive the frame. Errors name the option at fault.
  static base::result<std::unique_ptr<frame>> start(backend& b, frame_options options);
  ~frame();
  frame(const frame&) = delete;
  frame& operator=(const frame&) = delete;

  std::uint16_t port() const;
  std::string url() const;                        // "http://127.0.0.1:43117", no slash at the end
  const std::vector<std::string>& banner() const; // as it was before the first request
  void stop();

private:
  struct impl;
  explicit frame(std::unique_ptr<impl> i);
  std::unique_ptr<impl> impl_;
};

// A whole program: options, start, banner, wait for SIGTERM or SIGINT (exit 0). 2: usage, 1: could
// not start; the reason is on stderr.
int run(backend& b, int argc, char** argv);

// An answer with a JSON body and "application/json".
net::server_response json_response(int status, const base::json& body);

} // namespace siteagent::emulators
