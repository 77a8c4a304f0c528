// SPDX-License-Identifier: MIT
// Has the first boot of a cloud host ended, and well?
#include "core/base/json.hpp"
#include "core/base/text.hpp"
#include "core/fleet/pause.hpp"
#include "core/fleet/user_data.hpp"

#include <algorithm>
#include <optional>
#include <utility>

namespace siteagent::fleet {

namespace {

using base::error;
using base::error_code;
using base::json;
using base::result;
using std::chrono::milliseconds;

constexpr std::size_t most_error_lines = 5;
constexpr milliseconds short_call{30'000};
constexpr int no_such_program = 127;
constexpr int timed_out = 124; // timeout(1)

struct boot_status {
  std::string status = "unknown";
  std::string extended_status;
  std::vector<std::string> errors; // also recoverable ones, without mere notices
};

void add_lines(const json& texts, std::vector<std::string>& lines) {
  for (const json& text : texts.items()) {
    lines.push_back(printable(text.string_or(text.dump())));
  }
}

boot_status parse_status(std::string_view text) {
  boot_status s;
  const auto document = json::parse(text);
  if (!document || !document->is_object()) {
    return s;
  }
  s.status = printable((*document)["status"].string_or("unknown"), 40);
  s.extended_status = printable((*document)["extended_status"].string_or(""), 40);
  add_lines((*document)["errors"], s.errors);
  for (const auto& [level, texts] : (*document)["recoverable_errors"].members()) {
    if (level != "DEPRECATED" && level != "INFO") {
      add_lines(texts, s.errors);
    }
  }
  return s;
}

// Releases without --format json: "status: done" behind the dots of --wait.
std::string status_of_line(std::string_view output) {
  constexpr std::string_view label = "status: ";
  const std::size_t at = output.rfind(label);
  if (at == std::string_view::npos) {
    return "unknown";
  }
  const std::string_view rest = output.substr(at + label.size());
  return printable(base::trim(rest.substr(0, rest.find('\n'))), 40);
}

class boot_question {
public:
  boot_question(
      channel& c,
      const target& host,
      const boot_patience& p,
      const base::clock& clock,
      std::stop_token stop
  )
      : channel_(c), host_(host), patience_(p), clock_(clock), stop_(std::move(stop)),
        end_(clock.steady() + p.longest) {}

  result<boot_report> ask() {
    const auto waited = wait_for_end();
    if (!waited) {
      return waited.error();
    }
    const boot_status s = read_status(*waited);
    if (waited->status == timed_out) {
      return unclean(
          error_code::deadline,
          "did not end within " + seconds_allowed() + ": " + s.status,
          s.errors
      );
    }
    if (waited->status == no_such_program) {
      return unclean(error_code::refused, "exit 127: cloud-init is not installed", s.errors);
    }
    if (waited->status != 0 || s.status != "done" || !s.errors.empty()) {
      return unclean(
          error_code::refused, "exit " + std::to_string(waited->status) + ": " + s.status, s.errors
      );
    }
    boot_report r{
        .exit_code = waited->status,
        .status = s.status,
        .extended_status = s.extended_status,
        .rustc = "",
        .node = "",
        .npm = ""};
    return add_versions(std::move(r));
  }

private:
  milliseconds time_left() const { return std::chrono::ceil<milliseconds>(end_ - clock_.steady()); }

  std::string seconds_allowed() const {
    return std::to_string(std::chrono::floor<std::chrono::seconds>(patience_.longest).count()) +
           " s";
  }

  error unclean(error_code code, const std::string& how, std::vector<std::string> lines) const {
    lines.resize(std::min(lines.size(), most_error_lines));
    std::string message = host_.name +
                          ": the first boot did not finish cleanly (cloud-init status " + how +
                          "); see /var/log/cloud-init-output.log on the host";
    if (!lines.empty()) {
      message += ": " + base::join(lines, "; ");
    }
    return {.code = code, .message = std::move(message)};
  }

  // Again after each loss of the connection: a first boot restarts sshd, and may restart the
  // machine. `call` gets its cap.
  template <class Call>
  result<remote_answer> persistently(const Call& call) {
    for (;;) {
      auto answer = call();
      if (answer || answer.error().code != error_code::transient) {
        return answer;
      }
      if (time_left() <= patience_.every) {
        return answer;
      }
      if (patience_.waiting) {
        patience_.waiting(answer.error().message);
      }
      if (!pause_for(patience_.every, stop_)) {
        return error{
            .code = error_code::cancelled,
            .message = "stopped while waiting for the first boot of " + host_.name};
      }
    }
  }

  channel_options options(milliseconds cap) const {
    channel_options o;
    o.cap = std::max(cap, milliseconds(1)); // 0 would mean none
    o.stop = stop_;
    return o;
  }

  // The answer of --wait; status 124 when the time is over. Bounded on the host as well, so that no
  // waiter stays behind there.
  result<remote_answer> wait_for_end() {
    if (patience_.waiting) {
      patience_.waiting("cloud-init to finish");
    }
    auto answer = persistently([&] {
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(time_left()).count();
      return channel_.run_words(
          host_,
          {"timeout",
           "-k",
           "5",
           std::to_string(std::max<long>(seconds, 1)),
           "cloud-init",
           "status",
           "--wait"},
          options(time_left())
      );
    });
    const bool is_over =
        !answer &&
        (answer.error().code == error_code::deadline ||
         (answer.error().code == error_code::transient && time_left() <= patience_.every));
    if (is_over) {
      return remote_answer{.status = timed_out, .output = "", .error_output = ""};
    }
    return answer;
  }

  boot_status read_status(const remote_answer& waited) {
    const auto read = [&] {
      return channel_.run_words(
          host_, {"cloud-init", "status", "--format", "json"}, options(short_call)
      );
    };
    const auto answer = waited.status == timed_out ? read() : persistently(read);
    boot_status s = answer ? parse_status(answer->output) : boot_status{};
    if (s.status == "unknown" && waited.status != timed_out) {
      s.status = status_of_line(waited.output);
    }
    return s;
  }

  result<boot_report> add_versions(boot_report r) {
    // $HOME is the host's.
    const auto rustc = version("$HOME/.cargo/bin/rustc", [&] {
      return channel_.run_script(
          host_, "\"$HOME/.cargo/bin/rustc\" --version", {}, options(short_call)
      );
    });
    if (!rustc) {
      return rustc.error();
    }
    const auto node = version("node", [&] {
      return channel_.run_words(host_, {"node", "--version"}, options(short_call));
    });
    if (!node) {
      return node.error();
    }
    const auto npm = version("npm", [&] {
      return channel_.run_words(host_, {"npm", "--version"}, options(short_call));
    });
    if (!npm) {
      return npm.error();
    }
    r.rustc = *rustc;
    r.node = *node;
    r.npm = *npm;
    return r;
  }

  template <class Call>
  result<std::string> version(const std::string& program, const Call& call) {
    const auto answer = persistently(call);
    if (!answer) {
      return answer.error();
    }
    const std::string_view line = base::trim(answer->output);
    if (answer->status == 0 && !line.empty() && line.find('\n') == std::string_view::npos) {
      return printable(line);
    }
    const std::string said = answer->last_error_line();
    return error{
        .code = error_code::refused,
        .message = host_.name + ": the first boot did not finish cleanly (" + program +
                   " --version exit " + std::to_string(answer->status) +
                   (said.empty() ? "" : ": " + said) +
                   "); see /var/log/cloud-init-output.log on the host"};
  }

  channel& channel_;
  const target& host_;
  const boot_patience& patience_;
  const base::clock& clock_;
  std::stop_token stop_;
  base::steady_time end_;
};

} // namespace

result<boot_report> check_boot(
    channel& c,
    const target& host,
    const boot_patience& p,
    const base::clock& clock,
    std::stop_token stop
) {
  return boot_question(c, host, p, clock, std::move(stop)).ask();
}

} // namespace siteagent::fleet
