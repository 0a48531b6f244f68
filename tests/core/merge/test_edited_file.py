"""Edited text keeps every byte that was not edited."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.diff.text import read_text
from desktop_agent.core.merge.edited_file import EditedText

odd = st.text(alphabet="ab\n\r\0\u2028\u2029\ufeff\u00a0\ue000🎉é", max_size=40)


def edited(content: bytes) -> EditedText:
    text = read_text(content)
    assert text is not None
    return EditedText(text)


@given(content=odd.map(str.encode) | st.binary(max_size=40))
def test_text_that_was_not_touched_is_the_same_bytes(content: bytes) -> None:
    text = read_text(content)
    if text is not None:
        field = EditedText(text)
        assert field.encoded(field.shown) == content


@given(content=odd, more=st.text(alphabet="xy", min_size=1, max_size=5))
def test_a_line_in_front_changes_nothing_behind_it(content: str, more: str) -> None:
    text = read_text(content.encode())
    if text is None or not text.lines or text.has_bom:
        return
    field = EditedText(text)
    ending = field.encoded(f"{more}\n{field.shown}").removesuffix(content.encode())
    assert ending in (f"{more}\n".encode(), f"{more}\r\n".encode())


@given(content=odd)
def test_a_field_can_hold_what_is_shown(content: str) -> None:
    text = read_text(content.encode())
    if text is not None:
        shown = EditedText(text).shown
        assert not set(shown) & {"\r", "\0", "\u2028", "\u2029"}
        shown.encode()  # no lone surrogates


@pytest.mark.parametrize(
    ("before", "now", "after"),
    [
        (b"a\nb\n", "a\nB\n", b"a\nB\n"),
        (b"a\nb", "a\nb\nc", b"a\nb\nc"),
        (b"a\r\nb\r\n", "a\nnew\nb\n", b"a\r\nnew\r\nb\r\n"),
        (b"a\r\nb\nc\n", "a\nb\nc\nd\n", b"a\r\nb\nc\nd\n"),
        (b"a\r\nb\nc\n", "A\nb\nc\n", b"A\r\nb\nc\n"),
        (b"a\r\nb\nc\n", "new\na\nb\nc\n", b"new\na\r\nb\nc\n"),
        (b"", "new\n", b"new\n"),
        (b"a\n", "", b""),
        (b"a\n", "a", b"a"),
        (b"\xef\xbb\xbfa\n", "b\n", b"\xef\xbb\xbfb\n"),
        (b"\xff\xfea\0\r\0\n\0", "b\n", b"\xff\xfeb\0\r\0\n\0"),
        (b"caf\xe9\nb\n", "café\nc\n", "café\nc\n".encode()),
    ],
)
def test_edits_keep_endings_mark_and_encoding(before: bytes, now: str, after: bytes) -> None:
    assert edited(before).encoded(now) == after


def test_bytes_that_are_no_text_survive_beside_an_edit() -> None:
    field = edited(b"caf\xe9\nlone\rreturn\nb\n")
    assert field.encoded(field.shown.replace("b\n", "c\n")) == b"caf\xe9\nlone\rreturn\nc\n"
