"""Pictures from untrusted bytes: known formats only, and never more pixels than a screen can use."""

from msgspec import Struct
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QImage

FORMATS = {"png": "PNG", "jpeg": "JPEG", "jpg": "JPEG", "gif": "GIF", "webp": "WebP", "bmp": "BMP"}
"""What is read, by Qt's name. Not SVG, which could refer to other files."""

MAX_PIXELS = 50_000_000
"""A picture of more is not decoded: 50 million take 200 MB already."""


class CardPicture(Struct, frozen=True):
    """A picture ready to be painted, perhaps smaller than it is; or why there is none."""

    image: QImage
    size: QSize
    """As it is stored."""
    format: str = ""
    problem: str = ""

    @classmethod
    def without(cls, problem: str, size: QSize | None = None, form: str = "") -> "CardPicture":
        """Return that there is none, and why."""
        return cls(QImage(), size or QSize(), form, problem)


def read_picture(content: bytes, most: QSize) -> CardPicture:
    """Decode `content`, no larger than `most`. Blocks, and touches no widget: to be called in a thread."""
    from PySide6.QtCore import QBuffer, QByteArray, QIODevice  # of no use before there is a picture
    from PySide6.QtGui import QImageReader

    buffer = QBuffer()
    buffer.setData(QByteArray(content))
    buffer.open(QIODevice.OpenModeFlag.ReadOnly)
    reader = QImageReader(buffer)
    reader.setAutoTransform(True)
    found = bytes(reader.format().data()).decode("ascii", "replace").lower()
    if found not in FORMATS:
        return CardPicture(QImage(), QSize(), problem="unknown")
    size = reader.size()
    if not size.isValid() or size.width() * size.height() > MAX_PIXELS:
        return CardPicture(QImage(), size, FORMATS[found], "too large" if size.isValid() else "damaged")
    if size.width() > most.width() or size.height() > most.height():
        reader.setScaledSize(size.scaled(most, Qt.AspectRatioMode.KeepAspectRatio).expandedTo(QSize(1, 1)))
    image = reader.read()
    if image.isNull():
        return CardPicture(QImage(), size, FORMATS[found], "damaged")
    if image.height() > image.width() and size.width() > size.height():
        size.transpose()  # a photograph that says which way is up
    # What the window's painter takes as it is: no conversion is left for its thread.
    return CardPicture(image.convertToFormat(QImage.Format.Format_ARGB32_Premultiplied), size, FORMATS[found])
