# Sourced by the providers' scripts. INTEROP_STATE is this provider's own directory (thrown away by `down`),
# INTEROP_CACHE keeps virtual environments between runs, INTEROP_HOST is the address to listen on.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
name=$(basename "$here")
: "${INTEROP_STATE:=$here/../../../../.build/interop/$name}"
: "${INTEROP_CACHE:=${XDG_CACHE_HOME:-${HOME:-/var}/.cache}/oidc-ci}"
host=${INTEROP_HOST:-127.0.0.1}
mkdir -p "$INTEROP_STATE" "$INTEROP_CACHE"
state=$(cd "$INTEROP_STATE" && pwd)
port=$(/usr/bin/python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["port"])' "$here/supports.json")

# Answers whether URL answers 2xx; the certificate is none of its business.
answers() { curl -sfk --noproxy '*' -o /dev/null --max-time 5 "$1"; }

# Whether this provider of this checkout is up already; ends the script when the address is taken by another.
is_up() {
  answers "$1" || return 1
  [ -f "$state/version" ] && return 0
  echo "$name cannot start: something else answers at $1" >&2
  exit 1
}

wait_for() { # URL, log file
  local tries
  for tries in $(seq 300); do
    answers "$1" && return 0
    kill -0 "$(cat "$state/server.pid")" 2>/dev/null || break
    sleep 0.2
  done
  echo "$name is not up: $1 does not answer" >&2
  tail -n 20 "$2" >&2
  return 1
}

# Starts a program that outlives this script; `stop_daemons` ends what was started so.
daemon() { # name, command…
  local log="$state/$1.log" pid="$state/$1.pid"
  shift
  setsid "$@" >"$log" 2>&1 </dev/null &
  echo $! >"$pid"
}

stop_daemons() {
  local file tries
  for file in "$state"/*.pid; do
    [ -f "$file" ] || continue
    kill -- "-$(cat "$file")" 2>/dev/null || true
    for tries in $(seq 50); do kill -0 -- "-$(cat "$file")" 2>/dev/null || break; sleep 0.1; done
    kill -9 -- "-$(cat "$file")" 2>/dev/null || true
    rm -f "$file"
  done
}

# The virtual environment with exactly requirements.txt; made once for each content of that file.
virtualenv() {
  local stamp
  stamp=$(cat "$here/requirements.txt" | sha256sum | cut -c1-16)
  venv="$INTEROP_CACHE/$name-$stamp"
  [ -f "$venv/complete" ] && return 0
  rm -rf "$venv"
  /usr/bin/python3 -m venv "$venv"
  "$venv/bin/pip" install -q --disable-pip-version-check -r "$here/requirements.txt" || {
    echo "cannot be installed from PyPI: $(tr '\n' ' ' <"$here/requirements.txt")" >&2
    return 1
  }
  touch "$venv/complete"
}

own_down() {
  stop_daemons
  rm -rf "$state"
}
