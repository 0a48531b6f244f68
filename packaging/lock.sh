#!/usr/bin/env bash
# Writes the dependency locks anew from pyproject.toml: universal (every platform and Python we support), with hashes,
# and without any index address. Run it after a change of the dependencies, and commit what it wrote.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v uv >/dev/null; then
  echo "lock.sh needs uv: https://docs.astral.sh/uv/" >&2
  exit 2
fi

compile() { # OUTPUT WHAT... : --group and --extra of pyproject.toml
  local output=$1
  shift
  uv pip compile pyproject.toml "$@" --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
    --quiet --custom-compile-command "bash packaging/lock.sh" --output-file "$output" >/dev/null
}

# The tests' lock has all packages of the others, which take their versions from it: what is tested is what runs.
compile packaging/requirements-test.txt --group build --group freeze --group test --extra cluster --extra bedrock --extra vertex --extra foundry
compile packaging/requirements.txt --group build --constraint packaging/requirements-test.txt
compile packaging/requirements-cluster.txt --group build --extra cluster --constraint packaging/requirements-test.txt
compile packaging/requirements-freeze.txt --group build --group freeze --constraint packaging/requirements-test.txt

# Mistral Vibe pins its dependencies, and needs Python 3.12: it is tested from an environment of its own.
uv pip compile --group agents --universal --python-version 3.12 --generate-hashes --no-strip-extras --no-emit-index-url \
  --quiet --custom-compile-command "bash packaging/lock.sh" --output-file packaging/requirements-agents.txt >/dev/null
