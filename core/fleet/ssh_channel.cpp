// SPDX-License-Identifier: MIT
#include "core/base/text.hpp"
#include "core/fleet/channel.hpp"
#include "core/fleet/files.hpp"
#include "core/fleet/known_hosts.hpp"
#include "core/fleet/ssh_answer.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <mutex>
#include <set>
#include <utility>

namespace siteagent::fleet {

namespace {

using base::error;
using base::error_code;
using base::result;

constexpr int status_of_ssh_itself = 255;
constexpr int status_of_no_program = 127;

// A script is parsed whole before it begins: one that arrives in part does nothing.
std::string framed(std::string_view script) {
  return "{\n" + std::string(script) + "\n}; exit\n";
}

std::vector<std::string> words_of_script(const std::vector<std::string>& parameters) {
  std::vector<std::string> words{"/bin/bash", "-s", "--"};
  words.insert(words.end(), parameters.begin(), parameters.end());
  return words;
}

std::string_view short_name(std::string_view name) {
  return name.substr(0, name.find('.'));
}

bool names_host(std::string_view name, std::string_view local) {
  return base::equals_ignoring_case(name, local) ||
         base::equals_ignoring_case(name, short_name(local)) ||
         (local.find('.') == std::string_view::npos &&
          base::equals_ignoring_case(short_name(name), local));
}

class ssh_channel final : public channel {
public:
  ssh_channel(const fleet_keys& keys, runner& programs, folders where, std::string local_hostname)
      : keys_(keys), programs_(programs), where_(std::move(where)),
        local_hostname_(std::move(local_hostname)), pins_(where_.state + "/known_hosts", programs) {
  }

  result<remote_answer> run_words(
      const target& host, const std::vector<std::string>& words, const channel_options& o
  ) override {
    if (words.empty()) {
      return error{.code = error_code::invalid, .message = host.name + ": no program to run"};
    }
    if (auto reachable = check_kind(host); !reachable) {
      return reachable.error();
    }
    if (is_this_machine(host, local_hostname_)) {
      return run_here(host, words, o);
    }
    std::string remote = "/bin/sh -c " + shell_quoted(status_wrapper) + " stado";
    for (const std::string& word : words) {
      remote += ' ' + shell_quoted(word);
    }
    return run_there(host, remote, o);
  }

  result<remote_answer> run_script(
      const target& host,
      std::string_view script,
      const std::vector<std::string>& parameters,
      const channel_options& o
  ) override {
    channel_options with_script = o;
    with_script.input = framed(script);
    with_script.input_fd = -1;
    return run_words(host, words_of_script(parameters), with_script);
  }

  result<std::string> pinned_host_key(const target& host) override {
    return is_this_machine(host, local_hostname_) ? result<std::string>(std::string())
                                                  : pins_.fingerprint(host.name);
  }

  result<void> forget_host_key(std::string_view target_name) override {
    return pins_.forget(target_name);
  }

  result<transport_words> words_for_copy(const target& host) override {
    if (auto reachable = check_kind(host); !reachable) {
      return reachable.error();
    }
    if (is_this_machine(host, local_hostname_)) {
      return transport_words{};
    }
    return transport_to(host, pins_.file());
  }

private:
  static result<void> check_kind(const target& host) {
    if (host.kind != "local") {
      return error{
          .code = error_code::invalid,
          .message = host.name +
                     ": the host channel reaches targets of kind local, and this one is " +
                     "of kind " + (host.kind.empty() ? "(none)" : printable(host.kind))};
    }
    return {};
  }

