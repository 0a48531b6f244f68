"""File types recognised by how the files begin."""

import pytest

from desktop_agent.core.diff.file_types import file_type


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
