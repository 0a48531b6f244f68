"""What a file is by its first bytes, and where two binary files first differ. Pure, and quick for files of any size."""

import re
from typing import Literal, NamedTuple

from desktop_agent.core.diff.text import is_binary

HEAD_BYTES = 8192

PictureFormat = Literal["png", "jpeg", "gif", "webp", "bmp", "ico", "svg"]


class FileType(NamedTuple):
    """A kind of file in words, and its format if it is a picture that can be drawn."""

    name: str
    picture: PictureFormat | None = None


_SVG = re.compile(rb"(\xef\xbb\xbf)?\s*(<\?xml[^>]*>\s*)?(<!--.*?-->\s*)*(<!DOCTYPE svg[^>]*>\s*)?<svg\b", re.DOTALL)

_SIGNATURES: tuple[tuple[bytes, str, PictureFormat | None], ...] = (
    (rb"\x89PNG\r\n\x1a\n", "PNG image", "png"),
    (rb"\xff\xd8\xff", "JPEG image", "jpeg"),
    (rb"GIF8[79]a", "GIF image", "gif"),
    (rb"RIFF....WEBP", "WebP image", "webp"),
    (rb"BM....\0\0\0\0", "BMP image", "bmp"),
    (rb"\0\0\x01\0", "Windows icon", "ico"),
    (rb"II\*\0|MM\0\*", "TIFF image", None),
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
_TYPES: tuple[tuple[re.Pattern[bytes], FileType], ...] = tuple(
    (re.compile(pattern, re.DOTALL), FileType(name, picture)) for pattern, name, picture in _SIGNATURES
)


def file_type(head: bytes) -> FileType:
    """Return what a file is that begins with `head`: at least its first `HEAD_BYTES`, or all of it."""
    if not head:
        return FileType("empty file")
    found = next((what for pattern, what in _TYPES if pattern.match(head)), None)
    if found:
        return found
    if is_binary(head):
        return FileType("binary data")
    return FileType("SVG image", "svg") if _SVG.match(head[:HEAD_BYTES]) else FileType("text")


SHOWN_BYTES = 256
_BLOCK_BYTES = 1 << 16
_ALIGNED_TO = 16


class HexExcerpt(NamedTuple):
    """The bytes of both files from `start` on, where they first differ. A file that is shorter has fewer of them."""

    start: int
    before: bytes
    after: bytes
    difference: int | None = None
    """Where exactly; `None` when there is nothing to compare, or no difference."""


def first_difference(before: bytes, after: bytes) -> int | None:
    """Return the offset of the first byte that differs, or that only one has; `None` when they are the same."""
    shorter = min(len(before), len(after))
    # Block by block: comparing all of two large files at once would not let another thread run.
    for start in range(0, shorter, _BLOCK_BYTES):
        end = min(start + _BLOCK_BYTES, shorter)
        if before[start:end] != after[start:end]:
            return next(at for at in range(start, end) if before[at] != after[at])
    return shorter if len(before) != len(after) else None


def excerpt(before: bytes | None, after: bytes | None) -> HexExcerpt:
    """Return what to show of two versions of a file (`None`: absent): from where they first differ, else the start."""
    difference = first_difference(before, after) if before is not None and after is not None else None
    start = (difference or 0) // _ALIGNED_TO * _ALIGNED_TO
    end = start + SHOWN_BYTES
    return HexExcerpt(start, (before or b"")[start:end], (after or b"")[start:end], difference)


def printable(data: bytes) -> str:
    """Return `data` with a dot for each byte that is no printable ASCII character."""
    return "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in data)
