#!/usr/bin/env bash
# Tries what is to be released on a bare Debian: trials.sh SUITE FILE PICTURES [uv]. FILE is a wheel (installed with pipx, or uv), a .tar.zst or
# a .deb. It is installed as the README says, started from its entry in the menu on X11 and on Wayland, used with a mouse (the demo's
# first turn and its undo), started for a second folder, and removed; files that it leaves are printed and fail the trial.
# Needs root, and a mirror that has SUITE (MIRROR=…). The system is a copy of a folder that stays in TMPDIR; screens, buses and input
# devices are this system's.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

[ $# -ge 3 ] || { say "usage: trials.sh SUITE FILE PICTURES [uv]"; exit 2; }
[ "$(id -u)" = 0 ] || { say "This needs root."; exit 2; }
suite=$1 file=$(realpath "$2") pictures=$(realpath "$3") by=${4:-pipx}
make_venv "$root/packaging/requirements-test.txt"
apt_install debootstrap sway grim xvfb openbox xdotool imagemagick at-spi2-core dbus-daemon

base=${TMPDIR:-/tmp}/bare-$suite
if [ ! -e "$base/complete" ]; then
  mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)} # this system's own
  known=/usr/share/debootstrap/scripts/$suite
  [ -e "$known" ] || known=/usr/share/debootstrap/scripts/sid
  debootstrap --variant=minbase --include=ca-certificates "$suite" "$base" "$mirror" "$known" >/dev/null
  # Proxies, indexes and certificates are those of this system.
  for path in /etc/apt/apt.conf.d/9* /etc/ssl/certs/ca-certificates.crt /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/uv/uv.toml ~/.config/pip ~/.config/uv; do
    [ ! -e "$path" ] || { mkdir -p "$base/$(dirname "${path/#$HOME//home/user}")"; cp -RL "$path" "$base/${path/#$HOME//home/user}"; }
  done
  useradd --root "$base" --uid 1000 --create-home --shell /bin/bash user
  chown -R 1000:1000 "$base/home/user"
  touch "$base/complete"
fi
work=$(mktemp -d)
system=$work/system
trap 'rm -rf --one-file-system "$work"' EXIT
chmod 755 "$work"
cp -a "$base" "$system"
mkdir "$system/before"

cat >"$work/enter" <<ENTER
#!/usr/bin/env bash
# USER COMMAND… : runs it in the bare system. Not by chroot, in which the kernel refuses user namespaces and so every sandbox.
set -eu
cd "$system"
id=\$(awk -F: -v name="\$1" '\$1 == name { print \$3 }' etc/passwd)
home=\$(awk -F: -v name="\$1" '\$1 == name { print \$6 }' etc/passwd)
shared=\${XDG_RUNTIME_DIR:+"\$XDG_RUNTIME_DIR /tmp/.X11-unix"}
[ -z "\$shared" ] || mkdir -p \$(printf '$system%s ' \$shared)
passed=\$(env | grep -E '^(PIP_INDEX|UV_INDEX|UV_DEFAULT|SSL_CERT|DISPLAY|WAYLAND_|XDG_|DBUS_|QT_|https?_proxy|no_proxy)' | sed 's/ .*//')
shift
exec env -i HOME="\$home" PATH="\$home/.local/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \$passed \\
  unshare --mount --propagation private bash -c 'mount --bind . . && cd "\$PWD" && mount -t proc proc proc && mount --rbind /dev dev && mount --rbind /sys sys
    for place in \$1; do mount --bind "\$place" ".\$place"; done
    pivot_root . before && umount -l /before && cd "\$HOME" && id=\$2 && shift 2 && exec setpriv --reuid="\$id" --regid="\$id" --clear-groups "\$@"' sh "\$shared" "\$id" "\$@"
ENTER
chmod +x "$work/enter"
as_root_there() { "$work/enter" root "$@" >>"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }; }
as_user() { "$work/enter" user bash -euc "$*" >>"$work/log" 2>&1 || { tail -n 20 "$work/log" >&2; exit 1; }; }
libraries=$(sed -n '/^sudo apt install zstd/,/^```/p' "$root/README.md" | sed 's/^sudo apt install//; s/\\$//; /^```/d')
files() { (cd "$system" && find . -xdev \( -path ./tmp -o -path ./var/cache -o -path ./var/log -o -path ./var/lib/apt -o -path ./var/lib/dpkg \) -prune -o ! -type d -print | sort); }

step() { say "$(basename "$file") on $suite: $*"; }
entry=home/user/.local/share/applications/desktop-agent.desktop
cp "$file" "$system/tmp/"
there=/tmp/$(basename "$file")
as_root_there apt-get update
case $file in
  *.whl) as_root_there apt-get install -y pipx $libraries; [ "$by" = pipx ] || as_user pipx install uv ;;
  *.zst) as_root_there apt-get install -y $libraries ;;
esac
files >"$work/files"
step "installing"
case $file in
  *.deb) as_root_there apt-get install -y "$there"; entry=usr/share/applications/desktop-agent.desktop ;;
  *.zst) as_user "tar -xf $there && desktop-agent/install.sh" ;;
  *) if [ "$by" = uv ]; then as_user uv tool install "$there"; else as_user pipx install "$there"; fi; as_user desktop-agent desktop install ;;
esac

mkdir -p "$pictures"; chmod a+rwx "$pictures" # pictures are taken as the user there
name=$suite-$(sed -E 's/.*\.//' <<<"$file")
[ "${file##*.}" != whl ] || name=$suite-$by
for screen in x11 wayland; do
  step "the window on $screen"
  rm -rf "$system"/home/user/{.config,.cache,.local/share,.local/state}/desktop-agent
  (cd "$root" && "$venv/bin/python" -m tests.e2e.trial $screen "$system/$entry" "$pictures/$name-$screen" "$work/enter" user)
done

step "removing"
case $file in
  *.deb) as_root_there apt-get purge -y --autoremove desktop-agent ;;
  *.zst) as_user "desktop-agent/install.sh --uninstall && rm -r desktop-agent" ;;
  *) as_user desktop-agent desktop uninstall; if [ "$by" = uv ]; then as_user uv tool uninstall desktop-agent; else as_user pipx uninstall desktop-agent; fi ;;
esac
# Packages that it needed may stay, if others recommend them, and what their scripts make in /etc. Caches and logs of fontconfig, pip, pipx and uv are theirs.
of_packages() { sed -E 's#^/(bin|sbin|lib|lib64)/#/usr/\1/#; s#^#.#' "$system"/var/lib/dpkg/info/*.list | sort -u; }
user_data='\.(config|cache|local/share|local/state)/desktop-agent'
others='\.cache/(fontconfig|pip|pipx|uv)|\.local/(pipx|state/pipx)/logs?|\.local/pipx/(shared|\.cache)|\.local/share/(pipx|uv)/(shared|\.cache|py|tools/\.)'
left=$(files | comm -13 "$work/files" - | comm -23 - <(of_packages) | grep -vE "^\./(run/|etc/(networks|machine-id|mtab|vconsole.conf|default/locale)$|home/user/($user_data|$others))" || true)
[ -z "$left" ] || { say "These files are left: $left"; exit 1; }
step "passed"
