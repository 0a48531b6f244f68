"""`template_block`: whole lines beside an anchor or in place of a block, and no byte of any other."""

from typing import TYPE_CHECKING, Any

import pytest

from desktop_agent.core.tools.builtin.template_block import TemplateBlock

if TYPE_CHECKING:
    from tests.core.tools.conftest import Workspace

TOOL = TemplateBlock()
TEXT = "def a():\n    pass\n\n\ndef b():\n    pass\n"


def edit(work: "Workspace", mode: str, anchor: str, template: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, path="a.py", mode=mode, anchor=anchor, template=template, **arguments)


def refusal(work: "Workspace", mode: str, anchor: str, template: str, **arguments: object) -> str:
    return str(work.refused(TOOL, path="a.py", mode=mode, anchor=anchor, template=template, **arguments))


@pytest.mark.parametrize(
    ("arguments", "after", "line", "changed"),
    [
        (
            {"mode": "insert_before", "anchor": "def b", "template": "# b\n"},
            "def a():\n    pass\n\n\n# b\ndef b():\n    pass\n",
            5,
            1,
        ),
        ({"mode": "insert_after", "anchor": "def b():\n    pa", "template": "x\ny"}, TEXT + "x\ny\n", 7, 2),
        (
            {"mode": "insert_after", "anchor": "def a():\n", "template": "    x"},
            TEXT.replace("():\n", "():\n    x\n", 1),
            2,
            1,
        ),
        ({"mode": "replace_block", "anchor": "def a", "template": "def A():"}, TEXT.replace("def a", "def A"), 1, 1),
        (
            {"mode": "replace_block", "anchor": "def a():\n    pass", "template": "a = 1"},
            "a = 1\n\n\ndef b():\n    pass\n",
            1,
            1,
        ),
        (
            {
                "mode": "replace_block",
                "anchor": "def a",
                "template": "a = 1",
                "expected_block": "def a():\r\n    pass\r\n",
            },
            "a = 1\n\n\ndef b():\n    pass\n",
            1,
            1,
        ),
    ],
)
def test_each_mode_puts_the_template_where_it_was_meant(
    work: "Workspace", arguments: dict[str, object], after: str, line: int, changed: int
) -> None:
    """T-69, T-71."""
    work.write("a.py", TEXT)
    answer = work.apply(TOOL, path="a.py", **arguments)
    assert answer == {
        "ok": True,
        "action": arguments["mode"],
        "path": "a.py",
        "line": line,
        "lines_changed": changed,
    }
    assert work.bytes_of("a.py").decode() == after


def test_an_anchor_that_is_not_there_is_answered_with_what_is(work: "Workspace") -> None:
    """T-70, E-08."""
    work.write("a.py", TEXT)
    message = refusal(work, "insert_after", "def  a():", "x")
    assert message.startswith("anchor does not occur in a.py. Nothing was changed.")
    assert "other white space are at line 1: def a():" in message
    assert "1: def a():" in refusal(work, "insert_after", "def aa():", "x")
    assert "search with grep" in refusal(work, "insert_after", "0123456789", "x")


def test_a_block_that_is_longer_than_the_file_is_refused(work: "Workspace") -> None:
    """T-70."""
    work.write("a.py", TEXT)
    assert "the file ends there" in refusal(work, "replace_block", "def b", "x", expected_block="def b():\n    pass\nx")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nanchor\r\nb\n", b"a\r\nanchor\r\nx\r\ny\r\nb\n"),
        (b"a\n\xff anchor \x0c\x85", b"a\n\xff anchor \x0c\x85\nx\ny"),
        (b"\xef\xbb\xbfanchor\r\n", b"\xef\xbb\xbfanchor\r\nx\r\ny\r\n"),
        ("anchor\r\nb".encode("utf-16"), "anchor\r\nx\r\ny\r\nb".encode("utf-16")),
    ],
)
def test_everything_but_the_template_stays(work: "Workspace", before: bytes, after: bytes) -> None:
    """Z-81, Z-82."""
    work.write("a.py", before).chmod(0o750)
    edit(work, "insert_after", "anchor", "x\ny\n")
    assert work.bytes_of("a.py") == after
    assert (work.root / "a.py").stat().st_mode & 0o777 == 0o750
