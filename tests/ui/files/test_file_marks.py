"""What git and the agent say about files, looked up and in words."""

import os

import pytest

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.system.git.repository import FileStatus
from desktop_agent.ui.files.file_marks import FileMark, FileMarks, describe_mark

FILES = {
    "src/a.py": FileStatus(state="modified"),
    "new": FileStatus(state="untracked", is_folder=True),
    "new/junk.pyc": FileStatus(state="ignored"),
    "build": FileStatus(state="ignored", is_folder=True),
    "docs/b.md": FileStatus(state="renamed", renamed_from="docs/a.md"),
    "gone.py": FileStatus(state="deleted"),
}
MARKS = FileMarks(FILES, {"src": "modified", "new": "added", "docs": "modified"}, ["src/a.py", "lib/deep/c.py"])


def test_a_file_has_its_own_state() -> None:
    assert MARKS.of("docs/b.md", is_dir=False) == FileMark("renamed", None, False, "docs/a.md")
    assert MARKS.of("src/clean.py", is_dir=False) == FileMark()


def test_files_in_an_untracked_or_ignored_folder_share_its_state() -> None:
    assert MARKS.of("new/deep/file", is_dir=False).state == "untracked"
    assert MARKS.of("new/junk.pyc", is_dir=False).is_ignored
    assert MARKS.of("build/lib/out.o", is_dir=False).is_ignored
    assert MARKS.of("builder/out.o", is_dir=False) == FileMark()


def test_a_folder_carries_what_is_below_it() -> None:
    assert MARKS.of("src", is_dir=True) == FileMark(None, "modified", True)
    assert MARKS.of("src", is_dir=False) == FileMark()


def test_what_the_agent_touched_marks_every_folder_above() -> None:
    assert MARKS.of("lib/deep/c.py", is_dir=False).is_touched
    assert MARKS.of("lib/deep", is_dir=True).is_touched
    assert MARKS.of("lib", is_dir=True).is_touched
    assert not MARKS.with_touched([]).of("lib", is_dir=True).is_touched


def test_folders_of_different_depth_are_all_marked_and_no_others() -> None:
    marks = FileMarks(touched=["a/b/c/d.py", "a/e.py", "f.py", "g/b/h.py"])
    assert all(marks.of(folder, is_dir=True).is_touched for folder in ("a", "a/b", "a/b/c", "g", "g/b"))
    assert not any(marks.of(folder, is_dir=True).is_touched for folder in ("", "b", "c", "a/e.py/x"))


def test_a_deleted_file_is_known_to_be_gone() -> None:
    assert MARKS.is_deleted("gone.py")
    assert not MARKS.is_deleted("src/a.py")


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
    assert named(name) == shown
