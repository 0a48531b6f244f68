"""What the tree says in words."""

import os

import pytest

from desktop_agent.ui.files.file_words import describe_mark, displayed
from desktop_agent.ui.files.marks import FileMark


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (FileMark(), []),
        (FileMark("modified"), ["modified"]),
        (FileMark("renamed", renamed_from="old\nname"), ["renamed from old␊name"]),
        (FileMark("untracked", is_touched=True), ["new, not in git yet", "changed by the agent"]),
        (FileMark(None, "conflicted"), ["contains merge conflicts"]),
        (FileMark("ignored"), ["ignored by git"]),
    ],
)
def test_a_mark_is_described_in_words(mark: FileMark, words: list[str]) -> None:
    assert describe_mark(mark) == words


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("pages.py", "pages.py"),
        ("naïve 文 👩‍👩‍👧.txt", "naïve 文 👩‍👩‍👧.txt"),
        ("two\nlines\x1b[31m", "two␊lines␛[31m"),
        ("gpj\u202egnp.exe", "gpj⟨U+202E⟩gnp.exe"),
        (os.fsdecode(b"latin\xe9"), r"latin\xe9"),
    ],
)
def test_a_name_cannot_pretend_to_be_another(name: str, shown: str) -> None:
    assert displayed(name) == shown
