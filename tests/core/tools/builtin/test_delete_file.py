"""`delete_file`: one file or one link, nothing else."""

import json
from typing import TYPE_CHECKING

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.tools.builtin.delete_file import DeleteFile

if TYPE_CHECKING:
    from tests.core.tools.conftest import Workspace

TOOL = DeleteFile()


def test_a_file_is_deleted_with_its_exact_bytes_on_record(work: "Workspace") -> None:
    """T-54, Z-76: also when it is not text."""
    work.write("x/a.bin", b"\xff\0").chmod(0o600)
    plan = work.plan(TOOL, path="x/a.bin")
    (write,) = plan.writes
    assert (write.path, write.after) == ("x/a.bin", None)
    assert write.before is not None
    assert (write.before.content, write.before.mode) == (b"\xff\0", 0o600)
    assert work.apply(TOOL, path="x/a.bin") == {"ok": True, "path": "x/a.bin"}
    assert not (work.root / "x/a.bin").exists()
    assert TOOL.title(TOOL.parse({"path": "x/a.bin"})) == "x/a.bin"


def test_a_missing_file_is_no_error(work: "Workspace") -> None:
    """T-53."""
    plan = work.plan(TOOL, path="a.txt")
    assert plan.writes == ()
    assert json.loads(plan.content) == {"ok": True, "path": "a.txt", "note": "file did not exist"}


def test_a_directory_is_refused(work: "Workspace") -> None:
    """T-53."""
    work.write("folder/a.txt")
    with pytest.raises(ToolError, match="path is a directory"):
        work.plan(TOOL, path="folder")


def test_a_link_is_deleted_instead_of_what_it_points_to(work: "Workspace") -> None:
    work.write("real.txt", "x")
    (work.root / "link").symlink_to("real.txt")
    work.apply(TOOL, path="link")
    assert not (work.root / "link").is_symlink()
    assert work.bytes_of("real.txt") == b"x"
