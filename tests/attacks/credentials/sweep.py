"""Looks for secrets in bytes: as they are, in other spellings, and inside packed data.

A part of a secret with at least `LEAST` characters counts: a shortened key is a leak.
"""

import base64
import gzip
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from io import BytesIO
from pathlib import Path
from urllib.parse import quote

LEAST = 12

_DEEPEST = 4
_ENCODED = re.compile(rb"[A-Za-z0-9+/_-]{16,}={0,2}")
_HEXADECIMAL = re.compile(rb"(?:[0-9a-fA-F]{2}){12,}")
_PACKED = {b"\x1f\x8b\x08": gzip.decompress, b"x\x9c": zlib.decompress, b"x\x01": zlib.decompress}


def found_in(content: bytes, secrets: Mapping[str, str]) -> set[str]:
    layers = list(_layers(content))
    return {name for name, secret in secrets.items() if any(_is_in(layer, secret) for layer in layers)}


def found_below(roots: list[Path], secrets: Mapping[str, str]) -> list[str]:
    found: list[str] = []
    for root in roots:
        for path in sorted(root.rglob("*")):
            content = path.read_bytes() if path.is_file() and not path.is_symlink() else b""
            names = found_in(content, secrets) | found_in(str(path.relative_to(root)).encode(errors="ignore"), secrets)
            found += [f"{name}: {path}" for name in sorted(names)]
    return found


def _is_in(content: bytes, secret: str) -> bool:
    return any(piece in content for piece in _pieces(secret))


@cache
def _pieces(secret: str) -> frozenset[bytes]:
    """Return pieces of the secret in each spelling; every long enough part of it contains a piece."""
    spellings = {secret, quote(secret, safe=""), json.dumps(secret)[1:-1]}
    stretches = {
        text[start : start + LEAST]
        for text in spellings
        for start in range(0, max(len(text) - LEAST, 0) + 1, LEAST // 2)
    }
    return frozenset(text.encode(name) for text in stretches for name in ("utf-8", "utf-16-le", "utf-16-be"))


def _layers(content: bytes, depth: int = _DEEPEST) -> Iterator[bytes]:
    yield content
    if depth:
        for inner in _unpacked(content):
            yield from _layers(inner, depth - 1)


def _unpacked(content: bytes) -> Iterator[bytes]:
    for magic, unpack in _PACKED.items():
        if content.startswith(magic):
            with suppress(OSError, EOFError, zlib.error):
                yield unpack(content)
    if b"PK\x03\x04" in content:
        with suppress(zipfile.BadZipFile), zipfile.ZipFile(BytesIO(content)) as archive:
            yield from (archive.read(name) for name in archive.namelist())
    texts = [_decoded(match[0]) for match in _ENCODED.finditer(content)]
    yield b"\n".join(texts)
    yield b"\n".join(bytes.fromhex(match[0].decode()) for match in _HEXADECIMAL.finditer(content))


def _decoded(text: bytes) -> bytes:
    """Decode base64 in either alphabet, from each of the four possible starts."""
    text = text.rstrip(b"=").translate(bytes.maketrans(b"-_", b"+/"))
    starts = (text[start : start + (len(text) - start) // 4 * 4] for start in range(min(4, len(text))))
    return b"\n".join(base64.b64decode(part) for part in starts)
