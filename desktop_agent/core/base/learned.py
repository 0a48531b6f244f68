"""Lets msgspec learn a type in one thread at a time: two that come to it at once would end the process.

msgspec looks at a type when it is first asked to make one, and keeps on the class what it knows so far, so that types
may hold each other. While it looks at the next field, another thread takes that for all there is, and reads what has
not been written yet. (Found in 0.22.)
"""

import threading
from typing import Final, TypeVar

from msgspec.json import Decoder

Kind = TypeVar("Kind")

_learned: Final[set[object]] = set()
_learning: Final = threading.RLock()


def learned(kind: Kind) -> Kind:
    """Return `kind`, which can be made in any thread from now on: for every `convert`, `decode` and `Decoder`."""
    if kind not in _learned:
        with _learning:
            Decoder(kind)  # pyright: ignore[reportArgumentType, reportCallIssue] - whatever may stand in an annotation
            _learned.add(kind)
    return kind
