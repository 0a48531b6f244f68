"""What the tree says in words."""

import os

import pytest

from desktop_agent.ui.files.marks import Mark
from desktop_agent.ui.files.words import describe_mark, displayed


@pytest.mark.parametrize(
    ("mark", "words"),
    [
        (Mark(), []),
        (Mark("modified"), ["modified"]),
        (Mark("renamed", renamed_from="old\nname"), ["renamed from old␊name"]),
        (Mark("untracked", is_touched=True), ["new, not in git yet", "changed by the agent"]),
        (Mark(None, "conflicted"), ["contains merge conflicts"]),
        (Mark("ignored"), ["ignored by git"]),
    ],
)
def test_a_mark_is_told_in_words(mark: Mark, words: list[str]) -> None:
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
