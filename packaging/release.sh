#!/usr/bin/env bash
# Makes everything that a release consists of, in dist/: release.sh VERSION. It publishes nothing. The version is set in a copy of
# the checkout, which itself stays as it is. A version with .devN may be made of a checkout with changes, and needs no section
# in CHANGELOG.md.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

refuse() { say "$*"; exit 2; }

[ $# = 1 ] || refuse "usage: release.sh VERSION, as in: release.sh 0.2.0"
version=$1
[[ $version =~ ^[0-9]+\.[0-9]+\.[0-9]+((a|b|rc)[0-9]+)?(\.dev[0-9]+)?$ ]] || refuse "$version is not a version such as 0.2.0, 0.2.0rc1 or 0.0.0.dev1."
cd "$root"
notes=$(awk -v heading="## [$version]" 'index($0, heading) == 1 { inside = 1; next } /^## \[/ { inside = 0 } inside' CHANGELOG.md)
if [[ $version != *.dev* ]]; then
  [ -z "$(git status --porcelain)" ] || refuse "The checkout has changes. Commit them, or make a version such as $version.dev1."
  [[ $notes =~ [^[:space:]] ]] || refuse "CHANGELOG.md has no section \"## [$version]\" with text. Write one, and run this again."
fi

export SOURCE_DATE_EPOCH
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
venv=$root/.venv-freeze
make_venv "$root/packaging/requirements-freeze.txt"
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT
# Deleted files are still listed until they are committed.
git ls-files -z --cached --others --exclude-standard | while IFS= read -r -d '' file; do
  if [ -e "$file" ] || [ -L "$file" ]; then printf '%s\0' "$file"; fi
done | tar --create --null --files-from=- | tar --extract --directory "$copy"
chmod -R u=rwX,go=rX "$copy" # a umask is no part of a release
sed -i.bak "s/^__version__ = .*/__version__ = \"$version\"/" "$copy/desktop_agent/core/base/package.py"
rm "$copy/desktop_agent/core/base/package.py.bak"
ln -s "$venv" "$copy/.venv-freeze"

cd "$copy"
mkdir dist
say "Making the wheel and the source archive"
"$venv/bin/python" -m hatchling build -d dist >&2
"$venv/bin/twine" check --strict dist/*.whl dist/*.tar.gz >&2
say "Making the program that needs no Python"
bash packaging/freeze.sh
if command -v apt-get >/dev/null && [ -e packaging/packages.sh ]; then bash packaging/packages.sh; fi
"$venv/bin/python" packaging/tools/shipped.py bom dist/bom.cdx.json --folder dist/desktop-agent --version "$version"
printf '%s\n' "${notes:-This is a development version.}" | sed '/./,$!d' >dist/RELEASE_NOTES.md
cd dist
sha() { if command -v sha256sum >/dev/null; then sha256sum "$@"; else shasum -a 256 "$@"; fi; }
find . -maxdepth 1 -type f -name '*.*' | sed 's,^\./,,' | LC_ALL=C sort | while IFS= read -r name; do sha "$name"; done >"$copy/SHA256SUMS"
mv "$copy/SHA256SUMS" .

rm -rf "$root/dist"
mkdir "$root/dist"
cp -R . "$root/dist/"
say "Version $version is in dist/:"
cat SHA256SUMS
