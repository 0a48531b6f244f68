#!/usr/bin/env bash
# Brings the translations up to date: collects the texts of the window, merges them into packaging/translations/*.ts with
# Qt's lupdate, and compiles what the window loads, resources/translations/*.qm, with lrelease. Both are kept in the
# repository. `bash packaging/translations.sh fr` adds a language; see docs/guide/translations.md.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

make_venv "$root/packaging/requirements-test.txt"

cd "$root"
bin=$venv/bin
texts=$(mktemp --suffix .py); trap 'rm -f "$texts"' EXIT
"$bin/python" -m tests.translation "$texts"
for language in "$@"; do touch "packaging/translations/desktop_agent_$language.ts"; done
for file in packaging/translations/desktop_agent_*.ts; do
  language=${file#*desktop_agent_}; language=${language%.ts}
  [ -s "$file" ] || rm "$file"
  "$bin/pyside6-lupdate" "$texts" -ts "$file" -source-language en -target-language "$language" \
    -locations none -no-obsolete -disable-heuristic similartext -silent
  "$bin/pyside6-lrelease" "$file" -silent -qm "resources/translations/desktop_agent_$language.qm"
done
"$bin/python" -m pytest -q tests/translation
