"""What is said of files that have no lines: their type, and the bytes where two versions differ."""

import pytest

from desktop_agent.core.diff.binary_files import excerpt, file_type, first_difference, printable


@pytest.mark.parametrize(
    ("head", "name", "picture"),
    [
        (b"\x89PNG\r\n\x1a\n....", "PNG image", "png"),
        (b"\xff\xd8\xff\xe0", "JPEG image", "jpeg"),
        (b"GIF89a", "GIF image", "gif"),
        (b"RIFF\1\2\3\4WEBPVP8 ", "WebP image", "webp"),
        (b"<svg>", "SVG image", "svg"),
        (b'\xef\xbb\xbf<?xml version="1.0"?>\n<!-- a --><!-- b -->\n<svg xmlns="x">', "SVG image", "svg"),
        (b"PK\x03\x04" + bytes(26) + b"a.txt", "ZIP archive", None),
        (b"PK\x03\x04" + bytes(26) + b"[Content_Types].xml", "Office document", None),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x02\0", "ELF program", None),
        (b"\x7fELF\x02\x01\x01" + bytes(9) + b"\x01\0", "ELF object file", None),
        (bytes(257) + b"ustar", "tar archive", None),
        (b"SQLite format 3\0", "SQLite database", None),
        (b"\0\1\2", "binary data", None),
        (b"def f(): ...", "text", None),
        (b"", "empty file", None),
    ],
)
def test_a_file_is_told_by_how_it_begins(head: bytes, name: str, picture: str | None) -> None:
    assert file_type(head) == (name, picture)


@pytest.mark.parametrize(
    ("before", "after", "at"),
    [
        (b"", b"", None),
        (b"same", b"same", None),
        (b"abc", b"abd", 2),
        (b"abc", b"abcd", 3),
        (b"", b"x", 0),
        (bytes(200_000) + b"a", bytes(200_000) + b"b", 200_000),
    ],
)
def test_the_first_byte_that_differs_is_found(before: bytes, after: bytes, at: int | None) -> None:
    assert first_difference(before, after) == at


def test_the_excerpt_starts_at_a_round_place_before_the_difference() -> None:
    before = bytes(range(256)) * 4
    shown = excerpt(before, before[:300] + b"\xff" + before[301:])
    assert (shown.start, shown.difference, len(shown.before), len(shown.after)) == (288, 300, 256, 256)


def test_of_a_new_or_deleted_file_the_beginning_is_shown() -> None:
    assert excerpt(None, b"abc") == (0, b"", b"abc", None)
    assert excerpt(b"abc", None) == (0, b"abc", b"", None)


def test_what_cannot_be_printed_is_a_dot() -> None:
    assert printable(b"a\0\x7f\xffz ") == "a...z "
