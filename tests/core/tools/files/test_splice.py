"""Splices keep the bytes of all other lines; new lines end like their neighbours."""

import codecs

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from desktop_agent.core.tools.files.text_files import NotTextError, Splice, TextFile, splice


@pytest.mark.parametrize(
    ("before", "start", "end", "added", "after"),
    [
        (b"a\nb\nc\n", 1, 2, ["B"], b"a\nB\nc\n"),
        (b"a\r\nb\r\nc\r\n", 1, 2, ["B", "B2"], b"a\r\nB\r\nB2\r\nc\r\n"),
        (b"a\r\nb\nc\r\n", 1, 3, ["B", "C", "D"], b"a\r\nB\nC\r\nD\r\n"),
        (b"a\nb\r\nc\n", 2, 2, ["x"], b"a\nb\r\nx\r\nc\n"),
        (b"a\r\nb\n", 0, 0, ["x"], b"x\r\na\r\nb\n"),
        (b"a\r\nb", 1, 2, ["B"], b"a\r\nB"),
        (b"a\r\nb", 1, 2, ["B", "C"], b"a\r\nB\r\nC"),
        (b"a\r\nb", 2, 2, ["c"], b"a\r\nb\r\nc"),
        (b"a", 1, 1, ["b"], b"a\nb"),
        (b"a\nb", 1, 2, [], b"a\n"),
        (b"a\nb\n", 2, 2, ["c"], b"a\nb\nc\n"),
        (b"", 0, 0, ["x"], b"x\n"),
        (b"a\n", 0, 1, [], b""),
        (b"a\x0cb\x85\n\xff\n", 1, 2, ["c"], b"a\x0cb\x85\nc\n"),
        (b"\xef\xbb\xbfa\r\n", 0, 1, ["b"], b"\xef\xbb\xbfb\r\n"),
        ("a\r\nb\r\n".encode("utf-16"), 1, 1, ["ö"], "a\r\nö\r\nb\r\n".encode("utf-16")),
    ],
)
def test_new_lines_end_as_their_neighbours_do(
    before: bytes, start: int, end: int, added: list[str], after: bytes
) -> None:  # Z-81
    file = TextFile(before)
    assert file.encoded(splice(file.lines, [Splice(start=start, end=end, added=tuple(added))])) == after


def test_what_the_encoding_cannot_hold_is_refused() -> None:
    with pytest.raises(NotTextError, match="cannot express"):
        TextFile(b"a").encoded(["\ud800"])


_CONTENT = st.lists(
    st.tuples(st.sampled_from(["", "a", "ü", "\x0c", "\x85", "\u2028", "b\r"]), st.sampled_from(["\n", "\r\n"]))
).map(lambda lines: "".join(text + ending for text, ending in lines).encode("utf-8"))


@given(_CONTENT, st.sampled_from([b"", b"end", b"\xff\xfe\xe9"]), st.data())
def test_all_bytes_outside_the_lines_stay(content: bytes, end: bytes, data: st.DataObject) -> None:
    """Z-81, for any file and any lines."""
    before = b"x\n" + content + end
    file = TextFile(before)
    lines = file.lines
    assert file.encoded(lines) == before
    start = data.draw(st.integers(0, len(lines)))
    stop = data.draw(st.integers(start, len(lines)))
    added = tuple(data.draw(st.lists(st.sampled_from(["new", "", "é"]), max_size=3)))
    after = file.encoded(splice(lines, [Splice(start=start, end=stop, added=added)]))
    head = file.encoded(lines[:start])
    tail = file.encoded(lines[stop:])
    assert after.startswith(head)
    assert after.endswith(tail)
    if stop == len(lines) and added and added[-1]:
        assert after.endswith(b"\n") == before.endswith(b"\n")
    assume(not after.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)))  # read otherwise then
    assert len(TextFile(after).lines) == len(lines) - (stop - start) + len(added)