  // R108 and R109. For ssh the first value of an option wins, so these come before the user's own
  // configuration, which is still read: a ProxyJump there keeps working.
  result<transport_words> transport_to(const target& host, const std::string& pins) {
    if (host.ssh.empty()) {
      return error{
          .code = error_code::invalid,
          .message = host.name + " has no ssh destination; set one: stado registry set --path " +
                     "targets." + host.name + ".ssh --value USER@HOST"};
    }
    auto where = parse_destination(host.ssh);
    if (!where) {
      return base::with_context(where.error(), host.name);
    }
    if (pins.find_first_of("\"%$\\\n") != std::string::npos) {
      return error{
          .code = error_code::invalid,
          .message = "the path " + printable(pins) + " has a character that an option of ssh " +
                     "cannot carry; use another HOME"};
    }
    if (auto made = make_directories(where_.state); !made) {
      return made.error();
    }
    auto key = keys_.private_key_file(host.name);
    if (!key) {
      return key.error();
    }
    transport_words t{.words = {"ssh", "-T", "-i", (*key)->path()}, .where = *where, .hold = *key};
    for (const std::string& option : options_for(host, pins)) {
      t.words.insert(t.words.end(), {"-o", option});
    }
    if (where->port != 22) {
      t.words.insert(t.words.end(), {"-p", std::to_string(where->port)});
    }
    return t;
  }

  static std::vector<std::string> options_for(const target& host, const std::string& pins) {
    return {
        "IdentitiesOnly=yes",
        "IdentityAgent=none", // the fleet key, and what the user configured for the host
        "PreferredAuthentications=publickey",
        "BatchMode=yes",
        "ConnectTimeout=15",
        "ServerAliveInterval=10", // a silent loss is noticed within a minute
        "ServerAliveCountMax=3",
        "StrictHostKeyChecking=accept-new",
        "UserKnownHostsFile=\"" + pins + "\"",
        "GlobalKnownHostsFile=/dev/null",
        "KnownHostsCommand=none",
        "VerifyHostKeyDNS=no",
        "UpdateHostKeys=no",
        "HashKnownHosts=no",
        "HostKeyAlias=" + host.name,
        // A shared connection would have been opened with another key and another pin.
        "ControlMaster=no",
        "ControlPath=none",
        "ForwardAgent=no",
        "ClearAllForwardings=yes",
        "PermitLocalCommand=no",
        "RemoteCommand=none",
        "LogLevel=INFO",
    };
  }

  result<remote_answer>
  run_there(const target& host, const std::string& remote, const channel_options& o) {
    if (auto held = hold_to_registered_key(host, o); !held) {
      return held.error();
    }
    const auto t = transport_to(host, pins_.file());
    if (!t) {
      return t.error();
    }
    return ask(host, *t, remote, o);
  }

  // The registry's key of a cloud host decides, not the first connection of this machine: a pin of
  // an earlier machine of that name goes, and a new one is taken only when it is the registered.
  result<void> hold_to_registered_key(const target& host, const channel_options& o) {
    if (!host.cloud || host.cloud->host_key.empty()) {
      return {};
    }
    const std::string fact = host.name + " " + host.cloud->host_key;
    if (const std::scoped_lock lock(confirmed_mutex_); confirmed_.contains(fact)) {
      return {};
    }
    const auto pinned = pins_.fingerprint(host.name, o.stop);
    if (!pinned) {
      return pinned.error();
    }
    if (*pinned != host.cloud->host_key) {
      if (auto taken = take_registered_key(host, *pinned, o); !taken) {
        return taken;
      }
    }
    const std::scoped_lock lock(confirmed_mutex_);
    confirmed_.insert(fact);
    return {};
  }

  result<void>
  take_registered_key(const target& host, const std::string& pinned, const channel_options& o) {
    std::string beside = pins_.file() + ".XXXXXX";
    if (auto made = make_directories(where_.state); !made) {
      return made;
    }
    const int fd = ::mkostemp(beside.data(), O_CLOEXEC);
    if (fd < 0) {
      return error{
          .code = error_code::transient, .message = "cannot make a file beside " + pins_.file()};
    }
    ::close(fd);
    const known_hosts seen(beside, programs_);
    const auto taken = compare_and_pin(host, pinned, seen, o);
    ::unlink(beside.c_str());
    ::unlink((beside + ".lock").c_str());
    return taken;
  }

