"""`create_file`: whole files, never over one that exists unless that was said."""

import json
from typing import TYPE_CHECKING, Any

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.tools.builtin.create_file import CreateFile

if TYPE_CHECKING:
    from tests.core.tools.conftest import Workspace

TOOL = CreateFile()


def create(work: "Workspace", **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, **{"path": "a.txt", "content": "new\n", **arguments})


def test_a_new_file_is_written_with_its_parents(work: "Workspace") -> None:
    """T-46, T-47."""
    assert create(work, path="x/y/a.txt", content="größe\n") == {
        "ok": True,
        "action": "create",
        "path": "x/y/a.txt",
        "encoding": "utf-8",
        "bytes_written": 8,
    }
    assert work.bytes_of("x/y/a.txt") == "größe\n".encode()
    assert TOOL.title(TOOL.parse({"path": "a.txt"})) == "a.txt"


def test_a_file_may_be_empty(work: "Workspace") -> None:
    assert work.apply(TOOL, path="a.txt")["bytes_written"] == 0
    assert work.bytes_of("a.txt") == b""


def test_an_existing_file_is_an_error_by_default(work: "Workspace") -> None:
    """T-49."""
    work.write("a.txt", "old\n")
    with pytest.raises(ToolError, match="exists; nothing was written"):
        create(work)
    assert work.bytes_of("a.txt") == b"old\n"


def test_an_existing_file_can_be_overwritten(work: "Workspace") -> None:
    """T-50, Z-76: the bytes before are kept exactly."""
    work.write("a.txt", b"\xff\0old").chmod(0o640)
    plan = work.plan(TOOL, path="a.txt", content="new\n", if_exists="OVERWRITE")
    assert json.loads(plan.content)["action"] == "overwrite"
    (write,) = plan.writes
    assert write.before is not None
    assert write.after is not None
    assert (write.before.content, write.after.content) == (b"\xff\0old", b"new\n")
    assert write.after.mode == 0o640


def test_an_existing_file_can_be_skipped(work: "Workspace") -> None:
    """T-49."""
    work.write("a.txt", "old\n")
    answer = create(work, if_exists="Skip")
    assert (answer["action"], answer["bytes_written"]) == ("skip", 0)
    assert work.bytes_of("a.txt") == b"old\n"
    assert create(work, path="b.txt", if_exists="skip")["action"] == "create"


def test_parents_are_only_created_when_allowed(work: "Workspace") -> None:
    """T-48."""
    with pytest.raises(ToolError, match=r"parent directory missing: .*/x") as caught:
        create(work, path="x/a.txt", create_parents=False)
    assert caught.value.error_type == "not_found"
    assert create(work, create_parents=False)["ok"] is True


def test_the_encoding_can_be_chosen(work: "Workspace") -> None:
    answer = create(work, content="größe", encoding="latin-1")
    assert (answer["encoding"], answer["bytes_written"]) == ("latin-1", 5)
    assert work.bytes_of("a.txt") == "größe".encode("latin-1")


def test_characters_that_an_encoding_lacks_are_replaced_and_named(work: "Workspace") -> None:
    """T-47: replaced, but not without a word."""
    answer = create(work, content="grün €", encoding="ascii")
    assert "ü €" in answer["warning"]
    assert work.bytes_of("a.txt") == b"gr?n ?"
    assert "warning" not in create(work, path="b.txt", content="plain", encoding="ascii")
