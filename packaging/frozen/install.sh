#!/usr/bin/env bash
# Installs Desktop Agent from the unpacked archive, for you, or with root for everybody; `--uninstall` removes it again, and leaves
# settings and sessions.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
if [ "$(id -u)" = 0 ]; then
  place=/opt/desktop-agent link=/usr/local/bin/desktop-agent
  export XDG_DATA_HOME=/usr/local/share
else
  place=$HOME/.local/lib/desktop-agent link=$HOME/.local/bin/desktop-agent
fi

case "${1:-}" in
  --uninstall)
    if [ -x "$place/desktop-agent" ]; then "$place/desktop-agent" desktop uninstall; fi
    if [ "$(readlink "$link" 2>/dev/null)" = "$place/desktop-agent" ]; then rm "$link"; fi
    rm -rf "$place"
    echo "Desktop Agent was removed. Settings and sessions are kept."
    ;;
  "")
    [ "$here" != "$place" ] || { echo "It is installed already: this is $place." >&2; exit 2; }
    if [ -e "$link" ] && [ "$(readlink "$link")" != "$place/desktop-agent" ]; then
      echo "$link is another program. Remove it, and run this again." >&2
      exit 2
    fi
    mkdir -p "$(dirname "$place")" "$(dirname "$link")"
    rm -rf "$place.new"
    cp -R "$here" "$place.new"
    "$place.new/desktop-agent" --version >/dev/null # it runs here, before it replaces one that did
    rm -rf "$place"
    mv "$place.new" "$place"
    ln -sfn "$place/desktop-agent" "$link"
    "$place/desktop-agent" desktop install
    case ":$PATH:" in *":$(dirname "$link"):"*) ;; *) echo "Add $(dirname "$link") to PATH to start it by name." ;; esac
    ;;
  *)
    echo "usage: install.sh [--uninstall]" >&2
    exit 2
    ;;
esac
