"""`line_edit` changes the meant lines, and no byte of any other."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from desktop_agent.core.system.files import digest_of
from desktop_agent.core.tools.builtin.line_edit import LineEdit
from tests.core.tools.conftest import Workspace

TOOL = LineEdit()


def edit(work: Workspace, mode: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, path="a.txt", mode=mode, **arguments)


def refusal(work: Workspace, mode: str, **arguments: object) -> str:
    return str(work.refused(TOOL, path="a.txt", mode=mode, **arguments))


@pytest.mark.parametrize(
    ("arguments", "after", "line", "changed"),
    [
        ({"mode": "insert_before", "line": 2, "text": "x\ny"}, "one\nx\ny\ntwo\nthree\n", 2, 2),
        ({"mode": "insert_after", "line": 3, "text": "x\n"}, "one\ntwo\nthree\nx\n", 4, 1),
        ({"mode": "replace", "line": 2, "text": "2"}, "one\n2\nthree\n", 2, 1),
        ({"mode": "replace", "line": 1, "line_count": 2, "text": "1"}, "1\nthree\n", 1, 2),
        ({"mode": "delete", "line": 2}, "one\nthree\n", 2, 1),
        ({"mode": "delete", "line": 1, "line_count": 3}, "", 1, 3),
        ({"mode": "REPLACE", "anchor": "wo", "text": "\n"}, "one\n\nthree\n", 2, 1),
        ({"mode": "Insert_After", "anchor": "one", "text": "x\r\ny"}, "one\nx\ny\ntwo\nthree\n", 2, 2),
    ],
)
def test_each_mode_changes_the_lines_that_were_meant(
    work: Workspace, arguments: dict[str, object], after: str, line: int, changed: int
) -> None:  # T-62, T-65
    work.write("a.txt", "one\ntwo\nthree\n")
    answer = work.apply(TOOL, path="a.txt", **arguments)
    mode = str(arguments["mode"]).lower()
    assert answer == {"ok": True, "action": mode, "path": "a.txt", "line": line, "lines_changed": changed}
    assert work.bytes_of("a.txt").decode() == after


def test_an_anchor_on_several_lines_means_the_first_unless_told(work: Workspace) -> None:  # T-62
    work.write("a.txt", "x 1\ny\nx 2\nx 3\n")
    assert edit(work, "replace", anchor="x", text="z")["note"] == "anchor is on 3 lines; this was occurrence 1"
    assert edit(work, "delete", anchor="x", occurrence=2)["line"] == 4
    assert work.bytes_of("a.txt") == b"z\ny\nx 2\n"


def test_an_anchor_that_is_not_there_is_answered_with_what_is(work: Workspace) -> None:  # E-08
    work.write("a.txt", "def compute():\n    pass\n")
    assert "1: def compute():" in refusal(work, "delete", anchor="def comptue():")
    assert "search with grep" in refusal(work, "delete", anchor="0123456789")


def test_an_empty_file_takes_a_first_line(work: Workspace) -> None:
    for mode in ("insert_before", "insert_after"):
        work.write("a.txt")
        work.context.reads.note("a.txt", digest_of(b""))
        edit(work, mode, line=1, text="x")
        assert work.bytes_of("a.txt") == b"x\n"
    work.write("a.txt")
    work.context.reads.note("a.txt", digest_of(b""))
    assert "has 0 lines" in refusal(work, "replace", line=1, text="x")


LINES = st.lists(st.sampled_from([b"a\n", b"b\r\n", b"\xff\x0c\n", "é\u2028\r\n".encode(), b"\n"]), min_size=1)


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(lines=LINES, end=st.sampled_from([b"", b"end"]), data=st.data())
def test_all_other_lines_keep_their_bytes(work: Workspace, lines: list[bytes], end: bytes, data: st.DataObject) -> None:
    """Z-81, for any file and any line."""
    content = b"".join(lines) + end
    count = len(lines) + bool(end)
    work.write("a.txt", content)
    work.context.reads.note("a.txt", digest_of(content))
    mode = data.draw(st.sampled_from(["insert_before", "insert_after", "replace", "delete"]))
    line = data.draw(st.integers(1, count))
    edit(work, mode, line=line, **({} if mode == "delete" else {"text": "new"}))
    after = work.bytes_of("a.txt")
    whole = [*lines, *([end] if end else [])]
    first = line - 1 + (mode == "insert_after")
    rest = b"".join(whole[line - 1 + (mode != "insert_before") :])
    assert after.startswith(b"".join(whole[:first]))
    assert after.endswith(rest)
    if mode != "delete":
        assert after.endswith(b"\n") == content.endswith(b"\n")
