#!/bin/sh
# `load` or `unload` the AppArmor profile; the packages call it. Before AppArmor 4 user namespaces cannot be restricted, and a system
# would fail to read the profile, so it gets to /etc only where this system's AppArmor is active and understands it.
set -eu
ours=$(dirname "$0")/apparmor.profile
profile=/etc/apparmor.d/desktop-agent

case "$1" in
  load)
    aa-enabled --quiet 2>/dev/null || exit 0
    apparmor_parser --quiet --skip-kernel-load --skip-cache "$ours" >/dev/null 2>&1 || exit 0
    install -m 644 "$ours" "$profile"
    apparmor_parser --replace --skip-cache "$profile" || echo "The AppArmor profile $profile could not be loaded." >&2
    ;;
  unload)
    [ -e "$profile" ] || exit 0
    apparmor_parser --remove "$profile" >/dev/null 2>&1 || true
    rm -f "$profile" /var/cache/apparmor/*/desktop-agent
    ;;
esac
