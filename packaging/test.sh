#!/usr/bin/env bash
# Sets up the test environment and runs every check: format, lint, types, import contracts, tests. Arguments go to
# pytest: `bash packaging/test.sh --profile nightly`, `bash packaging/test.sh tests/core -k journal`.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

make_venv "$root/packaging/requirements-test.txt"
install_npm_packages npm
if [[ " $* " == *nightly* ]]; then # agents of other programs: 2 GB
  install_npm_packages npm/agents
  install_npm_packages npm/plugins
  install_python_agents "$root/packaging/requirements-agents.txt"
fi
install_qt_libraries
install_sandbox
if command -v apt-get >/dev/null; then apt_install xvfb xauth strace make chromium curl jq desktop-file-utils libglib2.0-bin dbus-daemon at-spi2-core gnome-keyring; fi
if command -v apt-get >/dev/null; then apt_install sway grim; fi # for the window on Wayland
if command -v apt-get >/dev/null; then apt_install libenchant-2-2 hunspell-en-us hunspell-de-de; fi # for spelling
if command -v apt-get >/dev/null; then apt_install appstream binutils rpm; fi # for the tests of the packages
if command -v apt-get >/dev/null && [[ " $* " == *nightly* ]]; then apt_install lintian; fi
command -v xvfb-run >/dev/null || { say "The tests of the real window need xvfb-run (package xvfb)."; exit 2; }

cd "$root"
bin=$venv/bin
unset PYTHONDONTWRITEBYTECODE # compiled modules are kept, as they are where the application is installed
step() { say ""; say "== $*"; }

step "format"; "$bin/ruff" format --check --quiet .
step "lint"; "$bin/ruff" check --quiet .

# Import contracts and types beside the tests: they keep one processor busy for two minutes, and each test waits at times.
logs=$(mktemp -d); trap 'rm -rf "$logs"; kill "$types" "$window" 2>/dev/null || true' EXIT
# For Windows and macOS only the package, because the tests start programs that Linux has; and usually only what asks for the system.
check_types() {
  "$bin/lint-imports" --no-cache && "$bin/basedpyright" --pythonpath "$bin/python" || return
  local platform pattern files
  for platform in Windows Darwin; do
    files=(desktop_agent)
    pattern='darwin' # what macOS lacks, Windows lacks, too
    [ $platform = Darwin ] || pattern='^ *import (_?socket|fcntl|os|pwd|resource|select|signal|subprocess|termios)$|sys\.platform'
    [[ $arguments == *nightly* ]] || mapfile -t files < <(grep -rlE --include='*.py' "$pattern" desktop_agent)
    "$bin/basedpyright" --pythonpath "$bin/python" --pythonplatform $platform "${files[@]}" || return
  done
}
arguments=$*
check_types >"$logs/types" 2>&1 & types=$!

# The real window beside them, too: it waits for the X server, for processes and for a screen reader's bus. Without
# `--default-signal` the programs that tests start here would ignore Ctrl+C, as all of a script's background does.
env --default-signal=INT,QUIT -u WAYLAND_DISPLAY QT_QPA_PLATFORM=xcb \
  xvfb-run --auto-servernum --server-args="-screen 0 1440x900x24 -nolisten tcp" \
  "$bin/python" -m pytest -m realwindow "$@" >"$logs/window" 2>&1 & window=$!

# Four workers keep two processors busy: with three, a third of the time of both goes by while tests wait for other
# processes and for sockets.
step "tests, offscreen"
status=0
env -u DISPLAY -u WAYLAND_DISPLAY QT_QPA_PLATFORM=offscreen "$bin/python" -m pytest -n 4 --dist worksteal -m "not realwindow" "$@" || status=$?

step "tests of the real window, on Xvfb"
shown=0
wait $window || shown=$?
cat "$logs/window"
[ $shown -eq 5 ] || [ $status -ne 0 ] || status=$shown # 5: nothing selected, the arguments named other tests

step "import contracts and types"
wait $types || { cat "$logs/types"; exit 1; }
tail -n 1 "$logs/types"
exit $status
