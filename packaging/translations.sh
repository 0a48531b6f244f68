#!/usr/bin/env bash
# Brings the translations up to date, in packaging/translations/*.ts and resources/translations/: both are kept in the
# repository. `bash packaging/translations.sh fr` adds a language; see docs/guide/translations.md.
set -euo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/setup.sh"

make_venv "$root/packaging/requirements-test.txt"

cd "$root"
"$venv/bin/python" packaging/tools/translations.py "$@"
"$venv/bin/python" -m pytest -q tests/translation tests/contracts/test_translations.py tests/contracts/test_texts_are_translated.py
