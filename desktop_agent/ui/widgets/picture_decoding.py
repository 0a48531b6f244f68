"""Decodes pictures from untrusted bytes in a thread and within limits, and writes their captions.

Only the decoder for the format of the first bytes is tried. Qt's image reader releases the GIL, also for SVG;
`QSvgRenderer` does not.
"""

import re
from functools import partial
from hashlib import blake2b
from typing import Literal

from msgspec import Struct
from PySide6.QtCore import QBuffer, QByteArray, QCoreApplication, QIODevice, QLocale, QSize, Qt
from PySide6.QtGui import QImage, QImageReader

from desktop_agent.core.base.file_types import HEAD_BYTES, FileType, file_type
from desktop_agent.core.base.regex import regex
from desktop_agent.ui.translation import core_words

_tr = partial(QCoreApplication.translate, "Media")

MAX_PICTURE_BYTES = 30_000_000
MAX_PIXELS = 64_000_000
MAX_SVG_BYTES = 1_000_000
MAX_SVG_ELEMENTS = 20_000
MAX_EDGE = 6_000
"""The longest edge of a picture, in pixels. One with a longer edge is scaled down when it is decoded."""
MOST = QSize(MAX_EDGE, MAX_EDGE)
PREVIEW_EDGE = 1_600
"""The longest edge of a preview, in pixels. A preview is painted where a picture is larger than its place."""

_MAX_DECODED_MB = 512
"""The most memory for one picture, in megabytes: enough for 64 million pixels with 16 bits a channel."""
_MAX_CONVERTED_PIXELS = 4_000_000
"""Pictures with more pixels are converted when painted, and only where visible, so as not to block the window."""
_SVG_EDGE = 1_024
"""Drawings are rendered at least this large, in pixels, so that the user can zoom in."""

Problem = Literal["", "absent", "no picture", "damaged", "too large", "too complex", "unsafe"]

_SVG_HREF = regex(rb"""\bhref\s*=\s*(?:"\s*([^"]*)"|'\s*([^']*)'|([^\s>]*))""", re.IGNORECASE)
_SVG_URL = regex(rb"url\s*\(\s*[\"']?\s*(?!#)[^)]", re.IGNORECASE)
_SVG_FORBIDDEN = regex(
    rb"<!ENTITY|<!DOCTYPE[^>]*\[|@import|<\?xml-stylesheet|<\s*(?:\w+:)?(?:filter|script)\b", re.IGNORECASE
)


class DecodedPicture(Struct, frozen=True):
    image: QImage
    preview: QImage
    size: QSize
    """The stored size in pixels; for a drawing, the size it declares."""
    type_name: str
    size_bytes: int
    problem: Problem = ""
    is_animated: bool = False

    @property
    def is_shown(self) -> bool:
        return not self.problem

    @classmethod
    def without(
        cls, problem: Problem, type_name: str = "", size_bytes: int = 0, size: QSize | None = None
    ) -> "DecodedPicture":
        return cls(QImage(), QImage(), size or QSize(), type_name, size_bytes, problem)


def is_drawn(path: str, found: FileType) -> bool:
    """Whether a file is shown as a picture. A web page can begin with an SVG, so an SVG also needs its suffix."""
    return found.picture is not None and (found.picture != "svg" or path.lower().endswith(".svg"))


def decode(content: bytes | None, most: QSize = MOST, *, with_drawings: bool = True) -> DecodedPicture:
    """Decode the picture in `content` (`None`: absent), scaled down to `most`. Blocks, so call this in a thread."""
    if content is None:
        return DecodedPicture.without("absent")
    found = file_type(content[:HEAD_BYTES])
    without = partial(DecodedPicture.without, type_name=found.name, size_bytes=len(content))
    if found.picture is None or (found.picture == "svg" and not with_drawings):
        return without("no picture")
    if found.picture == "svg" and (problem := svg_problem(content)):
        return without(problem)
    if len(content) > MAX_PICTURE_BYTES:
        return without("too large")
    size = _reader(content, found.picture).size()
    if not size.isValid() or size.isEmpty():
        return without("damaged")
    if size.width() * size.height() > MAX_PIXELS:
        return without("too large", size=size)
    is_small_drawing = found.picture == "svg" and max(size.toTuple()) < _SVG_EDGE
    whole = size.scaled(_SVG_EDGE, _SVG_EDGE, Qt.AspectRatioMode.KeepAspectRatio) if is_small_drawing else size
    image = _read(content, found.picture, _within(whole, most))
    if image.isNull():
        return without("damaged", size=size)
    is_large = max(image.width(), image.height()) > PREVIEW_EDGE
    preview = _read(content, found.picture, _within(size, QSize(PREVIEW_EDGE, PREVIEW_EDGE))) if is_large else image
    if (image.width() > image.height()) != (size.width() > size.height()) and size.width() != size.height():
        size.transpose()  # the orientation in the metadata swaps width and height
    is_animated = found.picture in ("gif", "webp") and _reader(content, found.picture).imageCount() > 1
    return DecodedPicture(image, preview, size, found.name, len(content), is_animated=is_animated)


