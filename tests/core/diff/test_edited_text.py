"""Text edited by a user is written with exact bytes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.diff.edited_text import EditedText, edited_lines, editor_text, encode_edited
from desktop_agent.core.diff.text import BOM, read_text

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


CHARS = st.sampled_from(
    ["a", "b", " ", "\t", "\r", "\n", "\r\n", BOM, "\0", "\u2028", "\udcff", "é", "\U0001f600", "\U000f2028"]
)


@given(st.lists(CHARS, max_size=30).map("".join))
def test_a_text_that_was_not_edited_comes_back_to_the_byte(text: str) -> None:
    content = text.encode("utf-8", "surrogateescape")
    if (found := read_text(content)) is not None:
        assert encode_edited(found.lines, editor_text(found.lines), found.encoding) == content


@given(st.lists(CHARS, max_size=30).map("".join))
def test_an_editor_is_given_nothing_that_it_cannot_hold(text: str) -> None:
    shown = editor_text((text,) if text else ())
    assert not set(shown.removesuffix("\n")) & {"\r", "\0", "\u2028", "\udcff", BOM}


def test_untouched_lines_keep_their_endings_and_new_ones_end_like_their_neighbours() -> None:
    original = (BOM + "one\r\n", "two\n", "three\r\n", "last")
    edited = editor_text(original).replace("two\n", "two\nnew\n").replace("three\n", "three\nnewer\n")
    assert edited_lines(original, edited) == (BOM + "one\r\n", "two\n", "new\n", "three\r\n", "newer\r\n", "last")


def test_a_line_above_the_first_comes_behind_the_byte_order_mark() -> None:
    original = (BOM + "one\n",)
    assert edited_lines(original, "zero\n" + editor_text(original)) == (BOM + "zero\n", "one\n")


def test_the_last_newline_can_be_taken_away_and_added() -> None:
    assert edited_lines(("a\n", "b\n"), "a\nb") == ("a\n", "b")
    assert edited_lines(("a\r\n", "b"), "a\nb\n") == ("a\r\n", "b\r\n")
    assert edited_lines(("a\n",), "") == ()


def test_an_edited_line_keeps_the_bytes_that_are_no_text() -> None:
    original = ("caf\udce9 one\n",)
    edited = editor_text(original).replace("one", "two")
    assert encode_edited(original, edited, "utf-8") == b"caf\xe9 two\n"


def test_utf_16_stays_utf_16() -> None:
    content = (BOM + "a\r\nb\r\n").encode("utf-16-le")
    found = read_text(content)
    assert found is not None
    edited = editor_text(found.lines).replace("b", "c")
    assert encode_edited(found.lines, edited, found.encoding) == (BOM + "a\r\nc\r\n").encode("utf-16-le")
