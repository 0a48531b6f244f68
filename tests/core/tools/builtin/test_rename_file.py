"""`rename_file`: a file moves with its bytes and mode, and a replaced file can be restored."""

import os
from pathlib import Path
from typing import Any

import pytest

from desktop_agent.core.system.files import digest_of
from desktop_agent.core.tools.builtin.rename_file import RenameFile
from tests.core.tools.conftest import Workspace

TOOL = RenameFile()


def rename(work: Workspace, source: str, dest: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, source_path=source, dest_path=dest, **arguments)


def refusal(work: Workspace, source: str, dest: str, **arguments: object) -> str:
    return str(work.refused(TOOL, source_path=source, dest_path=dest, **arguments))


@pytest.mark.parametrize("content", [b"text\r\n", b"\0\xff binary", b""])
def test_a_file_moves_with_its_bytes_and_mode(work: Workspace, content: bytes) -> None:  # T-57, T-58, Z-76
    work.write("a", content).chmod(0o751)
    answer = rename(work, "a", "new/deep/b")
    assert answer == {"ok": True, "action": "rename", "source": "a", "dest": "new/deep/b", "overwritten": False}
    assert not (work.root / "a").exists()
    assert work.bytes_of("new/deep/b") == content
    assert (work.root / "new/deep/b").stat().st_mode & 0o777 == 0o751


def test_what_is_in_the_way_is_named(work: Workspace) -> None:  # T-57, T-58, Z-68
    work.write("a", "x")
    work.write("b", "y")
    (work.root / "folder").mkdir()
    assert "folder: path is a directory" in refusal(work, "a", "folder", overwrite=True)
    assert "is a file, not a directory" in refusal(work, "a", "b/c")


def test_a_link_is_moved_itself(work: Workspace) -> None:  # Z-82
    work.write("real", "x")
    (work.root / "link").symlink_to("real")
    assert "note" not in rename(work, "link", "link2")
    assert (work.root / "link2").readlink() == Path("real")
    assert "somewhere else" in rename(work, "link2", "sub/link3")["note"]
    assert (work.root / "sub/link3").readlink() == Path("real")
    assert work.bytes_of("real") == b"x"


def test_a_link_does_not_replace_what_it_leads_to(work: Workspace) -> None:
    """T-57: the file would be lost, and the link would point to itself."""
    work.write("real", "x")
    (work.root / "link").symlink_to("real")
    assert "identical" in refusal(work, "link", "real", overwrite=True)
    rename(work, "real", "link", overwrite=True)
    assert work.everything() == {str(work.root / "link"): b"x"}
    assert not (work.root / "link").is_symlink()


def test_names_that_differ_only_in_case_are_two_files_where_they_are(work: Workspace) -> None:
    work.write("a.py", "x")
    if not (work.root / "A.py").exists():
        rename(work, "a.py", "A.py")
        assert [path.name for path in work.root.iterdir()] == ["A.py"]


def test_names_that_differ_only_in_case_are_refused_where_they_are_one_file(work: Workspace) -> None:
    """A hard link replaces the file system: two names, one file."""
    work.write("a.py", "x")
    if not (work.root / "A.py").exists():
        os.link(work.root / "a.py", work.root / "A.py")
    assert "only in upper and lower case" in refusal(work, "a.py", "A.py", overwrite=True)


@pytest.mark.parametrize("path", ["../x", "/etc/x", ".git/x", "."])
def test_a_path_that_must_not_be_written_is_refused(work: Workspace, path: str) -> None:  # Z-90
    work.write("a", "x")
    refusal(work, "a", path)
    refusal(work, path, "b")


def test_a_file_that_changed_since_it_was_read_is_refused(work: Workspace) -> None:
    """T-81, Z-85: at both ends."""
    work.write("a", "x")
    work.write("b", "y")
    work.context.reads.note("b", digest_of(b"older"))
    assert "b changed on disk" in refusal(work, "a", "b", overwrite=True)
    assert "b changed on disk" in refusal(work, "b", "c")


def test_both_ends_name_each_other(work: Workspace) -> None:
    work.write("a", b"moved")
    work.write("b", b"replaced")
    work.write("same", b"moved")
    over = work.plan(TOOL, source_path="a", dest_path="b", overwrite=True)
    assert [(w.path, w.moved_from, w.moved_to) for w in over.writes] == [("b", "a", ""), ("a", "", "b")]
    # If the same file already has the new name, one of two names goes, and none is added.
    onto_its_like = work.plan(TOOL, source_path="a", dest_path="same", overwrite=True)
    assert [(w.path, w.moved_to) for w in onto_its_like.writes if w.before != w.after] == [("a", "")]
