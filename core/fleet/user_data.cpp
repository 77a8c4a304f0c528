// SPDX-License-Identifier: MIT
#include "core/fleet/user_data.hpp"

#include "core/base/json.hpp"
#include "core/base/text.hpp"

#include <algorithm>

namespace siteagent::fleet {

namespace {

// Before 50-cloud-init.conf: sshd keeps the first value it reads.
constexpr std::string_view sshd_drop_in = R"(PasswordAuthentication no
KbdInteractiveAuthentication no
PermitRootLogin no
AuthenticationMethods publickey
)";

// One script, because cloud-init joins all runcmd entries into a shell without -e and only the last
// status counts. The packages are installed here and not by cloud-init's own module, which waits
// for the package manager's lock for half a minute only and asks for the index once.
constexpr std::string_view toolchain_script = R"SH(#!/bin/sh
# Makes this machine a build host. Any failure ends with a status other than 0.
set -eu
umask 022
cd /
export DEBIAN_FRONTEND=noninteractive
account='@ACCOUNT@'
home=$(getent passwd "$account" | cut -d: -f6)
[ -n "$home" ] || { echo "stado: there is no account $account" >&2; exit 1; }

# attempt TIMES PAUSE COMMAND...: again until it succeeds.
attempt() {
  left=$1
  pause=$2
  shift 2
  until "$@"; do
    left=$((left - 1))
    [ "$left" -gt 0 ] || { echo "stado: given up: $*" >&2; return 1; }
    sleep "$pause"
  done
}

as_account() {
  runuser -u "$account" -- env HOME="$home" USER="$account" LOGNAME="$account" "$@"
}

# sshd refuses passwords from here on. Where a socket starts it, the unit is not active, and
# reloading it would fail the boot.
install -d -m 0755 /run/sshd
sshd -t
for unit in ssh.service sshd.service; do
  if systemctl is-active --quiet "$unit"; then
    systemctl reload-or-restart "$unit"
    break
  fi
done

# The area of managed runs; runs itself comes with the first one.
install -d -m 0700 -o "$account" -g "$(id -gn "$account")" "$home/.stado" "$home/.stado/work"

# Another package manager may be at work at the first boot, and a mirror may be away for a while.
attempt 40 15 apt-get -q -o Acquire::Retries=3 update
attempt 3 15 apt-get -q -y --no-install-recommends -o DPkg::Lock::Timeout=600 \
  -o Acquire::Retries=3 -o Dpkg::Options::=--force-confold install \
  build-essential pkg-config libssl-dev clang cmake protobuf-compiler git rsync nodejs npm \
  curl ca-certificates

# Not piped into a shell: sh would not notice a download that failed.
installer="$home/.stado/rustup-init.sh"
attempt 5 15 as_account curl --proto '=https' --tlsv1.2 --connect-timeout 30 --max-time 300 \
  -fsSL -o "$installer" https://sh.rustup.rs
attempt 5 15 as_account sh "$installer" -y --no-modify-path --profile minimal \
  --default-toolchain stable
rm -f "$installer"
as_account "$home/.cargo/bin/rustc" --version
node --version
npm --version
)SH";

std::string replaced(std::string_view text, std::string_view what, std::string_view with) {
  std::string all(text);
  for (std::size_t at = all.find(what); at != std::string::npos;
       at = all.find(what, at + with.size())) {
    all.replace(at, what.size(), with);
  }
  return all;
}

// A block scalar's lines.
std::string indented(std::string_view text, std::string_view by) {
  std::string all;
  for (const std::string_view line : base::split(text, '\n')) {
    all.append(line.empty() ? "" : by).append(line).append("\n");
  }
  all.pop_back(); // the text ends with a line feed of its own
  return all;
}

// A JSON string is a YAML one, whatever is in it.
std::string quoted(std::string_view text) {
  return base::json(text).dump();
}

} // namespace

bool is_login_name(std::string_view login) {
  const auto may_begin = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  return !login.empty() && login.size() <= 32 && may_begin(login[0]) &&
         std::all_of(login.begin(), login.end(), [&](char c) {
           return may_begin(c) || (c >= '0' && c <= '9') || c == '-';
         });
}

std::string render_user_data(std::string_view login, std::string_view public_key) {
  const std::string script = replaced(toolchain_script, "@ACCOUNT@", login);
  std::string text = "#cloud-config\n";
  text += "package_update: false\n"; // the script does it, and patiently
  text += "package_upgrade: false\n";
  text += "package_reboot_if_required: false\n";
  text += "ssh_pwauth: false\n";
  text += "disable_root: true\n";
  text += "ssh_authorized_keys:\n  - " + quoted(public_key) + "\n";
  text += "write_files:\n";
  text += "  - path: /etc/ssh/sshd_config.d/10-stado-cloud-host.conf\n";
  text += "    owner: root:root\n    permissions: '0644'\n    content: |\n";
  text += indented(sshd_drop_in, "      ");
  text += "  - path: /usr/local/sbin/stado-toolchain\n";
  text += "    owner: root:root\n    permissions: '0755'\n    content: |\n";
  text += indented(script, "      ");
  text += "runcmd:\n  - [/usr/local/sbin/stado-toolchain]\n";
  return text;
}

} // namespace siteagent::fleet
