#!/usr/bin/env bash
# Takes the pictures in docs/images anew: a tour through the window, in both themes. Names of scenes take only theirs.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

make_venv "$root/packaging/requirements-test.txt"
install_qt_libraries
if command -v apt-get >/dev/null; then apt_install fonts-droid-fallback; fi # Chinese letters

cd "$root"
QT_QPA_PLATFORM=offscreen "$venv/bin/python" -m tests.e2e.tour "$root/docs/images" "$@"
