"""Text as the model sees it, and exact bytes on the way back."""

import codecs

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.tools.files.text_files import NotTextError, TextFile


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (b"a\nb\n", "a\nb\n"),
        (b"a\r\nb", "a\nb"),
        (b"a\rb\n", "a\rb\n"),
        (codecs.BOM_UTF8 + b"a\r\n", "a\n"),
        ("größe\n".encode("utf-16"), "größe\n"),
        (codecs.BOM_UTF16_BE + "a\r\n".encode("utf-16-be"), "a\n"),
        ("x\n".encode("utf-32"), "x\n"),
        (b"", ""),
    ],
)
def test_text_is_seen_without_what_is_invisible(content: bytes, text: str) -> None:
    assert TextFile(content).text == text


@pytest.mark.parametrize("content", [b"a\0b", b"\x89PNG\r\n\x1a\n\0\0", codecs.BOM_UTF16_LE + b"odd"])
def test_what_is_not_text_is_said(content: bytes) -> None:
    with pytest.raises(NotTextError):
        TextFile(content)


@given(st.text(max_size=50), st.text(max_size=20), st.sampled_from(["utf-8", "utf-16", "utf-32"]))
def test_editing_back_restores_the_exact_bytes(text: str, other: str, encoding: str) -> None:
    old, new = "«old»", f"«{other.replace(chr(13), '').replace(chr(10), '')}»"
    if encoding == "utf-8" and "\0" in text + new:
        return
    if encoding == "utf-16" and text.startswith("\0"):  # the same bytes as the mark of UTF-32
        return
    content = (text + old).encode(encoding)
    if TextFile(content).text.count(new):
        return
    there = TextFile(content).replace(old, new).content
    assert TextFile(there).replace(new, old).content == content


@pytest.mark.parametrize(
    ("content", "old", "new", "expected"),
    [
        (b"a\r\nb\r\n", "b", "B", b"a\r\nB\r\n"),
        (b"a\r\nb\r\n", "a\nb\n", "a\nx\nb\n", b"a\r\nx\r\nb\r\n"),
        (b"a\r\nb", "b", "b\nc", b"a\r\nb\r\nc"),
        (b"a", "a", "a\nb", b"a\nb"),
        (b"x\r\na\nb\r\nc\n", "a\nb\nc\n", "a\nB\nc\n", b"x\r\na\nB\r\nc\n"),
        (b"a\r\nb\nc\r\n", "a\nb\nc\n", "a\nc\n", b"a\r\nc\r\n"),
        (b"a\r\nb\n", "a\nb\n", "a\nx\nb\n", b"a\r\nx\r\nb\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "z\ny\nx\nw", b"z\ny\r\nx\r\nw\n"),
        (b"a\r\nb\r\nc\r\n", "a\n", "", b"b\r\nc\r\n"),
        (b"a\r\nb", "\n", " ", b"a b"),
        (b"\xff\r\na\r\n", "a", "b", b"\xff\r\nb\r\n"),
    ],
)
def test_lines_keep_their_endings(content: bytes, old: str, new: str, expected: bytes) -> None:
    assert TextFile(content).replace(old, new).content == expected


def test_every_occurrence_is_replaced_and_named() -> None:
    result = TextFile(b"a x\r\nb\nc x x\n").replace("x", "yy")
    assert result.content == b"a yy\r\nb\nc yy yy\n"
    assert result.lines == (1, 3, 3)


def test_lines_are_counted_at_newlines_only() -> None:
    """Z-81: form feeds and Unicode separators are not line ends."""
    assert TextFile("a\x0cb\u2028c\x85d\n".encode()).total_lines == 1
    assert TextFile(b"a\nb").total_lines == 2
    assert TextFile(b"").total_lines == 0


def test_lines_are_whole_and_make_the_file_again() -> None:  # Z-81
    for content in (b"", b"a", b"a\r\nb\n\nc\x0c\x85", b"\xef\xbb\xbfa\n", "a\r\nb".encode("utf-16")):
        file = TextFile(content)
        assert file.encoded(file.lines) == content
        assert len(file.lines) == file.total_lines
    assert TextFile(b"a\r\n\xff\nb", quoted="\ufffd").lines == ("a\r\n", "\udcff\n", "b")
    assert TextFile(b"\xef\xbb\xbfa").encoded(["b"], has_mark=False) == b"b"


def test_half_a_character_in_utf16_is_shown_and_kept() -> None:
    content = "\ufeffa\ud800b\n".encode("utf-16-le", "surrogatepass")
    file = TextFile(content)
    assert file.shown_text == "a\ufffdb\n"
    assert file.encoded(file.lines) == content
