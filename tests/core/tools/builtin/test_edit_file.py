"""`edit_file`: exactly what was asked for, or nothing and a good reason."""

import codecs
from typing import TYPE_CHECKING, Any

import pytest

from desktop_agent.core.base.errors import ToolError
from desktop_agent.core.system.files import digest_of
from desktop_agent.core.tools.builtin.edit_file import EditFile
from desktop_agent.core.tools.files import file_tool as target_module

if TYPE_CHECKING:
    from tests.core.tools.conftest import Workspace

TOOL = EditFile()


def edit(work: "Workspace", old_str: str, new_str: str, **arguments: object) -> dict[str, Any]:
    return work.apply(TOOL, path="a.py", old_str=old_str, new_str=new_str, **arguments)


def refusal(work: "Workspace", old_str: str, new_str: str, **arguments: object) -> str:
    before = work.bytes_of("a.py")
    with pytest.raises(ToolError) as caught:
        edit(work, old_str, new_str, **arguments)
    assert work.bytes_of("a.py") == before
    return str(caught.value)


def test_a_text_can_be_deleted(work: "Workspace") -> None:
    work.write("a.py", "one\ntwo\n")
    edit(work, "one\n", "")
    assert work.bytes_of("a.py") == b"two\n"


def test_a_text_that_occurs_twice_is_refused_with_its_lines(work: "Workspace") -> None:
    """Z-86."""
    work.write("a.py", "foo\nbar\nfoo foo\n")
    message = refusal(work, "foo", "x")
    assert "occurs 3 times" in message
    assert "lines 1, 3, 3" in message
    assert "replace_all" in message


def test_overlapping_occurrences_are_ambiguous_too(work: "Workspace") -> None:
    work.write("a.py", "aaa\n")
    assert "occurs 2 times" in refusal(work, "aa", "b")


def test_many_places_are_not_all_listed(work: "Workspace") -> None:
    work.write("a.py", "foo\n" * 500)
    message = refusal(work, "foo", "x")
    assert "occurs 500 times" in message
    assert len(message) < 400
    assert len(edit(work, "foo", "x", replace_all=True)["lines"]) == 10


# --- not found --------------------------------------------------------------------------------------------------------


def test_a_text_that_differs_in_white_space_is_shown_as_it_is(work: "Workspace") -> None:
    """T-40."""
    work.write("a.py", "def f():\n\tif x:\n\t\treturn  1\n")
    message = refusal(work, "    if x:\n        return 1", "pass")
    assert "white space are at line 2" in message
    assert message.endswith("\tif x:\n\t\treturn  1")


def test_a_text_that_is_not_there_is_answered_with_the_closest_lines(work: "Workspace") -> None:
    work.write("a.py", "import os\n\ndef compute_total(items):\n    return sum(items)\n")
    message = refusal(work, "def compute_totals(item):", "x")
    assert "does not occur in a.py. Nothing was changed." in message
    assert "3: def compute_total(items):" in message


def test_an_edit_that_was_made_before_is_recognised(work: "Workspace") -> None:
    work.write("a.py", "value = 2\n")
    assert "already there at line 1" in refusal(work, "something_else = 17", "value = 2")


def test_a_text_like_nothing_in_the_file_is_said(work: "Workspace") -> None:
    work.write("a.py", "abc\n")
    assert "Nothing in it resembles" in refusal(work, "0123456789" * 3, "x")
    assert "Nothing in it resembles" in refusal(work, "\n\n\n", "x")


def test_a_quoted_replacement_character_is_explained(work: "Workspace") -> None:
    work.write("a.py", b"caf\xe9 = 1\n")
    message = refusal(work, "caf\ufffd = 1", "x")
    assert "U+FFFD" in message
    message.encode()


# --- an empty old_str -------------------------------------------------------------------------------------------------


def test_an_empty_old_str_fills_an_empty_file(work: "Workspace") -> None:
    work.write("a.py").chmod(0o755)
    assert edit(work, "", "x\n")["action"] == "replace"
    assert work.bytes_of("a.py") == b"x\n"
    assert (work.root / "a.py").stat().st_mode & 0o777 == 0o755


# --- bytes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"a\r\nold\r\nb\r\n", b"a\r\nnew\r\nb\r\n"),
        (b"a\r\nold\nb\r\n", b"a\r\nnew\nb\r\n"),
        (codecs.BOM_UTF8 + b"old\r\n", codecs.BOM_UTF8 + b"new\r\n"),
        ("old größe\r\n".encode("utf-16"), "new größe\r\n".encode("utf-16")),
        (b"\xff\xfe\xfd old"[2:], b"\xfd new"),
        (b"a\rold\x0c\x85", b"a\rnew\x0c\x85"),
        (b"old", b"new"),
    ],
)
def test_everything_but_the_edit_stays(work: "Workspace", before: bytes, after: bytes) -> None:
    """Z-81: endings, byte-order mark, encoding, bytes that are no text, a missing final newline."""
    work.write("a.py", before)
    edit(work, "old", "new")
    assert work.bytes_of("a.py") == after


def test_line_endings_in_the_arguments_make_no_difference(work: "Workspace") -> None:
    work.write("a.py", b"one\ntwo\n")
    edit(work, "one\r\ntwo", "1\r\n2")
    assert work.bytes_of("a.py") == b"1\n2\n"
    assert "differ only in line endings" in refusal(work, "1\n2", "1\r\n2")


def test_the_plan_has_the_exact_bytes_before(work: "Workspace") -> None:
    """Z-76."""
    work.write("a.py", b"\xe9 old\r\n")
    (write,) = work.plan(TOOL, path="a.py", old_str="old", new_str="new").writes
    assert write.before is not None
    assert write.before.content == b"\xe9 old\r\n"


def test_a_file_that_is_too_large_to_undo_is_refused(work: "Workspace", monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(target_module, "LARGEST_EDITED_BYTES", 10)
    work.write("a.py", "old and long\n")
    assert "files up to 10 bytes" in refusal(work, "old", "new")


# --- which file -------------------------------------------------------------------------------------------------------


def test_a_file_that_was_deleted_since_it_was_read_is_refused(work: "Workspace") -> None:
    work.context.reads.note("a.py", digest_of(b"old\n"))
    with pytest.raises(ToolError, match="changed on disk"):
        edit(work, "", "new")