def svg_problem(content: bytes) -> Problem:
    """Return why an SVG is not rendered: it refers to other files or takes too long. Empty if it is rendered."""
    if len(content) > MAX_SVG_BYTES or content.count(b"<") > MAX_SVG_ELEMENTS:
        return "too complex"
    if b"\0" in content or _SVG_FORBIDDEN.search(content) or _SVG_URL.search(content):
        return "unsafe"
    targets = (b"".join(groups).strip() for groups in _SVG_HREF.findall(content))
    is_inside = all(target.startswith((b"#", b"data:image/png;", b"data:image/jpeg;")) for target in targets)
    return "" if is_inside else "unsafe"


def _within(size: QSize, most: QSize) -> QSize:
    if size.width() <= most.width() and size.height() <= most.height():
        return size
    return size.scaled(most, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1))


def _read(content: bytes, format_name: str, wanted: QSize) -> QImage:
    reader = _reader(content, format_name)
    if wanted != reader.size():
        reader.setScaledSize(wanted)
    image = reader.read()
    is_large = image.width() * image.height() > _MAX_CONVERTED_PIXELS
    if image.isNull() or is_large or image.format() == QImage.Format.Format_RGB32:
        return image
    # The painter's own format, so that the window's thread need not convert it.
    return image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied)


def _reader(content: bytes, format_name: str) -> QImageReader:
    QImageReader.setAllocationLimit(_MAX_DECODED_MB)
    reader = _BufferedReader(content, format_name)
    reader.setAutoDetectImageFormat(False)
    reader.setAutoTransform(True)
    return reader


class _BufferedReader(QImageReader):
    """An image reader that keeps its buffer alive."""

    def __init__(self, content: bytes, format_name: str) -> None:
        self._buffer = QBuffer()
        self._buffer.setData(QByteArray(content))
        self._buffer.open(QIODevice.OpenModeFlag.ReadOnly)
        super().__init__(self._buffer, QByteArray(format_name.encode()))


_HASH_BYTES = 6


def size_words(size_bytes: int) -> str:
    return QLocale().formattedDataSize(size_bytes, 1, QLocale.DataSizeFormat.DataSizeSIFormat)


def exact_size_words(size_bytes: int) -> str:
    exact = _tr("{0} bytes").format(QLocale().toString(size_bytes))
    return exact if size_bytes < 1000 else f"{size_words(size_bytes)} ({exact})"


def short_hash(content: bytes) -> str:
    """Return the first digits of the content's BLAKE2b digest. Takes a second for each gigabyte."""
    return blake2b(content, digest_size=32).hexdigest()[: 2 * _HASH_BYTES]


def picture_words(picture: DecodedPicture) -> str:
    parts: list[str] = []
    if picture.size.isValid():
        parts.append(f"{picture.size.width()} × {picture.size.height()}")
    if picture.type_name:
        parts += (core_words(picture.type_name), size_words(picture.size_bytes))
    if picture.is_animated:
        parts.append(_tr("first frame"))
    return " · ".join(parts)


def problem_words(problem: Problem) -> str:
    words: dict[Problem, str] = {
        "": "",
        "absent": _tr("There is no file"),
        "no picture": _tr("This is not a picture that can be shown here"),
        "damaged": _tr("The picture is damaged or cut off"),
        "too large": _tr("Too large to show: more than {0} million pixels or 30 MB"),
        "too complex": _tr("Not drawn: the drawing has too many parts"),
        "unsafe": _tr("Not drawn: it refers to other files or runs a program"),
    }
    return words[problem].format(MAX_PIXELS // 1_000_000)
