"""Links between the documents lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def anchors(document: Path) -> set[str]:
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_link_leads_to_a_file_and_a_heading_of_it(document: Path) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", document.read_text(encoding="utf-8"))
    broken = [
        f"{path}#{anchor}"
        for path, anchor in links
        if not (target := (document.parent / path) if path else document).exists()
        or (anchor and anchor not in anchors(target))
    ]
    assert broken == []
