// SPDX-License-Identifier: MIT
#include "core/fleet/run_scripts.hpp"

namespace siteagent::fleet {

namespace {

// Shared beginnings. `LC_ALL=C`: lengths and patterns count bytes.
constexpr const char* common = R"SH(
set -u
umask 077
LC_ALL=C
work=$HOME/.stado/work
area=$work/runs
marker=$work/returning

fail() { printf '%s\n' "$1" >&2; exit 3; }

# Nobody else may have put something in the place of the area.
check_folders() {
  for folder in "$HOME/.stado" "$work" "$area"; do
    [ ! -L "$folder" ] || fail "$folder is a symbolic link"
    [ -e "$folder" ] || continue
    [ -d "$folder" ] || fail "$folder is not a directory"
    [ -O "$folder" ] || fail "$folder does not belong to this account"
  done
}

modified() { stat -c %Y -- "$1" 2>/dev/null || stat -f %m -- "$1"; }

# Start of a process in clock ticks since the boot: with the boot's id it names the process.
ticks_of() {
  local stat
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  stat=${stat##*) }
  set -- $stat
  [ "$1" != Z ] && printf '%s' "${20}"
}

boot_id() { cat /proc/sys/kernel/random/boot_id 2>/dev/null; }

# live, dead, kept, or unknown.
state_of() {
  local json pid ticks boot
  local id='"pid":[[:space:]]*([0-9]{1,10})[,}[:space:]]'
  local start='"start_ticks":[[:space:]]*([0-9]{1,20})[,}[:space:]]'
  local booted='"boot_id":[[:space:]]*"([0-9a-fA-F-]*)"'
  local kept='"state":[[:space:]]*"kept"'
  { [ -f "$1/run.json" ] && [ ! -L "$1/run.json" ] && json=$(head -c 1048576 "$1/run.json"); } 2>/dev/null || { echo unknown; return; }
  [[ $json =~ $id ]] || { echo unknown; return; }
  pid=${BASH_REMATCH[1]}
  [[ $json =~ $start ]] || { echo unknown; return; }
  ticks=${BASH_REMATCH[1]}
  [[ $json =~ $booted ]] || { echo unknown; return; }
  boot=${BASH_REMATCH[1]}
  if [[ $json =~ $kept ]]; then
    echo kept
  elif [ ! -r /proc/self/stat ]; then
    if kill -0 "$pid" 2>/dev/null; then echo live; else echo dead; fi
  elif [ "$boot" = "$(boot_id)" ] && [ "$(ticks_of "$pid")" = "$ticks" ]; then
    echo live
  else
    echo dead
  fi
}

# Names are data: what could break a line is escaped.
shown() {
  local name=$1 out='' c
  case $name in
    *[!A-Za-z0-9._-]*)
      while [ -n "$name" ] && [ ${#out} -lt 64 ]; do
        c=${name:0:1}
        name=${name:1}
        case $c in
          [A-Za-z0-9._-]) out=$out$c ;;
          *) out=$out$(printf '\\x%02x' "'$c" | sed 's/x.*\(..\)$/x\1/') ;;
        esac
      done ;;
    *) out=$name ;;
  esac
  printf '%s' "${out:0:64}"
}
)SH";

constexpr const char* reading = R"SH(
say() {
  printf STADO_CLOUD_HOST
  printf '\t%s' "$@"
  printf '\n'
}

check_folders
[ -r /proc/self/stat ] || fail 'there is no /proc'
say now "$(date +%s)"
if [ -d "$area" ]; then
  { [ -r "$area" ] && [ -x "$area" ]; } || fail "$area cannot be read"
  changed=$(modified "$area") || fail "$area has no time"
  say changed "$changed"
  shopt -s nullglob dotglob
  for run in "$area"/*; do
    say run "$(shown "${run##*/}")" "$(state_of "$run")"
  done
else
  say changed none
fi
cargo=0
rustc=0
for file in /proc/[0-9]*/comm; do
  { read -r comm <"$file"; } 2>/dev/null || continue
  case $comm in
    cargo) cargo=$((cargo + 1)) ;;
    rustc) rustc=$((rustc + 1)) ;;
  esac
done
say process cargo "$cargo"
say process rustc "$rustc"
booting=0
if command -v cloud-init >/dev/null 2>&1; then
  case $(timeout 20 cloud-init status </dev/null 2>/dev/null) in
    *'status: running'*) booting=1 ;;
  esac
fi
say booting "$booting"
say end
)SH";

// Taking over moves the old marker away first: of two reapers only one can, and who moved a fresh
// one by mistake puts it back.
constexpr const char* set_marker = R"SH(
held() {
  head -n 1 "$1/owner" 2>/dev/null | head -c 200 >&2
  echo >&2
  exit 4
}

is_fresh() {
  local at
  at=$(modified "$1" 2>/dev/null) || return 1
  [ $(($(date +%s) - at)) -lt "$stale" ]
}

owner=$1
stale=$2
check_folders
mkdir -p "$work" || fail "$work cannot be made"
[ ! -L "$marker" ] || fail "$marker is a symbolic link"
if ! mkdir "$marker" 2>/dev/null; then
  ! is_fresh "$marker" || held "$marker"
  old=$marker.$$
  mv "$marker" "$old" 2>/dev/null || held "$marker"
  if is_fresh "$old"; then
    mv "$old" "$marker"
    held "$marker"
  fi
  rm -rf "$old"
  mkdir "$marker" 2>/dev/null || held "$marker"
fi
printf '%s\n%s\n' "$owner" "$(date -u +%Y-%m-%dT%H:%M:%SZ)" >"$marker/owner" || fail "$marker cannot be written"
)SH";

constexpr const char* clear_marker = R"SH(
[ ! -L "$marker" ] || fail "$marker is a symbolic link"
rm -rf "$marker"
)SH";

