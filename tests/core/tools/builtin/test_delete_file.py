"""`delete_file`: one file or one link, nothing else."""

from typing import TYPE_CHECKING

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
