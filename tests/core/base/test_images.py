"""A picture is what its bytes say, and only a whole one."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desktop_agent.core.base.images import PictureError, inspect_picture
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
def test_format_and_size_are_read(content: bytes, name: str, width: int, height: int) -> None:
    """T-110."""
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
        (b"BM\0\0", "format BMP"),
        (b"II*\0", "format TIFF"),
        (b"MM\0*", "format TIFF"),
        (b"\0\0\0\x18ftypheic", "format HEIC"),
        (b"\0\0\0\x18ftypavif", "format AVIF"),
        (b"\0\0\x01\0\x01", "format ICO"),
        (b"%PDF-1.7", "format PDF"),
        (b'<?xml version="1.0"?>\n<!-- x --><svg xmlns="x">', "format SVG"),
        (b"<svg>", "format SVG"),
        (b"plain text", "not a picture"),
        (b"RIFF\0\0\0\0WAVE", "not a picture"),
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
