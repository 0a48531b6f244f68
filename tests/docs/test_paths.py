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
