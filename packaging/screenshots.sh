#!/usr/bin/env bash
# Takes the pictures in docs/images anew: the real window on a virtual screen, going through the demo in both themes.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

make_venv "$root/packaging/requirements-test.txt"
install_qt_libraries
if command -v apt-get >/dev/null; then apt_install xvfb xauth; fi

cd "$root"
env -u WAYLAND_DISPLAY QT_QPA_PLATFORM=xcb xvfb-run --auto-servernum --server-args="-screen 0 1600x1000x24 -nolisten tcp" \
  "$venv/bin/python" -m tests.e2e.screenshots "$root/docs/images"