constexpr const char* remove_run = R"SH(
check_folders
if [ ! -d "$area/$1" ] || [ -L "$area/$1" ]; then
  shopt -s nullglob dotglob
  for run in "$area"/*; do
    printf '%s\n' "$(shown "${run##*/}")"
  done
  exit 4
fi
[ "$(state_of "$area/$1")" != live ] || exit 5
chmod -R u+rwX "$area/$1" 2>/dev/null
rm -rf "${area:?}/$1" || fail "$area/$1 cannot be removed"
)SH";

constexpr const char* wrapper = R"SH(
exec 3<&0 </dev/null
id=$1 nonce=$2 keep=$3 fetch=$4 delivered=$5 command=$6 cache=$7 silence=$8
shift 8
run=$area/$id
slots=$HOME/.stado/cache/target
program='' watcher='' ended='' signal=TERM

tell() { printf '\036stado %s %s\n' "$nonce" "$*"; }

# run.json appears whole. The command is last, so that no word of it can be taken for a key.
write_state() {
  printf '{"run":"%s","pid":%s,"start_ticks":%s,"boot_id":"%s","started_at":"%s",%s"command":%s}\n' \
    "$id" "$$" "$ticks" "$boot" "$started" "$1" "$command" >"$run/.run.json.new" &&
    mv "$run/.run.json.new" "$run/run.json"
}

# The whole group: what the program left behind, too. Five seconds between asking and killing.
end_program() {
  local n=0
  [ -n "$program" ] || return 0
  kill "-$signal" -- "-$program" 2>/dev/null || return 0
  while kill -0 -- "-$program" 2>/dev/null && [ $n -lt 50 ]; do
    sleep 0.1
    n=$((n + 1))
  done
  kill -KILL -- "-$program" 2>/dev/null
}

# Downloads and toolchains stay in ~/.cargo and ~/.rustup. What cargo compiled is lent to one run at
# a time by moving it: two runs never write one folder. Sources are always newer than it, so
# only dependencies are reused.
borrow_cache() {
  [ -n "$cache" ] && [ -f Cargo.toml ] && [ ! -e target ] || return 0
  find "$slots" -mindepth 1 -maxdepth 1 -mtime +7 -exec rm -rf {} + 2>/dev/null
  mv "$slots/$cache" target 2>/dev/null
}

return_cache() {
  [ -n "$cache" ] && [ -f "$run/src/target/CACHEDIR.TAG" ] && mkdir -p "$slots" || return 0
  [ -e "$slots/$cache" ] || { touch "$run/src/target"; mv "$run/src/target" "$slots/$cache"; }
}

finish() {
  # A signal that meets a subshell before it has put off our traps runs them there.
  [ "$(exec sh -c 'echo $PPID')" = "$$" ] || return
  trap '' HUP INT TERM PIPE
  [ -z "$watcher" ] || kill "$watcher" 2>/dev/null
  end_program
  if [ "$keep" = 1 ] && [ -n "$ended" ]; then
    write_state "\"state\":\"kept\",\"status\":$ended," && return
  fi
  return_cache
  rm -rf "$run" 2>/dev/null || { chmod -R u+rwX "$run"; rm -rf "$run"; }
}

on_signal() {
  signal=$1
  exit $((128 + $2))
}

# Until the client says so. Its end or its silence ends the run.
await() {
  while read -r -t "$silence" line <&3; do
    [ "$line" != "$1" ] || return 0
  done
  echo 'stado: the client is gone; the run ends' >&2
  exit 129
}

check_folders
mkdir -p "$area" || fail "$area cannot be made"
check_folders
ticks=$(ticks_of $$) || ticks=0
boot=$(boot_id)
started=$(date -u +%Y-%m-%dT%H:%M:%SZ)
mkdir "$run" || fail "$run cannot be made"
trap finish EXIT
trap 'on_signal HUP 1' HUP
trap 'on_signal INT 2' INT
trap 'on_signal TERM 15' TERM
trap 'exit 141' PIPE
{ write_state '' && mkdir "$run/src"; } || fail "$run cannot be written"

# First the directory, then the look: a reaper does it the other way round, so one of the two sees
# the other.
if [ -e "$marker" ] || [ -L "$marker" ]; then
  tell returning "$(head -n 1 "$marker/owner" 2>/dev/null | head -c 200)"
  exit 1
fi
if command -v rsync >/dev/null 2>&1; then how=rsync; else how=tar; fi
tell ready "$how" "$run"
await go

cd "$run" || exit 1
if [ "$delivered" = 1 ]; then
  cd src || exit 1
  borrow_cache
fi
export PATH="$HOME/.cargo/bin:/usr/local/bin:/usr/bin:/bin"
unset LC_ALL
umask 022
set -m # a group of its own
( exec -- "$@" ) 3<&- </dev/null &
program=$!
set +m
umask 077
( while read -r -t "$silence" line; do :; done <&3; kill -HUP $$ ) </dev/null >/dev/null 2>&1 &
watcher=$!
disown "$watcher"
{ wait "$program"; } 2>/dev/null
ended=$?
kill "$watcher" 2>/dev/null
watcher=''
end_program
program=''
tell ended "$ended"
if [ "$fetch" = 1 ] && [ "$ended" = 0 ]; then
  await 'done'
fi
exit "$ended"
)SH";

} // namespace

std::string reading_script() {
  return std::string(common) + reading;
}

std::string set_marker_script() {
  return std::string(common) + set_marker;
}

std::string clear_marker_script() {
  return std::string(common) + clear_marker;
}

std::string remove_run_script() {
  return std::string(common) + remove_run;
}

std::string wrapper_script() {
  return std::string(common) + wrapper;
}

} // namespace siteagent::fleet
