// SPDX-License-Identifier: MIT
// The running frame: every request passes the admin endpoints, the fault script, the emulator and
// the journal, in that order, under one mutex.
#include "core/base/text.hpp"
#include "core/base/uuid.hpp"
#include "emulator.hpp"
#include "faults.hpp"
#include "journal.hpp"
#include "shifted_clock.hpp"
#include "tls.hpp"

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <mutex>
#include <optional>
#include <utility>

namespace siteagent::emulators {

namespace {

using base::json;
using net::server_request;
using net::server_response;

base::error invalid(std::string message) {
  return {.code = base::error_code::invalid, .message = std::move(message)};
}

base::result<json> read_json(const std::string& option, const std::string& file) {
  std::ifstream in(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (!in) {
    return invalid(option + " " + file + ": cannot read it");
  }
  auto document = json::parse(text);
  if (!document) {
    return base::with_context(document.error(), option + " " + file);
  }
  return document;
}

server_response problem(int status, std::string_view message) {
  return json_response(status, json::object({{"error", message}}));
}

server_response nothing() {
  server_response r;
  r.status = 204;
  return r;
}

// "Host" without its port; "" when there is nothing usable in it.
std::string host_name(std::string_view host) {
  const auto bracket = host.find(']');
  const auto colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  const std::string_view name = host.substr(0, colon);
  const bool usable = name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789.-_[]:") == std::string_view::npos;
  return usable ? std::string(name) : std::string();
}

std::string bracketed(const std::string& address) {
  return address.find(':') == std::string::npos ? address : "[" + address + "]";
}

// By rename: whoever waits for the file never reads half of it.
base::result<void> write_port_file(const std::string& file, std::uint16_t port) {
  const std::string temporary = file + ".new";
  std::ofstream out(temporary, std::ios::trunc);
  out << port << '\n';
  out.close();
  std::error_code ec;
  if (out) {
    std::filesystem::rename(temporary, file, ec);
  }
  if (!out || ec) {
    return invalid("--port-file " + file + ": cannot write it");
  }
  return {};
}

} // namespace

struct frame::impl {
  explicit impl(backend& b, frame_options o) : emulator(b), options(std::move(o)) {}

  backend& emulator;
  frame_options options;
  shifted_clock clock;
  journal log;
  json seed_document;   // of the command line; null = none
  json faults_document; // likewise
  std::mutex mutex;     // guards the emulator and the script
  fault_script script;
  std::string scheme = "http";
  std::vector<std::string> banner;
  std::unique_ptr<net::server> http; // last: its threads use everything above

  base::result<void> prepare() {
    if (auto ok = log.open(options.journal_file); !ok) {
      return ok;
    }
    while (options.public_url.ends_with('/')) {
      options.public_url.pop_back();
    }
    if (!options.public_url.empty()) {
      if (auto url = net::parse_url(options.public_url); !url) {
        return base::with_context(url.error(), "--public-url");
      }
    }
    if (!options.seed_file.empty()) {
      auto document = read_json("--seed", options.seed_file);
      if (!document) {
        return document.error();
      }
      seed_document = *std::move(document);
    }
    if (!options.faults_file.empty()) {
      auto document = read_json("--faults", options.faults_file);
      if (!document) {
        return document.error();
      }
      faults_document = *std::move(document);
    }
    emulator.attach_clock(clock);
    return reset(true);
  }

  base::result<void> reset(bool at_start) {
    clock.set_back();
    script = {};
    if (!faults_document.is_null()) {
      auto parsed = fault_script::parse(faults_document, emulator.takes_operation_faults());
      if (!parsed) {
        return base::with_context(parsed.error(), "--faults " + options.faults_file);
      }
      script = *std::move(parsed);
    }
    if (auto ok = emulator.reset(at_start); !ok) {
      return ok;
    }
    if (at_start && emulator.has_loaded_state()) {
      clock.advance(emulator.loaded_clock_offset());
    }
    if (!seed_document.is_null() && !(at_start && emulator.has_loaded_state())) {
      if (auto ok = emulator.seed(seed_document); !ok) {
        return base::with_context(ok.error(), "--seed " + options.seed_file);
      }
    }
    return {};
  }

