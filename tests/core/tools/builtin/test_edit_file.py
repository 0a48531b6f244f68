"""`edit_file`: the exact edit, or nothing and a reason."""

from typing import Any

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.tools.builtin.edit_file import EditFile
from desktop_agent.core.tools.files import file_tool as target_module
from tests.core.tools.conftest import Workspace

TOOL = EditFile()


def edit(work: Workspace, old_str: str, new_str: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, path="a.py", old_str=old_str, new_str=new_str, **arguments)


def refusal(work: Workspace, old_str: str, new_str: str) -> str:
    return str(work.refused(TOOL, path="a.py", old_str=old_str, new_str=new_str))


def test_many_places_are_not_all_listed(work: Workspace) -> None:
    work.write("a.py", "foo\n" * 500)
    message = refusal(work, "foo", "x")
    assert "occurs 500 times" in message
    assert len(message) < 400
    assert len(edit(work, "foo", "x", replace_all=True)["lines"]) == 10


@pytest.mark.parametrize(
    ("content", "old", "new", "message"),
    [
        ("aaa\n", "aa", "b", "occurs 2 times"),
        ("def f():\n\tif x:\n\t\treturn  1\n", "    if x:\n        return 1", "pass",
         "white space are at line 2; quote them exactly:\n\tif x:\n\t\treturn  1"),
        ("import os\n\ndef compute_total(items):\n    pass\n", "def compute_totals(item):", "x",
         "old_str are:\n3: def compute_total(items):"),
        ("value = 2\n", "something_else = 17", "value = 2", "already there at line 1"),
        ("abc\n", "0123456789" * 3, "x", "Nothing in it resembles"),
        ("abc\n", "\n\n\n", "x", "Nothing in it resembles"),
        (b"caf\xe9 = 1\n", "caf\ufffd = 1", "x", "U+FFFD"),
    ],
)  # fmt: skip
def test_a_text_that_does_not_occur_once_is_answered_with_what_is_there(
    work: Workspace, content: str | bytes, old: str, new: str, message: str
) -> None:  # T-40, Z-86
    work.write("a.py", content)
    assert message in refusal(work, old, new)


def test_an_empty_old_str_fills_an_empty_file(work: Workspace) -> None:
    work.write("a.py").chmod(0o755)
    assert edit(work, "", "x\n")["action"] == "replace"
    assert work.bytes_of("a.py") == b"x\n"
    assert (work.root / "a.py").stat().st_mode & 0o777 == 0o755


def test_line_endings_in_the_arguments_make_no_difference(work: Workspace) -> None:
    work.write("a.py", b"one\ntwo\n")
    edit(work, "one\r\ntwo", "1\r\n2")
    assert work.bytes_of("a.py") == b"1\n2\n"
    assert "differ only in line endings" in refusal(work, "1\n2", "1\r\n2")


def test_a_file_that_is_too_large_to_undo_is_refused(work: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "LARGEST_EDITED_BYTES", 10)
    work.write("a.py", "old and long\n")
    assert "files up to 10 bytes" in refusal(work, "old", "new")


def test_a_file_that_was_deleted_since_it_was_read_is_refused(work: Workspace) -> None:
    work.context.reads.note("a.py", digest_of(b"old\n"))
    with pytest.raises(ToolError, match="changed on disk"):
        edit(work, "", "new")
