"""Splices keep the bytes of all other lines; new lines end like their neighbours."""

import pytest

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
