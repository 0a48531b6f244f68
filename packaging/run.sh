#!/usr/bin/env bash
# Starts Desktop Agent from a checkout, setting everything up first when needed. Arguments go to desktop-agent.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

# A complete set of test dependencies contains the runtime ones: do not shrink it.
if [ ! -e "$venv/.stamp-requirements-test.txt" ]; then make_venv "$root/packaging/requirements.txt"; else
  make_venv "$root/packaging/requirements-test.txt"
fi
install_qt_libraries
install_sandbox
exec "$venv/bin/desktop-agent" "$@"
