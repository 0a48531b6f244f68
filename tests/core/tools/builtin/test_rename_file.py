"""`rename_file`: a file moves with its bytes and mode, and what it replaced can be brought back."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.changes.ledger import Ledger, LedgerWrite
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.tools.builtin.rename_file import RenameFile
from tests.core.undo.on_record import draft_of

if TYPE_CHECKING:
    from tests.core.tools.conftest import Workspace

TOOL = RenameFile()


def rename(work: "Workspace", source: str, dest: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, source_path=source, dest_path=dest, **arguments)


def everything(work: "Workspace") -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in work.root.rglob("*") if path.is_file()}


def refusal(work: "Workspace", source: str, dest: str, **arguments: object) -> ToolError:
    before = everything(work)
    with pytest.raises(ToolError) as caught:
        rename(work, source, dest, **arguments)
    assert everything(work) == before
    return caught.value


@pytest.mark.parametrize("content", [b"text\r\n", b"\0\xff binary", b""])
def test_a_file_moves_with_its_bytes_and_mode(work: "Workspace", content: bytes) -> None:
    """T-57, T-58, Z-76."""
    work.write("a", content).chmod(0o751)
    answer = rename(work, "a", "new/deep/b")
    assert answer == {"ok": True, "action": "rename", "source": "a", "dest": "new/deep/b", "overwritten": False}
    assert not (work.root / "a").exists()
    assert work.bytes_of("new/deep/b") == content
    assert (work.root / "new/deep/b").stat().st_mode & 0o777 == 0o751


def test_a_file_that_is_replaced_comes_back_with_undo(work: "Workspace", tmp_path: Path) -> None:
    """T-59, Z-79: both ends are recorded as files with their bytes."""
    work.write("a", b"moved")
    work.write("b", b"\0precious").chmod(0o600)
    plan = work.plan(TOOL, source_path="a", dest_path="b", overwrite=True)
    assert json.loads(plan.content)["overwritten"] is True
    ledger = Ledger(work.root, Blobs(tmp_path / "blobs"))
    changes = [
        ledger.record(write, author="agent", change_id=f"1.{number}") for number, write in enumerate(plan.writes)
    ]
    ledger.apply(changes)
    assert everything(work) == {str(work.root / "b"): b"moved"}
    draft = draft_of(ledger, "undo", changes)
    assert {outcome.state for outcome in draft.outcomes()} == {"restored"}
    undone = [
        ledger.record(write.transition, author="undo", change_id=f"2.{number}")
        for number, write in enumerate(draft.writes)
    ]
    assert ledger.apply_each([LedgerWrite(change) for change in undone]) == {}
    assert everything(work) == {str(work.root / "a"): b"moved", str(work.root / "b"): b"\0precious"}
    assert (work.root / "b").stat().st_mode & 0o777 == 0o600


def test_what_is_in_the_way_is_named(work: "Workspace") -> None:
    """T-57, T-58, Z-68."""
    work.write("a", "x")
    work.write("b", "y")
    (work.root / "folder").mkdir()
    assert "b exists; nothing was changed. Choose another name, or set overwrite" in str(refusal(work, "a", "b"))
    assert "folder: path is a directory" in str(refusal(work, "a", "folder", overwrite=True))
    assert "folder: path is a directory" in str(refusal(work, "folder", "c"))
    assert "is a file, not a directory" in str(refusal(work, "a", "b/c"))
    error = refusal(work, "nope", "c")
    assert "nope does not exist" in str(error)
    assert error.error_type == "not_found"
    error = refusal(work, "a", "missing/b", create_dest_parent=False)
    assert str(error) == f"parent directory missing: {work.root / 'missing'}"


@pytest.mark.parametrize("dest", ["a", "./a", "folder/../a"])
def test_the_same_path_twice_is_refused(work: "Workspace", dest: str) -> None:
    """T-57."""
    work.write("a", "x")
    (work.root / "folder").mkdir()
    assert "source and destination paths are identical" in str(refusal(work, "a", dest, overwrite=True))


def test_a_link_is_moved_itself(work: "Workspace") -> None:
    """Z-82."""
    work.write("real", "x")
    (work.root / "link").symlink_to("real")
    assert "note" not in rename(work, "link", "link2")
    assert (work.root / "link2").readlink() == Path("real")
    assert "somewhere else" in rename(work, "link2", "sub/link3")["note"]
    assert (work.root / "sub/link3").readlink() == Path("real")
    assert work.bytes_of("real") == b"x"


def test_a_link_does_not_replace_what_it_leads_to(work: "Workspace") -> None:
    """T-57: one would be lost, and the other lead to itself."""
    work.write("real", "x")
    (work.root / "link").symlink_to("real")
    assert "identical" in str(refusal(work, "link", "real", overwrite=True))
    rename(work, "real", "link", overwrite=True)
    assert everything(work) == {str(work.root / "link"): b"x"}
    assert not (work.root / "link").is_symlink()


def test_names_that_differ_only_in_case_are_two_files_where_they_are(work: "Workspace") -> None:
    work.write("a.py", "x")
    if not (work.root / "A.py").exists():
        rename(work, "a.py", "A.py")
        assert [path.name for path in work.root.iterdir()] == ["A.py"]


def test_names_that_differ_only_in_case_are_refused_where_they_are_one_file(work: "Workspace") -> None:
    """A hard link stands in for the file system: two names, one file."""
    work.write("a.py", "x")
    if not (work.root / "A.py").exists():
        os.link(work.root / "a.py", work.root / "A.py")
    assert "only in upper and lower case" in str(refusal(work, "a.py", "A.py", overwrite=True))


@pytest.mark.parametrize("path", ["../x", "/etc/x", ".git/x", "."])
def test_a_path_that_must_not_be_written_is_refused(work: "Workspace", path: str) -> None:
    """Z-90."""
    work.write("a", "x")
    refusal(work, "a", path)
    refusal(work, path, "b")


def test_a_file_that_changed_since_it_was_read_is_refused(work: "Workspace") -> None:
    """T-81, Z-85: at both ends."""
    work.write("a", "x")
    work.write("b", "y")
    work.context.reads.note("b", digest_of(b"older"))
    assert "b changed on disk" in str(refusal(work, "a", "b", overwrite=True))
    assert "b changed on disk" in str(refusal(work, "b", "c"))


def test_both_ends_name_each_other(work: "Workspace") -> None:
    work.write("a", b"moved")
    work.write("b", b"replaced")
    work.write("same", b"moved")
    over = work.plan(TOOL, source_path="a", dest_path="b", overwrite=True)
    assert [(w.path, w.moved_from, w.moved_to) for w in over.writes] == [("b", "a", ""), ("a", "", "b")]
    # Where the very same file is there already, one of two goes, and nothing arrives.
    onto_its_like = work.plan(TOOL, source_path="a", dest_path="same", overwrite=True)
    assert [(w.path, w.moved_to) for w in onto_its_like.writes if w.before != w.after] == [("a", "")]
