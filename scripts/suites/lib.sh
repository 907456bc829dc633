# Shared by the scripts that run outside suites. Source it from the root of the repository.
# shellcheck shell=bash

# Where the suites are installed, and where they leave what they found.
suites=$PWD/target/tools/suites
found=$PWD/target/suites
fixture=$PWD/target/debug/examples/fixture
deskhand=$PWD/target/debug/deskhand
mkdir -p "$found"

# Node.js and mcp-fuzzer come from PyPI and the rest from npm, each at the version that is pinned beside this
# file. What is there stays until a pin changes. Fails where one of the two cannot be reached.
need_suites() {
  local here=scripts/suites pins
  pins=$(cat "$here/requirements.txt" "$here/package-lock.json" | sha256sum)
  if [[ $(cat "$suites/installed" 2>/dev/null) == "$pins" ]]; then
    echo "the suites are installed"
    return
  fi
  echo "installing Node.js, mcp-fuzzer, the conformance suite and the Inspector into target/tools/suites"
  rm -rf "$suites"
  python3 -m venv "$suites"
  "$suites/bin/pip" install --quiet --disable-pip-version-check --only-binary :all: \
    --requirement "$here/requirements.txt" || { left_out PyPI; return 1; }
  cp "$here/package.json" "$here/package-lock.json" "$suites/"
  PATH=$suites/bin:$PATH "$suites/bin/npm" ci --prefix "$suites" --ignore-scripts --no-audit --no-fund \
    --loglevel error || { left_out npm; return 1; }
  echo "$pins" >"$suites/installed"
}

left_out() {
  printf '\n\033[1;31m== %s cannot be reached: the outside suites are LEFT OUT\033[0m\n' "$1"
}

# Starts a server with its log in a file, and waits until it listens: sets `url`.
serve() {
  local name=$1 deadline=$((SECONDS + 20))
  shift
  server_log=$found/$name.log
  : >"$server_log"
  "$@" >/dev/null 2>>"$server_log" &
  server=$!
  trap 'kill "$server" 2>/dev/null || true' EXIT
  while ! url=$(grep -m 1 -o 'http://[^"]*' "$server_log"); do
    kill -0 "$server" 2>/dev/null || die "$* ended: $(cat "$server_log")"
    ((SECONDS < deadline)) || die "$* does not listen: $(cat "$server_log")"
    sleep 0.05
  done
}

# Ends the server, which has to be there still, has to end well, and must not have said that it is broken.
end_server() {
  local code=0
  curl --fail --silent --show-error --output /dev/null "${url}health"
  kill "$server"
  wait "$server" || code=$?
  ((code == 0)) || die "The server ended with exit code $code: $(tail -n 5 "$server_log")"
  no_defect "$server_log"
}

# A log in which no call met a defect.
no_defect() {
  if grep -E '"event":"panic"|"code":"internal"' "$1"; then
    die "The log $1 tells of a defect."
  fi
}
