"""`template_block` inserts or replaces whole lines, and changes no byte of any other."""

from typing import Any

import pytest

from desktop_agent.core.tools.builtin.template_block import TemplateBlock
from tests.core.tools.conftest import Workspace

TOOL = TemplateBlock()
TEXT = "def a():\n    pass\n\n\ndef b():\n    pass\n"


def edit(work: Workspace, mode: str, anchor: str, template: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, path="a.py", mode=mode, anchor=anchor, template=template, **arguments)


def refusal(work: Workspace, mode: str, anchor: str, template: str, **arguments: object) -> str:
    return str(work.refused(TOOL, path="a.py", mode=mode, anchor=anchor, template=template, **arguments))


SHORTER = "a = 1\n\n\ndef b():\n    pass\n"


@pytest.mark.parametrize(
    ("mode", "anchor", "template", "more", "after", "line", "changed"),
    [
        ("insert_before", "def b", "# b\n", {}, TEXT.replace("def b", "# b\ndef b"), 5, 1),
        ("insert_after", "def b():\n    pa", "x\ny", {}, TEXT + "x\ny\n", 7, 2),
        ("insert_after", "def a():\n", "    x", {}, TEXT.replace("():\n", "():\n    x\n", 1), 2, 1),
        ("replace_block", "def a", "def A():", {}, TEXT.replace("def a", "def A"), 1, 1),
        ("replace_block", "def a():\n    pass", "a = 1", {}, SHORTER, 1, 1),
        ("replace_block", "def a", "a = 1", {"expected_block": "def a():\r\n    pass\r\n"}, SHORTER, 1, 1),
    ],
)
def test_each_mode_puts_the_template_where_it_was_meant(
    work: Workspace, mode: str, anchor: str, template: str, more: dict[str, str], after: str, line: int, changed: int
) -> None:  # T-69, T-71
    work.write("a.py", TEXT)
    answer = edit(work, mode, anchor, template, **more)
    assert answer == {"ok": True, "action": mode, "path": "a.py", "line": line, "lines_changed": changed}
    assert work.bytes_of("a.py").decode() == after


def test_an_anchor_that_is_not_there_is_answered_with_what_is(work: Workspace) -> None:  # T-70, E-08
    work.write("a.py", TEXT)
    message = refusal(work, "insert_after", "def  a():", "x")
    assert message.startswith("anchor does not occur in a.py. Nothing was changed.")
    assert "other white space are at line 1: def a():" in message
    assert "1: def a():" in refusal(work, "insert_after", "def aa():", "x")
    assert "search with grep" in refusal(work, "insert_after", "0123456789", "x")


def test_a_block_that_is_longer_than_the_file_is_refused(work: Workspace) -> None:  # T-70
    work.write("a.py", TEXT)
    assert "the file ends there" in refusal(work, "replace_block", "def b", "x", expected_block="def b():\n    pass\nx")
