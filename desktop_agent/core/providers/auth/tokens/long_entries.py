"""Secrets that are longer than an entry of a keyring may be, kept in several.

Windows takes 2,560 bytes an entry, in UTF-16: 1,280 characters, and access tokens are longer. Each piece says which
writing it belongs to and of how many it is one, so pieces of two writings are never put together. All of it blocks,
and raises `CredentialsError`.
"""

import re
import secrets
from collections.abc import Iterator
from typing import Protocol

PIECE_CHARS = 1_000
"""How much of a secret one entry takes."""

_PIECE = re.compile(r"(?P<writing>[0-9a-f]{8})/(?P<count>[1-9][0-9]?):(?P<text>.*)", re.DOTALL)


class Entries(Protocol):
    """A keyring, as `SystemKeyStore` is one."""

    def get(self, entry: str, /) -> str | None: ...

    def set(self, entry: str, secret: str, /) -> None: ...

    def delete(self, entry: str, /) -> None: ...


def read_long(entries: Entries, name: str) -> str | None:
    """Return the secret, or `None` when there is none, or none that is whole."""
    first = _piece(entries.get(name))
    if first is None:
        return None
    texts = [first["text"]]
    for entry in _further(name, int(first["count"])):
        piece = _piece(entries.get(entry))
        if piece is None or piece["writing"] != first["writing"]:
            return None
        texts.append(piece["text"])
    return "".join(texts)


def write_long(entries: Entries, name: str, secret: str) -> None:
    """Keep the secret, which has no white space, in place of an earlier one."""
    earlier = _piece(entries.get(name))
    texts = [secret[start : start + PIECE_CHARS] for start in range(0, len(secret), PIECE_CHARS)]
    writing = secrets.token_hex(4)
    for entry, text in zip((name, *_further(name, len(texts))), texts, strict=True):
        entries.set(entry, f"{writing}/{len(texts)}:{text}")
    if earlier is not None:
        for entry in _further(name, int(earlier["count"]), have=len(texts)):
            entries.delete(entry)


def delete_long(entries: Entries, name: str) -> None:
    """Forget the secret. No error when there is none."""
    first = _piece(entries.get(name))
    for entry in _further(name, int(first["count"]) if first is not None else 1):
        entries.delete(entry)
    entries.delete(name)  # last: it says how many there are


def _further(name: str, count: int, *, have: int = 1) -> Iterator[str]:
    """Yield the names of the entries behind the first `have` ones."""
    return (f"{name}/{number}" for number in range(have + 1, count + 1))


def _piece(kept: str | None) -> re.Match[str] | None:
    return _PIECE.fullmatch(kept) if kept is not None else None
