"""Small real pictures, and headers that claim large ones."""

import struct
import zlib


def png(width: int = 2, height: int = 3) -> bytes:
    """A whole black PNG; large ones lack their pixels."""
    pixels = b"".join(b"\0" + b"\0" * width for _ in range(height)) if width * height < 10_000 else b""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", header), (b"IDAT", zlib.compress(pixels)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(png_chunk(kind, data) for kind, data in parts)


def png_chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def jpeg(width: int = 4, height: int = 5, *, before: bytes = b"\xff\xe0\x00\x04xx") -> bytes:
    frame = b"\xff\xc0" + struct.pack(">HBHHB", 11, 8, height, width, 1) + b"\x01\x11\x00"
    scan = b"\xff\xda" + struct.pack(">H", 8) + b"\x01\x01\x00\x00\x3f\x00" + b"\x12\x34"
    return b"\xff\xd8" + before + b"\xff\xff\xdb\x00\x03\x00" + frame + scan + b"\xff\xd9"


def gif(width: int = 6, height: int = 7) -> bytes:
    screen = struct.pack("<HHBBB", width, height, 0x80, 0, 0) + b"\0\0\0\xff\xff\xff"
    image = b"\x2c" + struct.pack("<HHHHB", 0, 0, 1, 1, 0) + b"\x02\x02\x44\x01\x00"
    return b"GIF89a" + screen + image + b"\x3b"


def webp(form: str, width: int = 8, height: int = 9) -> bytes:
    match form:
        case "VP8 ":
            data = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width, height)
        case "VP8L":
            data = b"\x2f" + struct.pack("<I", (width - 1) | (height - 1) << 14)
        case _:
            data = b"\0" * 4 + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    chunk = form.encode() + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    return b"RIFF" + struct.pack("<I", len(chunk) + 4) + b"WEBP" + chunk
