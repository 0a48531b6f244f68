"""Output that waits to be read, and rows of a flood that need not be: those that nobody could scroll back to."""

import re
import threading
from typing import Final

MOST_BYTES: Final = 1024 * 1024
"""The most that waits. A program that prints faster than is read then waits, as at every terminal."""

FLOOD_BYTES: Final = 64 * 1024
"""Less is taken in as it is."""

_PLAIN = bytes({0x09, 0x0A, 0x0D, *range(0x20, 0x7F), *range(0x80, 0x100)})
_SGR = re.compile(rb"\x1b\[[0-9;:]*m")
_LONGEST_SGR = 64


class Backlog:
    """Filled by the thread that reads, emptied by the window's."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._is_closed = False
        self._room = threading.Condition()

    def put(self, output: bytes) -> bool:
        """Add output, and return whether nothing waited before. Blocks while too much waits."""
        with self._room:
            self._room.wait_for(lambda: self._size < MOST_BYTES or self._is_closed)
            if self._is_closed:
                return False
            self._parts.append(output)
            self._size += len(output)
            return len(self._parts) == 1

    def take(self) -> bytes:
        """Return all that waits."""
        with self._room:
            parts, self._parts, self._size = self._parts, [], 0
            self._room.notify_all()
        return b"".join(parts)

    def close(self) -> None:
        """Take no more, and release the reader that waits."""
        with self._room:
            self._is_closed = True
            self._parts.clear()
            self._size = 0
            self._room.notify_all()


def without_unseen(output: bytes, rows: int) -> bytes:
    """Return output that leaves the same screen, without plain lines that scroll out of the last `rows`.

    Only for a screen whose cursor is at its bottom and which scrolls as a whole. The effect of the dropped lines on
    colours is kept.
    """
    if len(output) < FLOOD_BYTES:
        return output
    at = len(output)
    for _ in range(rows):
        at = output.rfind(b"\n", 0, at)
        if at < 0:
            return output
    head = output[: at + 1]
    if not head.endswith(b"\r\n"):
        return output
    strange = head.translate(None, _PLAIN)
    if not strange:
        return output[at + 1 :]
    sequences = _SGR.findall(head)
    if strange.count(b"\x1b") != len(strange) or len(sequences) != len(strange):
        return output
    last_reset = max(head.rfind(b"\x1b[0m"), head.rfind(b"\x1b[m"), 0)
    return b"".join(_SGR.findall(head, last_reset)) + output[at + 1 :]
