"""Server-sent events out of the bytes of a response: their data only, in linear time, each up to a bound.

Source: https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation
"""

import codecs
from collections.abc import AsyncIterator

from desktop_agent.core.system.network.connections import oversized

MAX_EVENT_BYTES = 2 * 2**20
"""The largest event, with what comes before it and is none.

The largest honest one is a block that comes whole, such as encrypted thinking.
"""


async def event_data(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Yield the data of each event, also of a last one that no empty line ends.

    Raises `ProviderError` for an event beyond `MAX_EVENT_BYTES`, and `UnicodeDecodeError`.
    """
    event = _Event()
    is_after_return = False
    async for piece in pieces:
        # The second half of a line end that was cut in two is no line.
        begin = 1 if is_after_return and piece.startswith(b"\n") else 0
        is_after_return = piece.endswith(b"\r") if piece else is_after_return
        for line in piece[begin:].splitlines(keepends=True):
            if (data := event.add(line)) is not None:
                yield data
    if (data := event.end()) is not None:
        yield data


class _Event:
    """One event while its lines arrive."""

    def __init__(self) -> None:
        self._line = bytearray()
        """What came of a line."""
        self._data: list[str] = []
        self._size = 0
        self._is_first = True

    def add(self, part: bytes) -> str | None:
        """Take a line or a part of one; return the data of the event when that was its end and there are any."""
        self._size += len(part)
        if self._size > MAX_EVENT_BYTES:
            raise oversized(f"an event of more than {MAX_EVENT_BYTES:,} bytes")
        self._line += part
        if not part.endswith((b"\n", b"\r")):
            return None
        line = bytes(self._line.rstrip(b"\r\n"))
        self._line.clear()
        if self._is_first:
            line, self._is_first = line.removeprefix(codecs.BOM_UTF8), False
        return self._take(line)

    def end(self) -> str | None:
        """Return the data of an event that nothing ended."""
        if self._line:
            self._take(bytes(self._line))
        return self._take(b"")

    def _take(self, line: bytes) -> str | None:
        if line:
            name, _, value = line.partition(b":")
            if name == b"data":
                self._data.append(value.removeprefix(b" ").decode())
            return None
        if not self._data:
            return None  # comments and empty lines count on: they must not come for ever
        data = "\n".join(self._data)
        self._data.clear()
        self._size = 0
        return data
