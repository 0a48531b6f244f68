import pytest
from PySide6.QtCore import QSize
from PySide6.QtGui import QColor, QImage

from desktop_agent.ui.widgets.picture_decoding import (
    MAX_EDGE,
    MAX_PICTURE_BYTES,
    MAX_SVG_ELEMENTS,
    PREVIEW_EDGE,
    Problem,
    decode,
    svg_problem,
)
from tests.ui.pictures import SVG, bomb, picture

pytestmark = pytest.mark.usefixtures("qapp")


@pytest.mark.parametrize(("kind", "name"), [("PNG", "PNG image"), ("JPG", "JPEG image"), ("BMP", "BMP image")])
def test_a_picture_is_decoded_whole(kind: str, name: str) -> None:
    content = picture(30, 20, "#ff0000", kind)
    found = decode(content)
    assert (found.problem, found.size, found.type_name, found.size_bytes) == ("", QSize(30, 20), name, len(content))
    assert found.preview is found.image
    assert found.image.pixelColor(5, 5).red() > 250


def test_a_large_picture_has_a_smaller_version_of_it() -> None:
    found = decode(picture(PREVIEW_EDGE + 400, 10))
    assert (found.image.width(), found.preview.width()) == (PREVIEW_EDGE + 400, PREVIEW_EDGE)
    wide = decode(picture(MAX_EDGE + 1_000, 4))
    assert (wide.image.width(), wide.size.width()) == (MAX_EDGE, MAX_EDGE + 1_000)


def test_a_picture_is_decoded_no_larger_than_wanted_in_the_painters_own_format() -> None:
    found = decode(picture(2_000, 1_000), QSize(200, 200))
    assert (found.image.size(), found.size) == (QSize(200, 100), QSize(2_000, 1_000))
    assert found.image.format() == QImage.Format.Format_ARGB32_Premultiplied


def test_a_drawing_is_made_large_enough_to_look_at() -> None:
    found = decode(SVG)
    assert (found.problem, found.size, found.type_name) == ("", QSize(40, 20), "SVG image")
    assert found.image.width() == 1_024
    assert found.image.pixelColor(230, 230) == QColor("red")


@pytest.mark.qt_log_ignore("JPEG data")  # what the decoder says of damaged files
@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "absent"),
        (b"", "no picture"),
        (b"text", "no picture"),
        (b"%PDF-1.7 ...", "no picture"),
        (b"II*\0" + bytes(100), "no picture"),
        (picture(40, 40)[:50], "damaged"),
        (b"GIF89a", "damaged"),
        (b"\xff\xd8\xff" + bytes(40), "damaged"),
        (b"\x89PNG\r\n\x1a\n" + bytes(40), "damaged"),
        (b"<svg", "damaged"),
        (b'<svg xmlns="http://www.w3.org/2000/svg" width="999999" height="999999"/>', "too large"),
        (bomb(60_000, 60_000), "too large"),
        (bomb(4_000_000, 15), "damaged"),
        (picture(9, 9) + bytes(MAX_PICTURE_BYTES), "too large"),
    ],
    ids=lambda value: repr(value[:20]) if isinstance(value, bytes) else str(value),
)
def test_what_cannot_or_must_not_be_decoded_is_named(content: bytes | None, problem: Problem) -> None:
    found = decode(content)
    assert found.problem == problem
    assert not found.is_shown


@pytest.mark.parametrize(
    "inside",
    [
        b'<image href="file:///etc/passwd"/>',
        b"<image xlink:href='/etc/passwd'/>",
        b'<image xlink:href = "http://example.org/a.png"/>',
        b'<image href="&#102;ile:///etc/passwd"/>',
        b'<use href="other.svg#a"/>',
        b"<style>@import 'a.css';</style>",
        b'<rect fill="url(http://example.org/a)"/>',
        b'<rect fill="url( file:a#b)"/>',
        b"<script>alert(1)</script>",
        b'<filter id="a"><feGaussianBlur stdDeviation="9999"/></filter>',
        b'<image href="data:image/svg+xml;base64,PHN2Zy8+"/>',
    ],
)
def test_a_drawing_that_reaches_outside_is_not_drawn(inside: bytes) -> None:
    assert (
        decode(b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9">' + inside + b"</svg>").problem
        == "unsafe"
    )


def test_entities_and_too_many_parts_are_not_drawn() -> None:
    assert svg_problem(b'<!DOCTYPE svg [<!ENTITY a "b">]><svg/>') == "unsafe"
    assert svg_problem(b"<svg>" + b"<g/>" * MAX_SVG_ELEMENTS + b"</svg>") == "too complex"


def test_references_within_a_drawing_are_fine() -> None:
    assert svg_problem(b'<svg><use xlink:href="#a"/><rect fill="url(#b)"/></svg>') == ""