  base::result<void> listen() {
    net::server_options o;
    o.address = options.address;
    o.port = options.port;
    o.tls_certificate_file = options.tls_certificate_file;
    o.tls_key_file = options.tls_key_file;
    if (!options.tls_auto_directory.empty()) {
      auto files = make_loopback_certificate(options.tls_auto_directory);
      if (!files) {
        return files.error();
      }
      o.tls_certificate_file = files->certificate;
      o.tls_key_file = files->key;
    }
    scheme = o.tls_certificate_file.empty() ? "http" : "https";
    banner = emulator.banner(); // the first request may change what it tells
    auto started =
        net::server::start(std::move(o), [this](const server_request& r) { return answer(r); });
    if (!started) {
      return started.error();
    }
    http = *std::move(started);
    if (!options.port_file.empty()) {
      return write_port_file(options.port_file, http->port());
    }
    return {};
  }

  call describe(const server_request& r) const {
    call c;
    c.request_id = base::uuid::random().dashed();
    c.now = clock.wall();
    c.base_url = options.public_url;
    if (c.base_url.empty()) {
      std::string host = host_name(r.header("host"));
      if (host.empty()) {
        host = bracketed(options.address);
      }
      c.base_url = r.scheme + "://" + host + ":" + std::to_string(r.port);
    }
    return c;
  }

  server_response answer(const server_request& r) {
    if (r.path == "/_emu" || r.path.starts_with("/_emu/")) {
      return administrate(r);
    }
    call c = describe(r);
    const std::lock_guard lock(mutex);
    const auto fault = script.next(r);
    if (!fault) {
      return record(r, c, handled(r, c), {});
    }
    return inflict(*fault, r, c);
  }

  // The mutex is held.
  server_response inflict(const fault& f, const server_request& r, const call& c) {
    if (f.delay.count() > 0 && !f.after) {
      // The request reaches the emulator late.
      server_response waiting;
      waiting.delay = f.delay;
      waiting.resume = [this, f, r, c] {
        const std::lock_guard lock(mutex);
        return suffer(f, r, c);
      };
      return waiting;
    }
    return suffer(f, r, c);
  }

  server_response suffer(const fault& f, const server_request& r, call c) {
    c.operation = f.kind == fault_kind::operation ? &f.operation : nullptr;
    c.skew = f.skew;
    const bool passes = f.kind == fault_kind::delay || f.kind == fault_kind::operation;
    server_response response;
    if (f.after || passes) {
      response = handled(r, c);
    }
    switch (f.kind) {
    case fault_kind::answer:
      response = {};
      response.status = f.status;
      response.headers = f.headers;
      response.body = f.body;
      touch_up(r, c, response);
      break;
    case fault_kind::cut:
    case fault_kind::hang:
      response = {}; // what it still waits for happens without anybody to hear of it
      response.end =
          f.kind == fault_kind::cut ? server_response::ending::cut : server_response::ending::hang;
      break;
    case fault_kind::truncate:
      response.end = server_response::ending::truncate;
      break;
    case fault_kind::delay:
    case fault_kind::operation:
      break;
    }
    if (f.after) {
      response.delay += f.delay;
    }
    response.chunk_pause = f.slow;
    response.date_offset = f.skew;
    return record(r, c, std::move(response), f.label);
  }

  server_response handled(const server_request& r, const call& c) {
    server_response response;
    try {
      response = emulator.handle(r, c);
    } catch (const std::exception& e) {
      std::cerr << emulator.name() << ": " << r.method << ' ' << r.path << ": " << e.what() << '\n';
      response = problem(500, "internal error of the emulator");
    }
    touch_up(r, c, response);
    return response;
  }

  void touch_up(const server_request& r, const call& c, server_response& response) {
    emulator.finish(r, c, response);
  }

  // An answer that waits for something: what comes of it ends as this one was told to.
  server_response
  record_later(const server_request& r, const call& c, server_response first, std::string label) {
    server_response waiting;
    waiting.delay = first.delay;
    waiting.resume = [this, r, c, first = std::move(first), label = std::move(label)] {
      const std::lock_guard lock(mutex);
      server_response response = first.resume();
      if (!response.resume) {
        touch_up(r, c, response);
      }
      response.end = first.end;
      response.chunk_pause = first.chunk_pause;
      response.date_offset = first.date_offset;
      return record(r, c, std::move(response), label);
    };
    return waiting;
  }

