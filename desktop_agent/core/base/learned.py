"""Makes msgspec inspect a type in one thread at a time: two threads doing so at once would crash the process.

msgspec inspects a type on first use, and stores partial results on the class, so that types can refer to each other.
While it inspects the next field, another thread takes the partial result for complete, and reads uninitialised memory.
(Found in 0.22.)
"""

import threading
from typing import Final, TypeVar

from msgspec.json import Decoder

Kind = TypeVar("Kind")

_learned: Final[set[object]] = set()
_learning: Final = threading.RLock()


def learned(kind: Kind) -> Kind:
    """Return `kind`, which `convert`, `decode` and `Decoder` can from now on use in any thread."""
    if kind not in _learned:
        with _learning:
            Decoder(kind)  # pyright: ignore[reportArgumentType, reportCallIssue] - whatever may stand in an annotation
            _learned.add(kind)
    return kind
