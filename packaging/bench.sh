#!/usr/bin/env bash
# Measures what docs/performance.md lists: ratios against a named yardstick in the same run. Arguments go to pytest:
# `bash packaging/bench.sh --profile nightly` takes the full sizes; a file's name takes that one only.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

make_venv "$root/packaging/requirements-test.txt"
install_qt_libraries

cd "$root"
chosen=()
for argument in "$@"; do [[ $argument == *bench_*.py* ]] && chosen+=("$argument"); done
[ ${#chosen[@]} -gt 0 ] || set -- "$@" tests/benchmarks/bench_*.py
# Compiled modules are kept, as they are where the application is installed.
exec env -u PYTHONDONTWRITEBYTECODE -u DISPLAY -u WAYLAND_DISPLAY QT_QPA_PLATFORM=offscreen \
  "$venv/bin/python" -m pytest -q -s -o faulthandler_timeout=900 "$@"
