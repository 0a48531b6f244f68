#!/usr/bin/env bash
# Builds the program that needs no Python: dist/desktop-agent/, and packed with install.sh as
# dist/desktop-agent-VERSION-SYSTEM-MACHINE.tar.zst. It runs on systems with the C library of this one or a later one.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

venv=$root/.venv-freeze
make_venv "$root/packaging/requirements-freeze.txt"
if command -v apt-get >/dev/null; then apt_install binutils chrpath zstd; fi

cd "$root"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export SOURCE_DATE_EPOCH PYTHONHASHSEED=0
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export PYTHONPATH=$root # the modules of this folder, whichever checkout the environment was made for
"$venv/bin/pyinstaller" --noconfirm --log-level ERROR --distpath dist --workpath "$work" packaging/frozen/desktop-agent.spec

# A Python that was built on this machine looks for libraries in a folder of this machine.
find dist/desktop-agent -name '*.so*' -type f -exec sh -c 'chrpath --list "$1" 2>/dev/null | grep -q "PATH=/" && chrpath --delete "$1" >/dev/null' sh {} \;

install -m 755 packaging/frozen/install.sh dist/desktop-agent/install.sh
cp LICENSE dist/desktop-agent/
"$venv/bin/python" packaging/tools/shipped.py licences dist/desktop-agent/THIRD-PARTY-LICENCES.txt --folder dist/desktop-agent
unset PYTHONPATH
version=$(dist/desktop-agent/desktop-agent --version)
name=desktop-agent-${version#desktop-agent }-$(uname -s | tr '[:upper:]' '[:lower:]')-$(uname -m)
# The same files in the same order, of the same time and owner, are the same archive.
tar --create --directory dist --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" desktop-agent |
  zstd --quiet --force -19 --threads=0 -o "dist/$name.tar.zst"
du -sh dist/desktop-agent "dist/$name.tar.zst" >&2
