"""A picture's type comes from its bytes, and only whole pictures count."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.file_types import PictureError, file_type, inspect_picture
from tests.pictures import gif, jpeg, png, webp

WHOLE = [
    (png(2, 3), "PNG", 2, 3),
    (jpeg(4, 5), "JPEG", 4, 5),
    (jpeg(4, 5) + b"what a camera appends", "JPEG", 4, 5),
    (jpeg(before=b"\xff\xe1\x00\x08\xff\xc0\xff\xd9ab"), "JPEG", 4, 5),
    (gif(6, 7), "GIF", 6, 7),
    (webp("VP8 "), "WebP", 8, 9),
    (webp("VP8L"), "WebP", 8, 9),
    (webp("VP8X"), "WebP", 8, 9),
    (webp("VP8X", 16_000, 12), "WebP", 16_000, 12),
]


@pytest.mark.parametrize(("content", "name", "width", "height"), WHOLE)
def test_format_and_size_are_read(content: bytes, name: str, width: int, height: int) -> None:  # T-110
    info = inspect_picture(content)
    assert (info.format, info.width, info.height) == (name, width, height)
    assert info.media_type == f"image/{name.lower()}"


@pytest.mark.parametrize("content", [png(), jpeg(), gif(), webp("VP8 "), webp("VP8L"), webp("VP8X")])
def test_a_file_that_is_cut_off_anywhere_is_refused(content: bytes) -> None:
    for length in range(len(content)):
        with pytest.raises(PictureError):
            inspect_picture(content[:length])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"BM1234\0\0\0\0", "of another type, BMP image"),
        (b"II*\0", "TIFF image"),
        (b"MM\0*", "TIFF image"),
        (b"\0\0\0\x18ftypheic", "HEIC image"),
        (b"\0\0\0\x18ftypavif", "AVIF image"),
        (b"\0\0\x01\0\x01", "Windows icon"),
        (b"%PDF-1.7", "PDF document"),
        (b'<?xml version="1.0"?>\n<!-- x --><svg xmlns="x">', "SVG image"),
        (b"<svg>", "SVG image"),
        (b"plain text", "not a picture"),
        (b"RIFF\0\0\0\0WAVE", "WAV audio"),
        (b"", "not a picture"),
        (png(0, 3), "0×3 pixels"),
        (png().replace(b"IHDR", b"JHDR"), "does not begin with its header"),
        (b"\xff\xd8\xff\xd9", "no frame header"),
        (b"\xff\xd8\xff\xe0\x00\x01", "has no length"),
        (b"\xff\xd8\xff\xe0\x00\x03xyz", "a marker is missing"),
        (webp("VP8 ").replace(b"\x9d\x01\x2a", b"\0\0\0"), "start code"),
        (webp("VP8L").replace(b"\x2f", b"\0"), "signature"),
        (webp("VP8X").replace(b"VP8X", b"ALPH"), "no frame"),
    ],
)
def test_what_is_not_one_of_the_four_is_named(content: bytes, message: str) -> None:
    with pytest.raises(PictureError, match=message):
        inspect_picture(content)


@given(st.sampled_from([content for content, *_ in WHOLE]), st.binary(max_size=40), st.integers(0, 60))
def test_any_bytes_are_a_picture_or_an_error(content: bytes, noise: bytes, at: int) -> None:
    with suppress(PictureError):
        inspect_picture(content[:at] + noise + content[at + len(noise) :])


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
