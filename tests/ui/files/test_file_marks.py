import os

import pytest

from desktop_agent.core.base.plain_text import named
from desktop_agent.core.system.git.repository import FileStatus
from desktop_agent.ui.files.file_tree_model import FileMark, FileMarks, describe_mark

FILES = {
    "src/a.py": FileStatus(state="modified"),
    "new": FileStatus(state="untracked", is_folder=True),
    "new/junk.pyc": FileStatus(state="ignored"),
    "build": FileStatus(state="ignored", is_folder=True),
    "docs/b.md": FileStatus(state="renamed", renamed_from="docs/a.md"),
    "gone.py": FileStatus(state="deleted"),
}
MARKS = FileMarks(FILES, {"src": "modified", "new": "added", "docs": "modified"}, ["src/a.py", "lib/deep/c.py"])


@pytest.mark.parametrize(
    ("path", "is_dir", "mark"),
    [
        ("docs/b.md", False, FileMark("renamed", renamed_from="docs/a.md")),
        ("src/clean.py", False, FileMark()),
        ("new/deep/file", False, FileMark("untracked")),
        ("new/junk.pyc", False, FileMark("ignored")),
        ("build/lib/out.o", False, FileMark("ignored")),
        ("builder/out.o", False, FileMark()),
        ("src", True, FileMark(None, "modified", is_touched=True)),
        ("src", False, FileMark()),
    ],
)
def test_a_path_has_its_own_state_or_that_of_its_folder(path: str, is_dir: bool, mark: FileMark) -> None:
    assert MARKS.of(path, is_dir=is_dir) == mark


def test_what_the_agent_touched_marks_all_folders_above_and_no_others() -> None:
    marks = FileMarks(touched=["a/b/c/d.py", "a/e.py", "f.py", "g/b/h.py"])
    assert all(marks.of(folder, is_dir=True).is_touched for folder in ("a", "a/b", "a/b/c", "g", "g/b"))
    assert not any(marks.of(folder, is_dir=True).is_touched for folder in ("", "b", "c", "a/e.py/x"))
    assert marks.of("f.py", is_dir=False).is_touched
    assert not marks.with_touched([]).of("a", is_dir=True).is_touched


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
