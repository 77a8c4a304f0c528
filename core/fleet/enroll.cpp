// SPDX-License-Identifier: MIT
#include "core/fleet/enroll.hpp"

#include "core/base/text.hpp"
#include "core/fleet/pause.hpp"

#include <array>
#include <utility>

namespace siteagent::fleet {

namespace {

using base::error;
using base::error_code;
using base::json;
using base::result;

error refusal(std::string message) {
  return {.code = error_code::refused, .message = std::move(message)};
}

// One of the fixed commands: status 0 and exactly one line that is not empty.
result<std::string> ask_line(
    channel& c, const target& host, const std::vector<std::string>& words, std::stop_token stop
) {
  channel_options o;
  o.stop = std::move(stop);
  const auto answer = c.run_words(host, words, o);
  const std::string what = base::join(words, " ");
  if (!answer) {
    return answer.error();
  }
  if (answer->status != 0) {
    const std::string line = answer->last_error_line();
    return refusal(
        host.name + ": " + what + " ended with status " + std::to_string(answer->status) +
        (line.empty() ? "" : ": " + line)
    );
  }
  const std::string_view text = base::trim(answer->output);
  if (text.empty() || text.find('\n') != std::string_view::npos) {
    return refusal(
        host.name + ": " + what + " printed \"" + printable(text, 80) + "\" instead of one line"
    );
  }
  return std::string(text);
}

result<std::string> release_platform_of(const std::string& host, const probed_host& h) {
  struct platform {
    std::string_view os;
    std::string_view arch;
    std::string_view name;
  };

  static constexpr std::array known{
      platform{"Linux", "x86_64", "linux-amd64"}, platform{"Darwin", "arm64", "darwin-arm64"}};
  for (const platform& p : known) {
    if (p.os == h.os && p.arch == h.arch) {
      return std::string(p.name);
    }
  }
  return refusal(
      host + ": its platform (" + printable(h.os, 64) + ", " + printable(h.arch, 64) +
      ") is not supported; Linux x86_64 and Darwin arm64 are"
  );
}

// The answer goes into the registry and onto terminals: nothing but what names are made of.
bool is_host_name(std::string_view name) {
  constexpr std::size_t longest = 253;
  return !name.empty() && name.size() <= longest &&
         name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789.-_") ==
             std::string_view::npos;
}

bool may_pass(const error& e) {
  return e.code == error_code::transient || e.code == error_code::deadline;
}

} // namespace

result<void> check_enrollable(
    const json& document, std::string_view name, const std::vector<std::string>& identities
) {
  const std::string quoted = "'" + printable(name, 80) + "'";
  if (document.at({"enrollment", "allow_enroll"}).boolean() == false) {
    return refusal("the registry does not allow to enroll hosts (enrollment.allow_enroll is false)"
    );
  }
  if (!is_target_identifier(name)) {
    return refusal(
        quoted + " is not a target identifier: lower-case letters, digits, '.', '_' and '-', " +
        "a letter or digit at both ends"
    );
  }
  if (find_target(document, name)) {
    return refusal("target " + quoted + " is already registered");
  }
  std::vector<std::string> all{std::string(name)};
  all.insert(all.end(), identities.begin(), identities.end());
  for (const std::string& identity : all) {
    if (const auto holder = holder_of_identity(document, identity)) {
      return refusal(
          "target " + quoted + " would be known as '" + printable(identity, 80) +
          "', and that is " + "target '" + *holder + "' already"
      );
    }
  }
  return {};
}

result<probed_host> probe_host(channel& c, const target& host, std::stop_token stop) {
  probed_host h;
  const auto hostname = ask_line(c, host, {"hostname"}, stop);
  if (!hostname) {
    return hostname.error();
  }
  h.hostname = normalized_hostname(*hostname);
  if (!is_host_name(h.hostname)) {
    return refusal(host.name + ": its host name \"" + printable(*hostname, 80) + "\" is none");
  }
  auto os = ask_line(c, host, {"uname", "-s"}, stop);
  if (!os) {
    return os.error();
  }
  h.os = *std::move(os);
  auto arch = ask_line(c, host, {"uname", "-m"}, stop);
  if (!arch) {
    return arch.error();
  }
  h.arch = *std::move(arch);
  auto platform = release_platform_of(host.name, h);
  if (!platform) {
    return platform.error();
  }
  h.release_platform = *std::move(platform);
  return h;
}

result<probed_host> probe_host_patiently(
    channel& c,
    const target& host,
    const probe_patience& p,
    const base::clock& clock,
    std::stop_token stop
) {
  const base::steady_time started = clock.steady();
  std::optional<base::steady_time> refused_since; // sshd may be up before the key is in place
  for (;;) {
    auto probed = probe_host(c, host, stop);
    if (probed) {
      return probed;
    }
    const error& e = probed.error();
    const base::steady_time now = clock.steady();
    const bool was_refused = e.code == error_code::auth;
    if (was_refused && !refused_since) {
      refused_since = now;
    }
    const bool is_patient = may_pass(e) || (was_refused && now - *refused_since < p.auth_patience);
    if (!is_patient) {
      return e;
    }
    if (now - started + p.every > p.longest) {
      const auto tried = std::chrono::floor<std::chrono::seconds>(p.longest).count();
      return base::with_context(
          e, "no host could be enrolled within " + std::to_string(tried) + " s"
      );
    }
    if (p.waiting) {
      p.waiting(e.message);
    }
    if (!pause_for(p.every, stop)) {
      return error{
          .code = error_code::cancelled,
          .message = "stopped while waiting for " + host.name + " (" + e.message + ")"};
    }
  }
}

json entry_for(
    std::string_view name, const destination& where, const probed_host& h, std::string_view notes
) {
  // The name and the destination's host are identities already; a second mention would make the
  // target collide with itself.
  json hostnames = json::array();
  if (h.hostname != name && h.hostname != normalized_hostname(where.host)) {
    hostnames.push_back(h.hostname);
  }
  return json::object(
      {{"name", name},
       {"kind", "local"},
       {"ssh", where.text()},
       {"release_platform", h.release_platform},
       {"hostnames", hostnames},
       {"os", h.os},
       {"arch", h.arch},
       {"notes", notes}}
  );
}

result<json> enroll(
    const registry_store& registry,
    channel& c,
    std::string_view name,
    std::string_view ssh,
    std::stop_token stop
) {
  const auto where = parse_destination(ssh);
  if (!where) {
    return where.error();
  }
  auto read = registry.read();
  if (!read) {
    return read.error();
  }
  if (auto free = check_enrollable(read->document, name, {where->host}); !free) {
    return free.error();
  }
  target host;
  host.name = name;
  host.kind = "local";
  host.ssh = where->text();
  const auto probed = probe_host(c, host, std::move(stop));
  if (!probed) {
    return probed.error();
  }
  json entry = entry_for(name, *where, *probed, "");
  std::vector<std::string> identities{where->host};
  for (const json& hostname : entry["hostnames"].items()) {
    identities.push_back(hostname.string_or(""));
  }
  if (auto free = check_enrollable(read->document, name, identities); !free) {
    return free.error();
  }
  json* targets = read->document.find("targets");
  if (targets == nullptr) {
    return error{.code = error_code::invalid, .message = "the registry has no targets"};
  }
  targets->push_back(entry);
  const auto written = registry.write(read->document, read->generation);
  if (!written) {
    return written.error();
  }
  return json::object({{"target", entry}, {"generation", written->generation}});
}

} // namespace siteagent::fleet
