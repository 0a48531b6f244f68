"""From exact bytes to an editor's text and back."""

from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.diff.text import BOM, read_text
from desktop_agent.core.merge.edited_lines import edited_lines, editor_text, encode_edited

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
