#!/usr/bin/env bash
# Writes the dependency locks anew from pyproject.toml: universal (every platform and Python we support), with hashes,
# and without any index address. Run it after a change of the dependencies, and commit what it wrote.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v uv >/dev/null; then
  echo "lock.sh needs uv: https://docs.astral.sh/uv/" >&2
  exit 2
fi

compile() { # OUTPUT GROUP...
  local output=$1 groups=()
  shift
  for group in "$@"; do groups+=(--group "$group"); done
  uv pip compile pyproject.toml "${groups[@]}" --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    --quiet --custom-compile-command "bash packaging/lock.sh" --output-file "$output" >/dev/null
}

compile packaging/requirements.txt build
compile packaging/requirements-test.txt build test
