"""Git's own forms of a whole content: the id of its blob, and the binary section of a patch.

The formats are those of git-hash-object and git-diff (`--binary`): deflated, in base 85, 52 bytes a line.
"""

import hashlib
import zlib
from base64 import b85encode
from collections.abc import Iterator

NO_BLOB = "0" * 40
_LINE_BYTES = 52
_LINE_CHARS = _LINE_BYTES // 4 * 5
_BLOCK_LINES = 16_384
_LENGTHS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def blob_id(content: bytes | None) -> str:
    """Return the id that git gives a blob of this content, in a repository with SHA-1 ids; zeros for no content."""
    if content is None:
        return NO_BLOB
    hasher = hashlib.sha1(b"blob %d\0" % len(content), usedforsecurity=False)
    hasher.update(content)
    return hasher.hexdigest()


def binary_section(old: bytes | None, new: bytes | None) -> Iterator[bytes]:
    """Yield the section that makes `new` of `old`, and `old` of `new` when the patch is applied in reverse."""
    yield b"GIT binary patch\n"
    yield from _literal(new or b"")
    yield from _literal(old or b"")


def _literal(content: bytes) -> Iterator[bytes]:
    yield b"literal %d\n" % len(content)
    deflated = zlib.compress(content)
    block_bytes = _BLOCK_LINES * _LINE_BYTES
    for start in range(0, len(deflated), block_bytes):
        block = deflated[start : start + block_bytes]
        encoded = b85encode(block, pad=True)
        for line in range(-(-len(block) // _LINE_BYTES)):
            length = min(_LINE_BYTES, len(block) - line * _LINE_BYTES)
            yield _LENGTHS[length - 1 : length]
            yield encoded[line * _LINE_CHARS : (line + 1) * _LINE_CHARS] + b"\n"
    yield b"\n"