  // The line is written when the answer is about to leave: now, or after its delay.
  server_response
  record(const server_request& r, const call& c, server_response response, std::string label) {
    if (response.resume) {
      return record_later(r, c, std::move(response), std::move(label));
    }
    for (auto it = response.headers.begin(); it != response.headers.end(); ++it) {
      if (it->first == note_header) {
        label = label.empty() ? it->second : label + "; " + it->second;
        response.headers.erase(it);
        break;
      }
    }
    // Date goes by the emulator's clock, too.
    response.date_offset +=
        std::chrono::round<std::chrono::seconds>(clock.wall() - base::real_clock().wall());
    const bool silent = response.end == server_response::ending::cut ||
                        response.end == server_response::ending::hang;
    auto write = [this, r, id = c.request_id, label](int status) {
      log.write({clock.wall(), r.method, r.path, r.query, status, id, r.body, label});
    };
    if (response.delay.count() <= 0 || silent) {
      write(silent ? 0 : response.status);
      return response;
    }
    server_response waiting;
    waiting.delay = std::exchange(response.delay, std::chrono::milliseconds(0));
    waiting.resume = [write, response = std::move(response)] {
      write(response.status);
      return response;
    };
    return waiting;
  }

  // The backend's own continuations run under the mutex like its other hooks.
  server_response under_mutex(server_response response) {
    if (response.resume) {
      response.resume = [this, inner = std::move(response.resume)] {
        const std::lock_guard lock(mutex);
        return under_mutex(inner());
      };
    }
    return response;
  }

  server_response administrate(const server_request& r) {
    if (!r.peer_is_loopback) {
      return problem(403, "/_emu/ is for loopback peers only");
    }
    const call c = describe(r);
    const std::lock_guard lock(mutex);
    const std::string what = r.method + " " + r.path;
    if (what == "GET /_emu/inventory") {
      return json_response(200, emulator.inventory(c));
    }
    if (what == "POST /_emu/reset") {
      auto ok = reset(false);
      return ok ? nothing() : problem(500, ok.error().message);
    }
    const bool common =
        what == "POST /_emu/seed" || what == "PUT /_emu/faults" || what == "POST /_emu/clock";
    if (!common && r.method != "POST") {
      return problem(404, "no such admin call: " + what);
    }
    const auto body = json::parse(r.body);
    if (!common) {
      const std::string name = r.path.size() > 6 ? r.path.substr(6) : std::string();
      auto own = emulator.administrate(name, body.value_or(json()), c);
      return own ? under_mutex(*std::move(own)) : problem(404, "no such admin call: " + what);
    }
    if (!body) {
      return problem(400, body.error().message);
    }
    if (what == "POST /_emu/seed") {
      auto ok = emulator.seed(*body);
      return ok ? nothing() : problem(400, ok.error().message);
    }
    if (what == "PUT /_emu/faults") {
      auto parsed = fault_script::parse(*body, emulator.takes_operation_faults());
      if (!parsed) {
        return problem(400, parsed.error().message);
      }
      script = *std::move(parsed);
      return nothing();
    }
    return move_clock(*body);
  }

  server_response move_clock(const json& body) {
    // A hundred years: more would leave the range of the clock's type in calendar arithmetic.
    constexpr std::int64_t limit = 100LL * 366 * 24 * 3600;
    const auto seconds = body["advance_s"].integer();
    if (!seconds || *seconds < 0 || *seconds > limit) {
      return problem(400, "\"advance_s\" must be a whole number of seconds from 0");
    }
    clock.advance(std::chrono::seconds(*seconds));
    emulator.clock_advanced();
    return json_response(200, json::object({{"now", base::to_rfc3339(clock.wall(), true)}}));
  }
};

base::result<std::unique_ptr<frame>> frame::start(backend& b, frame_options options) {
  auto i = std::make_unique<impl>(b, std::move(options));
  if (auto ok = i->prepare(); !ok) {
    return ok.error();
  }
  if (auto ok = i->listen(); !ok) {
    return ok.error();
  }
  return std::unique_ptr<frame>(new frame(std::move(i)));
}

frame::frame(std::unique_ptr<impl> i) : impl_(std::move(i)) {}

frame::~frame() = default;

std::uint16_t frame::port() const {
  return impl_->http->port();
}

std::string frame::url() const {
  return impl_->scheme + "://" + bracketed(impl_->options.address) + ":" + std::to_string(port());
}

const std::vector<std::string>& frame::banner() const {
  return impl_->banner;
}

void frame::stop() {
  impl_->http->stop();
}

server_response json_response(int status, const json& body) {
  server_response r;
  r.status = status;
  r.headers.emplace_back("Content-Type", "application/json");
  r.body = body.dump();
  return r;
}

} // namespace siteagent::emulators
