"""Makes msgspec inspect a type in one thread at a time. Two threads would crash the process (found in 0.22)."""

import threading
from typing import Final, TypeVar

from msgspec.json import Decoder

Kind = TypeVar("Kind")

_learned: Final[set[object]] = set()
_learning: Final = threading.RLock()


def learned(kind: Kind) -> Kind:
    """Return `kind`. Afterwards, `convert`, `decode` and `Decoder` can use it in any thread."""
    if kind not in _learned:
        with _learning:
            Decoder(kind)  # pyright: ignore[reportArgumentType, reportCallIssue] - whatever may stand in an annotation
            _learned.add(kind)
    return kind
