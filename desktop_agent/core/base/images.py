"""What a picture file is, by its bytes: format and size in pixels of PNG, JPEG, GIF and WebP.

Only headers are read, never pixels, so a hostile file can cost nothing but an error. Formats: PNG (W3C, 3rd edition),
JPEG (ITU-T T.81), GIF89a (CompuServe), WebP (RFC 9649).
"""

import re
import struct
from typing import Literal

from msgspec import Struct

PictureType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]

PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"IEND\xaeB`\x82"
_JPEG_STANDALONE = frozenset({0x01, *range(0xD0, 0xD8)})
"""JPEG markers without a length: TEM and the restart markers."""
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers of a frame header, which has the size; the three left out mean something else."""

_OTHERS = (
    (re.compile(rb"BM"), "BMP"),
    (re.compile(rb"II\*\0|MM\0\*|II\+\0|MM\0\+"), "TIFF"),
    (re.compile(rb".{4}ftyp(avif|avis)", re.DOTALL), "AVIF"),
    (re.compile(rb".{4}ftyp(hei|hev|mif1|msf1)", re.DOTALL), "HEIC"),
    (re.compile(rb"\0\0\x01\0"), "ICO"),
    (re.compile(rb"%PDF-"), "PDF"),
    (re.compile(rb"8BPS"), "Photoshop"),
    (re.compile(rb"\xff\x0a|\0\0\0\x0cJXL "), "JPEG XL"),
    (re.compile(rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51"), "JPEG 2000"),
    (
        re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)?(<!DOCTYPE svg[^>]*>\s*)?<svg\b", re.DOTALL),
        "SVG",
    ),
)


class PictureError(ValueError):
    """The bytes are not a picture of one of the four formats, or not a whole one; the message says which."""


class PictureInfo(Struct, frozen=True):
    media_type: PictureType
    width: int
    height: int

    @property
    def format(self) -> str:
        return {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}[self.media_type]


def inspect_picture(content: bytes) -> PictureInfo:
    """Return format and size of a whole file. Raises `PictureError` for anything else, truncated files included."""
    try:
        if content.startswith(PNG_SIGNATURE):
            info = _png(content)
        elif content.startswith(b"\xff\xd8\xff"):
            info = _jpeg(content)
        elif content.startswith((b"GIF87a", b"GIF89a")):
            info = _gif(content)
        elif content.startswith(b"RIFF") and content[8:12] == b"WEBP":
            info = _webp(content)
        else:
            raise PictureError(_unknown(content))
    except (struct.error, IndexError) as error:
        raise PictureError("the file is cut off") from error
    if not (info.width and info.height):
        raise PictureError(f"the {info.format} file says that it is {info.width}×{info.height} pixels large")
    return info


def _unknown(content: bytes) -> str:
    name = next((name for pattern, name in _OTHERS if pattern.match(content[:1_024])), None)
    return f"it is a file of the format {name}" if name else "it is not a picture"


def _png(content: bytes) -> PictureInfo:
    length, kind, width, height = struct.unpack_from(">I4sII", content, 8)
    if (length, kind) != (13, b"IHDR"):
        raise PictureError("the PNG file is damaged: it does not begin with its header")
    if _PNG_END not in content[-4_096:]:
        raise PictureError("the PNG file is cut off: its end is missing")
    return PictureInfo("image/png", width, height)


def _jpeg(content: bytes) -> PictureInfo:
    position = 2
    while True:
        if content[position] != 0xFF:
            raise PictureError("the JPEG file is damaged: a marker is missing")
        marker = content[position + 1]
        if marker == 0xFF:  # fill byte
            position += 1
            continue
        position += 2
        if marker in _JPEG_STANDALONE:
            continue
        if marker in (0xD9, 0xDA):
            raise PictureError("the JPEG file is damaged: it has no frame header")
        (length,) = struct.unpack_from(">H", content, position)
        if length < 2:
            raise PictureError("the JPEG file is damaged: a part has no length")
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", content, position + 3)
            break
        position += length
    # Not looked for at the very end: cameras append data of their own.
    if content.find(b"\xff\xd9", position) < 0:
        raise PictureError("the JPEG file is cut off: its end is missing")
    return PictureInfo("image/jpeg", width, height)


def _gif(content: bytes) -> PictureInfo:
    width, height = struct.unpack_from("<HH", content, 6)
    if b"\x3b" not in content[-64:]:
        raise PictureError("the GIF file is cut off: its end is missing")
    return PictureInfo("image/gif", width, height)


def _webp(content: bytes) -> PictureInfo:
    (size,) = struct.unpack_from("<I", content, 4)
    if size + 8 > len(content):
        raise PictureError("the WebP file is cut off: its end is missing")
    kind = content[12:16]
    if kind == b"VP8 ":
        if content[23:26] != b"\x9d\x01\x2a":
            raise PictureError("the WebP file is damaged: its frame does not begin with a start code")
        width, height = (value & 0x3FFF for value in struct.unpack_from("<HH", content, 26))
    elif kind == b"VP8L":
        if content[20] != 0x2F:
            raise PictureError("the WebP file is damaged: its frame does not begin with a signature")
        (bits,) = struct.unpack_from("<I", content, 21)
        width, height = (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    elif kind == b"VP8X":
        width, height = (int.from_bytes(content[at : at + 3], "little") + 1 for at in (24, 27))
        if len(content) < 30:
            raise PictureError("the file is cut off")
    else:
        raise PictureError("the WebP file is damaged: it has no frame")
    return PictureInfo("image/webp", width, height)
