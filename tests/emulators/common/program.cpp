// SPDX-License-Identifier: MIT
// Command line and life of an emulator program.
#include "core/base/text.hpp"
#include "emulator.hpp"

#include <algorithm>
#include <csignal>
#include <iostream>
#include <optional>
#include <utility>

namespace siteagent::emulators {

namespace {

base::error usage(std::string message) {
  return {.code = base::error_code::invalid, .message = std::move(message)};
}

base::result<void> set_listen(frame_options& o, std::string_view value) {
  const auto colon = value.rfind(':');
  const std::string_view digits =
      colon == std::string_view::npos ? std::string_view() : value.substr(colon + 1);
  unsigned port = 0;
  for (char c : digits) {
    port =
        c >= '0' && c <= '9' && port <= 65535 ? port * 10 + static_cast<unsigned>(c - '0') : 65536;
  }
  std::string_view address = value.substr(0, colon);
  if (address.starts_with('[') && address.ends_with(']')) {
    address = address.substr(1, address.size() - 2);
  }
  if (digits.empty() || port > 65535 || address.empty()) {
    return usage("must be ADDRESS:PORT, for example 127.0.0.1:0");
  }
  o.address = std::string(address);
  o.port = static_cast<std::uint16_t>(port);
  return {};
}

option text_option(std::string name, std::string placeholder, std::string help, std::string& to) {
  return {
      std::move(name),
      std::move(placeholder),
      std::move(help),
      [&to](std::string_view value) -> base::result<void> {
        if (value.empty()) {
          return usage("must not be empty");
        }
        to = std::string(value);
        return {};
      }};
}

std::vector<option> common_options(frame_options& o) {
  return {
      {"--listen",
       "ADDRESS:PORT",
       "where to listen; port 0 takes a free one (127.0.0.1:0)",
       [&o](std::string_view value) { return set_listen(o, value); }},
      text_option("--port-file", "FILE", "write the port here when ready", o.port_file),
      text_option(
          "--public-url", "URL", "base of absolute URLs in answers (from Host)", o.public_url
      ),
      text_option("--tls-cert", "FILE", "serve TLS with this PEM chain", o.tls_certificate_file),
      text_option("--tls-key", "FILE", "its private key", o.tls_key_file),
      text_option(
          "--tls-auto",
          "DIR",
          "serve TLS for localhost, 127.0.0.1 and ::1, signed by DIR/ca.pem",
          o.tls_auto_directory
      ),
      text_option("--seed", "FILE", "initial objects, JSON", o.seed_file),
      text_option("--faults", "FILE", "fault script, JSON", o.faults_file),
      text_option("--journal", "FILE", "append one JSON line per answered request", o.journal_file),
  };
}

base::result<void> use(const option& o, std::string_view value) {
  if (auto ok = o.apply(value); !ok) {
    return base::with_context(ok.error(), o.name);
  }
  return {};
}

base::error unknown_option(const std::vector<option>& options, std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& o : options) {
    names.push_back(o.name);
  }
  const auto near = base::nearest(name, names);
  return usage(
      "unknown option " + std::string(name) +
      (near.empty() ? "" : "; did you mean " + std::string(near) + "?")
  );
}

base::result<void>
parse(const std::vector<option>& options, const std::vector<std::string>& words) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    const option* found = nullptr;
    for (const auto& o : options) {
      found = o.name == name ? &o : found;
    }
    if (found == nullptr) {
      return unknown_option(options, name);
    }
    std::string value;
    if (found->placeholder.empty()) {
      if (equals != std::string::npos) {
        return usage(name + ": takes no value");
      }
    } else if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
    } else if (++i < words.size()) {
      value = words[i];
    } else {
      return usage(name + ": needs a value (" + found->placeholder + ")");
    }
    if (auto ok = use(*found, value); !ok) {
      return ok;
    }
  }
  return {};
}

base::result<void> check(const frame_options& o) {
  if (o.tls_certificate_file.empty() != o.tls_key_file.empty()) {
    return usage("--tls-cert and --tls-key go together");
  }
  if (!o.tls_auto_directory.empty() && !o.tls_key_file.empty()) {
    return usage("--tls-auto and --tls-cert exclude each other");
  }
  return {};
}

void print_help(const std::string& name, const std::vector<option>& options) {
  std::cout << "usage: " << name << " [options]\n\n";
  for (const auto& o : options) {
    std::string left = "  " + o.name + (o.placeholder.empty() ? "" : " " + o.placeholder);
    left.resize(std::max<std::size_t>(left.size() + 1, 28), ' ');
    std::cout << left << o.help << '\n';
  }
  std::cout << "  --help                    this text\n  --version                 the version\n";
}

// The first of the words that asks for a text instead of a run, or "".
std::string wants_text(const std::vector<std::string>& words) {
  for (const auto& w : words) {
    if (w == "--help" || w == "-h" || w == "--version") {
      return w;
    }
  }
  return {};
}

sigset_t end_signals() {
  sigset_t set{};
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

int serve(backend& b, frame_options options) {
  // Blocked before any thread exists, so that only sigwait() below sees them.
  const sigset_t set = end_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  auto running = frame::start(b, std::move(options));
  if (!running) {
    std::cerr << b.name() << ": " << running.error().message << '\n';
    return 1;
  }
  std::cout << b.name() << " " << SITEAGENT_VERSION << " listening on " << (*running)->url()
            << '\n';
  for (const auto& line : (*running)->banner()) {
    std::cout << "  " << line << '\n';
  }
  std::cout << std::flush;
  int signal = 0;
  sigwait(&set, &signal);
  (*running)->stop();
  return 0;
}

} // namespace

int run(backend& b, int argc, char** argv) {
  frame_options options;
  auto all = common_options(options);
  for (auto& o : b.options()) {
    all.push_back(std::move(o));
  }
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  const std::string text = wants_text(words);
  if (text == "--version") {
    std::cout << b.name() << " " << SITEAGENT_VERSION << '\n';
    return 0;
  }
  if (!text.empty()) {
    print_help(b.name(), all);
    return 0;
  }
  auto parsed = parse(all, words);
  if (parsed) {
    parsed = check(options);
  }
  if (!parsed) {
    std::cerr << b.name() << ": " << parsed.error().message << "; see --help\n";
    return 2;
  }
  return serve(b, std::move(options));
}

} // namespace siteagent::emulators
