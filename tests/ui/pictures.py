"""Real pictures made by Qt, and broken ones."""

import struct
import zlib

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QSize
from PySide6.QtGui import QColor, QImage, QImageWriter

from desktop_agent.core.base.file_types import PNG_SIGNATURE

SVG = b'<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20"><circle cx="9" cy="9" r="9" fill="red"/></svg>\n'


def picture(width: int, height: int, colour: str = "#336699", kind: str = "PNG") -> bytes:
    image = QImage(QSize(width, height), QImage.Format.Format_ARGB32)
    image.fill(QColor(colour))
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    assert QImageWriter(buffer, QByteArray(kind.encode())).write(image)
    return bytes(data.data())


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few kilobytes that claims this size, and has only the pixels of its first rows."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    head = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    rows = zlib.compress(bytes((width // 8 + 1) * min(height, 200)), 9)
    return PNG_SIGNATURE + chunk(b"IHDR", head) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
