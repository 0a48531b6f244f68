"""Tells a file's type from its first bytes: whether it is text, and the format and size in pixels of a picture.

Formats: PNG (W3C, 3rd edition), JPEG (ITU-T T.81), GIF89a (CompuServe), WebP (RFC 9649).
"""

import codecs
import re
import struct
from functools import cache
from typing import Literal, NamedTuple, get_args

from msgspec import Struct

from desktop_agent.core.base.regex import regex

HEAD_BYTES = 8192

MarkedEncoding = Literal["utf-8", "utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
_MARKS: tuple[tuple[bytes, MarkedEncoding], ...] = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
PictureFormat = Literal["png", "jpeg", "gif", "webp", "bmp", "ico", "svg"]


class FileType(NamedTuple):
    name: str
    picture: PictureFormat | None = None


_SVG = regex(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!DOCTYPE svg[^>]*>\s*)?<svg\b", re.DOTALL)

_SIGNATURES: tuple[tuple[bytes, str, PictureFormat | None], ...] = (
    (rb"\x89PNG\r\n\x1a\n", "PNG image", "png"),
    (rb"\xff\xd8\xff", "JPEG image", "jpeg"),
    (rb"GIF8[79]a", "GIF image", "gif"),
    (rb"RIFF....WEBP", "WebP image", "webp"),
    (rb"BM....\0\0\0\0", "BMP image", "bmp"),
    (rb"\0\0\x01\0", "Windows icon", "ico"),
    (rb"II[*+]\0|MM\0[*+]", "TIFF image", None),
    (rb"\xff\x0a|\0\0\0\x0cJXL ", "JPEG XL image", None),
    (rb"\0\0\0\x0cjP  |\xff\x4f\xff\x51", "JPEG 2000 image", None),
    (rb"....ftypavi[fs]", "AVIF image", None),
    (rb"....ftyp(hei|hev|mif1|msf1)", "HEIC image", None),
    (rb"8BPS", "Photoshop image", None),
    (rb"%PDF-", "PDF document", None),
    (rb"PK\x03\x04.{26}mimetypeapplication/vnd\.oasis", "OpenDocument file", None),
    (rb"PK\x03\x04.{26}(\[Content_Types\]\.xml|_rels/)", "Office document", None),
    (rb"PK(\x03\x04|\x05\x06)", "ZIP archive", None),
    (rb"\x1f\x8b", "gzip data", None),
    (rb"BZh[1-9]", "bzip2 data", None),
    (rb"\xfd7zXZ\0", "XZ data", None),
    (rb"\x28\xb5\x2f\xfd", "Zstandard data", None),
    (rb"7z\xbc\xaf\x27\x1c", "7-Zip archive", None),
    (rb"Rar!\x1a\x07", "RAR archive", None),
    (rb".{257}ustar", "tar archive", None),
    (rb"!<arch>\n", "static library", None),
    (rb"\x7fELF.{12}\x02\0|\x7fELF.{12}\0\x02", "ELF program", None),
    (rb"\x7fELF.{12}\x03\0|\x7fELF.{12}\0\x03", "ELF program or shared library", None),
    (rb"\x7fELF.{12}\x01\0|\x7fELF.{12}\0\x01", "ELF object file", None),
    (rb"\x7fELF", "ELF file", None),
    (rb"MZ", "Windows program", None),
    (rb"\xfe\xed\xfa[\xce\xcf]|[\xce\xcf]\xfa\xed\xfe", "macOS program", None),
    (rb"\xca\xfe\xba\xbe\0\0\0[\x2d-\x60]", "Java class", None),
    (rb"\xca\xfe\xba\xbe", "macOS program", None),
    (rb"\0asm", "WebAssembly module", None),
    (rb"SQLite format 3\0", "SQLite database", None),
    (rb"[\x00-\xff][\x0c-\x0f]\r\n", "Python bytecode", None),
    (rb"\x93NUMPY", "NumPy array", None),
    (rb"\x89HDF\r\n\x1a\n", "HDF5 data", None),
    (rb"PAR1", "Parquet data", None),
    (rb"wOF2", "WOFF2 font", None),
    (rb"wOFF", "WOFF font", None),
    (rb"OTTO", "OpenType font", None),
    (rb"\0\x01\0\0\0", "TrueType font", None),
    (rb"OggS", "Ogg media", None),
    (rb"fLaC", "FLAC audio", None),
    (rb"ID3|\xff[\xfb\xf3\xf2]", "MP3 audio", None),
    (rb"RIFF....WAVE", "WAV audio", None),
    (rb"RIFF....AVI ", "AVI video", None),
    (rb"....ftyp", "MP4 media", None),
    (rb"\x1a\x45\xdf\xa3", "Matroska or WebM video", None),
)


def byte_order_mark(content: bytes) -> tuple[bytes, MarkedEncoding]:
    return next((pair for pair in _MARKS if content.startswith(pair[0])), (b"", "utf-8"))


def is_binary(content: bytes) -> bool:
    """Whether `content` is not text: it has a NUL byte in its first 8 KiB, as in git, and no UTF-16 mark."""
    return b"\0" in content[:HEAD_BYTES] and byte_order_mark(content)[1] not in ("utf-16-le", "utf-16-be")


@cache
def _types() -> tuple[tuple[re.Pattern[bytes], FileType], ...]:
    return tuple((re.compile(pattern, re.DOTALL), FileType(name, picture)) for pattern, name, picture in _SIGNATURES)


def file_type(head: bytes) -> FileType:
    """`head` has at least the first `HEAD_BYTES`, or all of the file."""
    if not head:
        return FileType("empty file")
    found = next((what for pattern, what in _types() if pattern.match(head)), None)
    if found:
        return found
    if is_binary(head):
        return FileType("binary data")
    return FileType("SVG image", "svg") if _SVG.match(head[:HEAD_BYTES]) else FileType("text")


PNG_SIGNATURE = b"\x89PNG\r\n\x1a\n"
_PNG_END = b"IEND\xaeB`\x82"
_JPEG_STANDALONE = frozenset({0x01, *range(0xD0, 0xD8)})
"""JPEG markers without a length: TEM and the restart markers."""
_JPEG_FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
"""JPEG markers of a frame header, which has the size. The three markers left out mean something else."""

PictureType = Literal["image/png", "image/jpeg", "image/gif", "image/webp"]
PICTURE_TYPES: frozenset[str] = frozenset(get_args(PictureType))


class PictureError(ValueError): ...


class PictureInfo(Struct, frozen=True):
    media_type: PictureType
    width: int
    height: int

    @property
    def format(self) -> str:
        return {"image/png": "PNG", "image/jpeg": "JPEG", "image/gif": "GIF", "image/webp": "WebP"}[self.media_type]


def inspect_picture(content: bytes) -> PictureInfo:
    """Return a picture's format and size. Raises `PictureError` for anything but a complete picture."""
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
            raise PictureError(_why_no_picture(content))
    except (struct.error, IndexError) as error:
        raise PictureError("the file is cut off") from error
    if not (info.width and info.height):
        raise PictureError(f"the {info.format} file says that it is {info.width}×{info.height} pixels large")
    return info


def _why_no_picture(content: bytes) -> str:
    name = file_type(content[:HEAD_BYTES]).name
    return "it is not a picture" if name in ("text", "binary data", "empty file") else f"it is of another type, {name}"


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
    # The end marker need not be last, because cameras append their own data.
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
