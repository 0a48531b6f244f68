#!/usr/bin/env bash
# Makes a .deb and an .rpm of the program that `packaging/freeze.sh` made: packages.sh [TREE [FOLDER]], by default of
# dist/desktop-agent into dist/. The same tree makes the same bytes. Set DEBFULLNAME, DEBEMAIL and HOMEPAGE to what packages
# that you publish shall name.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

tree=$(realpath "${1:-$root/dist/desktop-agent}")
to=$(realpath "${2:-$root/dist}")
parts=$root/packaging/frozen
[ -x "$tree/desktop-agent" ] || { say "There is no program in $tree. Make it with packaging/freeze.sh."; exit 2; }
command -v apt-get >/dev/null || { say "Packages are made on Debian or Ubuntu, with their tools."; exit 2; }
apt_install appstream binutils desktop-file-utils rpm

umask 022
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || date +%s)}
version=$("$tree/desktop-agent" --version)
version=${version#desktop-agent }
package_version=$(sed -E 's/\.?(dev|a|b|rc)([0-9])/~\1\2/' <<<"$version") # a version before 1.0 sorts before it
architecture=$(dpkg --print-architecture)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
stage=$work/root
share=$stage/usr/share
metainfo=$share/metainfo/org.desktop_agent.desktop_agent.metainfo.xml

filled() { # FILE : prints it with its @NAMES@ replaced
  local text name
  text=$(cat "$1")
  while [[ $text =~ @([A-Z_]+)@ ]]; do
    name=${BASH_REMATCH[1],,}
    text=${text//"@${BASH_REMATCH[1]}@"/"${!name}"}
  done
  printf '%s\n' "$text"
}

say "Collecting the files"
mkdir -p "$stage"/usr/{bin,lib} "$share"/{metainfo,doc/desktop-agent}
cp -R "$tree" "$stage/usr/lib/desktop-agent"
rm -f "$stage"/usr/lib/desktop-agent/{install.sh,LICENSE}
mv "$stage/usr/lib/desktop-agent/THIRD-PARTY-LICENCES.txt" "$share/doc/desktop-agent/"
install -m 644 "$parts/apparmor.profile" "$stage/usr/lib/desktop-agent/"
install -m 755 "$parts/apparmor.sh" "$stage/usr/lib/desktop-agent/"
ln -s ../lib/desktop-agent/desktop-agent "$stage/usr/bin/desktop-agent"
"$tree/desktop-agent" -c 'import sys; from pathlib import Path; from desktop_agent.cli.desktop import install
install(Path(sys.argv[1]), Path("/usr/bin/desktop-agent"))' "$share"
homepage=${HOMEPAGE:-https://desktop-agent.invalid/}
date=$(date --utc --date="@$SOURCE_DATE_EPOCH" +%F)
filled "$parts/metainfo.xml" >"$metainfo"
cp "$parts/deb/copyright" "$share/doc/desktop-agent/"
gzip --best --no-name <"$root/CHANGELOG.md" >"$share/doc/desktop-agent/changelog.gz"
chmod -R u=rwX,go=rX "$stage"
find "$stage" -name '*.so*' -type f -exec chmod 644 {} +
desktop-file-validate "$share/applications/desktop-agent.desktop"
appstreamcli validate --strict --no-net --override=unknown-tag=pedantic "$metainfo" >&2 # before 1.0 it does not know `developer`

# What the system has to bring: libraries that files of the tree name and the tree does not hold, and the version of the C library.
named=$(find "$stage/usr/lib/desktop-agent" -type f -exec objdump -p {} + 2>/dev/null || true)
own=$(find "$stage/usr/lib/desktop-agent" -name '*.so*' -printf '%f\n' | sort -u)
libraries=$(awk '$1 == "NEEDED" { print $2 }' <<<"$named" | sort -u | grep -vxF "$own" || true)
glibc=$({ grep -oE '\bGLIBC_[0-9.]+' <<<"$named" || echo GLIBC_2.34; } | sed 's/GLIBC_//' | sort -uV | tail -n 1)
requires="Requires: libc.so.6(GLIBC_$glibc)(64bit)"
packages=()
for library in $libraries; do
  requires+=$'\n'"Requires: $library()(64bit)"
  path=$(ldconfig -p | awk -v name="$library" '$1 == name && /64/ && !found { found = $NF } END { print found }')
  [ -n "$path" ] || { say "The tree needs $library, which is not on this system."; exit 2; }
  packages+=("$(dpkg-query -S "*/$(basename "$path")" | grep -vE '^diversion|-(dev|dbg):' | sed -n '1s/:.*//p')")
done
depends="libc6 (>= $glibc)$(printf '%s\n' "${packages[@]}" | sort -u | grep -vx libc6 | sed 's/^/, /' | tr -d '\n')"
maintainer="${DEBFULLNAME:-The authors of Desktop Agent} <${DEBEMAIL:-maintainers@desktop-agent.invalid}>"
stamped() { find "$stage" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +; }

say "Making the .rpm"
stamped
filled "$parts/rpm.spec" >"$work/desktop-agent.spec"
rpmbuild --quiet -bb --target "$(uname -m)" --define "_topdir $work/rpm" --define "_rpmdir $work/made" --dbpath "$work/db" "$work/desktop-agent.spec" >&2
cp "$work"/made/*/*.rpm "$to/"

say "Making the .deb"
mkdir -p "$stage/DEBIAN" "$share/lintian/overrides"
cp "$parts/deb/lintian-overrides" "$share/lintian/overrides/desktop-agent"
mv "$share/doc/desktop-agent/changelog.gz" "$share/doc/desktop-agent/NEWS.gz"
{
  printf 'desktop-agent (%s-1) unstable; urgency=medium\n\n  * Version %s. NEWS.gz says what changed.\n\n -- %s  ' "$package_version" "$version" "$maintainer"
  date --utc --rfc-email --date="@$SOURCE_DATE_EPOCH"
} | gzip --best --no-name >"$share/doc/desktop-agent/changelog.Debian.gz"
size_kb=$(du -sk --apparent-size "$stage" | cut -f1)
filled "$parts/deb/control" >"$stage/DEBIAN/control"
install -m 755 "$parts"/deb/{postinst,prerm} "$stage/DEBIAN/"
(cd "$stage" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$stage/DEBIAN/md5sums"
stamped
dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$stage" "$to/desktop-agent_${package_version}-1_$architecture.deb" >&2
