"""Paths in messages link to files of the open folder, and nothing else does."""

from itertools import pairwise

import pytest

from desktop_agent.ui.chat.markdown.parser import rich_text, utf16_slice
from desktop_agent.ui.chat.text.file_links import KnownFiles, file_of, names_alone, with_file_links

PATHS = frozenset(
    ("src/pages.py", "src/app.py", "tests/app.py", "Makefile", "a-b/[id]/page.tsx", "docs/\u00e9t\u00e9.md")
)


@pytest.fixture
def known() -> KnownFiles:
    files = KnownFiles()
    files.set_files("/home/ada/shop", PATHS, names_alone(PATHS))
    files.set_changed(["src/new.py"])
    return files


@pytest.mark.parametrize(
    ("said", "links"),
    [
        ("Look at src/pages.py:12.", [("src/pages.py:12", "src/pages.py", 12)]),
        ("Look at `src/pages.py`, please.", [("src/pages.py", "src/pages.py", 0)]),
        ("`src/pages.py:7`", [("src/pages.py:7", "src/pages.py", 7)]),
        ("In **src/pages.py** and ./src/new.py.", [
            ("src/pages.py", "src/pages.py", 0), ("./src/new.py", "src/new.py", 0),
        ]),
        ("/home/ada/shop/src/app.py:3:14", [("/home/ada/shop/src/app.py:3", "src/app.py", 3)]),
        ("`pages.py` is the only one of its name", [("pages.py", "src/pages.py", 0)]),
        ("app.py has a namesake", []),
        ("\U0001f600 src/app.py", [("src/app.py", "src/app.py", 0)]),
        ("docs/\u00e9t\u00e9.md and a-b/[id]/page.tsx#L4", [
            ("docs/\u00e9t\u00e9.md", "docs/\u00e9t\u00e9.md", 0), ("a-b/[id]/page.tsx#L4", "a-b/[id]/page.tsx", 4),
        ]),
        ("`python src/app.py` runs it", []),
        ("src/gone.py, /etc/passwd, ../src/app.py, notsrc/app.py", []),
        ("https://example.com/src/app.py", []),
        ("[here](src/pages.py)", [("src/pages.py", "src/pages.py", 0)]),
        ('File "src/app.py", line 31, in main', [('src/app.py", line 31', "src/app.py", 31)]),
        ("nothing", []),
    ],
)  # fmt: skip
def test_what_is_a_file_leads_there(known: KnownFiles, said: str, links: list[tuple[str, str, int]]) -> None:
    rich = with_file_links(rich_text(said, {}), known)
    found = [
        (utf16_slice(rich.text, span.start, span.start + span.length), *place)
        for span in rich.spans
        if (place := file_of(span.href)) is not None
    ]
    assert found == links
    assert rich.text == rich_text(said, {}).text
    ends = [(span.start, span.start + span.length) for span in rich.spans]
    assert all(end <= start for (_, end), (start, _) in pairwise(ends))


def test_without_known_files_nothing_is_a_link() -> None:
    rich = rich_text("`src/pages.py`", {})
    assert with_file_links(rich, KnownFiles()) is rich


def test_only_the_changes_of_the_conversation_that_is_shown_are_known(known: KnownFiles) -> None:
    known.set_changed(["src/other.py"])
    assert [known.find(path) for path in ("src/new.py", "src/other.py")] == ["", "src/other.py"]
