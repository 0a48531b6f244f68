import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "desktop_agent"
DOCUMENTS = [ROOT / "docs" / f"{name}.md" for name in ("architecture", "where-to-find-things", "glossary")]


@pytest.mark.parametrize("document", [*DOCUMENTS, ROOT / "CONTRIBUTING.md"], ids=lambda path: path.stem)
def test_every_path_that_a_document_names_exists(document: Path) -> None:
    named = re.findall(r"`((?:[a-z_]+/)+[\w.]*)`", document.read_text(encoding="utf-8"))
    paths = [path for path in named if not re.search(r"[A-Z]", path)]  # `PANEL` stands for any name
    assert paths
    missing = [path for path in paths if not any((base / path).exists() for base in (ROOT, PACKAGE, PACKAGE / "core"))]
    assert missing == []


def test_a_name_without_a_folder_stands_in_the_folder_before_it() -> None:
    rows = (ROOT / "docs" / "where-to-find-things.md").read_text(encoding="utf-8").splitlines()
    checked, missing = 0, list[str]()
    for row in rows:
        folder = PACKAGE
        for name in re.findall(r"`([\w./]+)`", row):
            if "/" in name:
                path = next(base / name for base in (PACKAGE, ROOT) if (base / name).exists())
                folder = path if path.is_dir() else path.parent
            elif name.endswith((".py", ".sh")):
                checked += 1
                missing += [] if (folder / name).exists() else [f"{name} in {folder}"]
    assert checked > 30
    assert missing == []
