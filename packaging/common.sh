# Shared by packaging/demo and packaging/test: where things are, and what must be installed.
umask 022 # plugins that others may write are refused
root=$(CDPATH= cd -- "$(dirname -- "$0")/.." && pwd)

say() { printf '%s\n' "$*"; }

die() {
  printf '%s\n' "$*" >&2
  exit 1
}

# without_services COMMAND...: packages installed by it start nothing (rabbitmq-server would), because Debian's
# maintainer scripts ask policy-rc.d first. One that is there already is the machine's own and stays.
without_services() (
  export DEBIAN_FRONTEND=noninteractive
  policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ]; then
    trap 'rm -f $policy' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    printf '#!/bin/sh\nexit 101\n' >$policy
    chmod 755 $policy
  fi
  "$@"
)

# install_packages SCOPE...: installs what dependencies.txt lists for these scopes and is missing.
install_packages() {
  missing=""
  for scope in "$@"; do
    for package in $(sed -n "s/^$scope \([a-z0-9.+-]*\)\$/\1/p" "$root/packaging/dependencies.txt"); do
      dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
        missing="$missing $package"
    done
  done
  [ -n "$missing" ] || return 0
  [ "$(id -u)" = 0 ] || die "missing packages:$missing; install them, or run this as root"
  say "installing:$missing"
  log=$(mktemp)
  # shellcheck disable=SC2086
  if ! { apt-get update && without_services apt-get install -y --no-install-recommends $missing; } >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    die "apt-get could not install:$missing"
  fi
  rm -f "$log"
  # Installed for its validator only: it must not take the machine for a new one at the next boot.
  case " $missing " in
    *" cloud-init "*) [ -e /etc/cloud/cloud-init.disabled ] || : >/etc/cloud/cloud-init.disabled ;;
  esac
}

# install_node: Debian's node and npm, unless this machine has both from elsewhere (the two do not mix).
install_node() {
  command -v node >/dev/null && command -v npm >/dev/null || install_packages node
}

# build_preset PRESET [TARGET...]: configure and build; all output goes to the terminal.
build_preset() {
  preset=$1
  shift
  (cd "$root" && cmake --preset "$preset") ||
    die "configuring failed"
  if [ $# -gt 0 ]; then
    (cd "$root" && cmake --build --preset "$preset" --target "$@")
  else
    (cd "$root" && cmake --build --preset "$preset")
  fi || die "the build failed"
}
