"""Lines out of what a process prints: bounded, whatever it prints."""

MOST_BYTES = 16 * 1024 * 1024
"""The longest message that is taken. More is no answer that any model could read."""


class LineTooLongError(Exception):
    """A line is longer than `MOST_BYTES`."""


class LineSplitter:
    """Splits a stream at its line feeds. Its work is proportional to what comes, also for one endless line."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, content: bytes) -> list[bytes]:
        """Return the lines that are whole now, without their ends and without empty ones. Raises `LineTooLongError`."""
        first, *others = content.split(b"\n")
        self._add(first)
        if not others:
            return []
        whole = [b"".join(self._begun), *others[:-1]]
        self._begun, self._size = [], 0
        self._add(others[-1])
        if any(len(line) > self._most_bytes for line in whole):
            raise LineTooLongError
        return [line for line in whole if line.strip()]

    def _add(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._most_bytes:
            self._begun = []
            raise LineTooLongError
        if part:
            self._begun.append(part)