  result<void> compare_and_pin(
      const target& host,
      const std::string& pinned,
      const known_hosts& seen,
      const channel_options& o
  ) {
    const auto t = transport_to(host, seen.file());
    if (!t) {
      return t.error();
    }
    channel_options bare;
    bare.cap = o.cap;
    bare.stop = o.stop;
    if (const auto answer = ask(host, *t, "true", bare); !answer) {
      return answer.error();
    }
    const auto shown = seen.fingerprint(host.name, o.stop);
    if (!shown) {
      return shown.error();
    }
    if (*shown != host.cloud->host_key) {
      return error{
          .code = error_code::forbidden,
          .message = host.name + " (" + t->where.text() + "): its host key is " + *shown +
                     ", and the registry has " + printable(host.cloud->host_key) +
                     " for it; this is another machine, or its key was replaced"};
    }
    if (!pinned.empty()) {
      if (auto forgotten = pins_.forget(host.name); !forgotten) {
        return forgotten;
      }
    }
    return pins_.add_from(seen.file());
  }

  result<remote_answer>
  ask(const target& host,
      const transport_words& t,
      const std::string& remote,
      const channel_options& o) {
    command c{.argv = t.words};
    c.argv.insert(c.argv.end(), {"--", destination_word(t.where), remote});
    const std::string who = host.name + " (" + t.where.text() + ")";
    error_stream errors(o.on_error_output);
    auto f = run(c, o, errors);
    if (!f) {
      return base::with_context(f.error(), who);
    }
    if (f->signal != 0) {
      return error{
          .code = error_code::transient,
          .message = who + ": ssh was ended by signal " + std::to_string(f->signal)};
    }
    if (f->status == status_of_ssh_itself && !errors.has_marker()) {
      error e = base::with_context(failure_of_ssh(errors.text()), who);
      if (e.code == error_code::forbidden) {
        e.message += "; if the machine was replaced, remove the old key: ssh-keygen -f " +
                     pins_.file() + " -R " + host.name;
      }
      return e;
    }
    return answer_of(who, *std::move(f), errors);
  }

  result<remote_answer>
  run_here(const target& host, const std::vector<std::string>& words, const channel_options& o) {
    command c{.argv = words};
    c.set = {{"HOME", where_.home}};
    error_stream errors(o.on_error_output);
    auto f = run(c, o, errors);
    if (!f && f.error().code == error_code::not_found) {
      return remote_answer{
          .status = status_of_no_program, .output = "", .error_output = f.error().message + "\n"};
    }
    if (!f) {
      return base::with_context(f.error(), host.name + " (this machine)");
    }
    return answer_of(host.name + " (this machine)", *std::move(f), errors);
  }

  result<finished> run(command& c, const channel_options& o, error_stream& errors) {
    c.input = o.input;
    c.input_fd = o.input_fd;
    c.cap = o.cap;
    c.on_output = o.on_output;
    c.on_error_output = [&errors](std::string_view bytes) { errors.take(bytes); };
    auto f = programs_.run(c, o.stop);
    errors.finish();
    return f;
  }

  static result<remote_answer>
  answer_of(const std::string& who, finished f, const error_stream& errors) {
    if (f.output_was_cut) {
      return error{
          .code = error_code::permanent, .message = who + ": the answer is longer than 4 MiB"};
    }
    return remote_answer{
        .status = f.status, .output = std::move(f.output), .error_output = errors.text()};
  }

  static std::string destination_word(const destination& d) {
    return d.user.empty() ? d.host : d.user + "@" + d.host;
  }

  const fleet_keys& keys_;
  runner& programs_;
  folders where_;
  std::string local_hostname_;
  known_hosts pins_;
  std::mutex confirmed_mutex_;
  std::set<std::string> confirmed_; // "<target> <registered key>"
};

} // namespace

bool is_this_machine(const target& host, std::string_view local_hostname) {
  if (local_hostname.empty()) {
    return false;
  }
  // A rented machine that calls itself by this one's name must not have its programs run here.
  const bool is_believed = !host.cloud;
  return names_host(host.name, local_hostname) ||
         (is_believed &&
          std::any_of(host.hostnames.begin(), host.hostnames.end(), [&](const std::string& name) {
            return names_host(name, local_hostname);
          }));
}

std::unique_ptr<channel> make_ssh_channel(
    const fleet_keys& keys, runner& programs, folders where, std::string local_hostname
) {
  return std::make_unique<ssh_channel>(keys, programs, std::move(where), std::move(local_hostname));
}

} // namespace siteagent::fleet
