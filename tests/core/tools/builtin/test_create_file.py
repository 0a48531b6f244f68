"""`create_file`: whole files, never over one that exists unless that was said."""

import json
from typing import TYPE_CHECKING, Any

from desktop_agent.core.tools.builtin.create_file import CreateFile

if TYPE_CHECKING:
    from tests.core.tools.conftest import Workspace

TOOL = CreateFile()


def create(work: "Workspace", **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, **{"path": "a.txt", "content": "new\n", **arguments})


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


def test_characters_that_an_encoding_lacks_are_replaced_and_named(work: "Workspace") -> None:
    """T-47: replaced, but not without a word."""
    answer = create(work, content="grün €", encoding="ascii")
    assert "ü €" in answer["warning"]
    assert work.bytes_of("a.txt") == b"gr?n ?"
    assert "warning" not in create(work, path="b.txt", content="plain", encoding="ascii")
