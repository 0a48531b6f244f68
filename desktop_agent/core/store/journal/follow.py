"""Following a journal that another process writes: what was added since the last look, whole lines only."""

import os
from pathlib import Path

from desktop_agent.core.base.errors import StorageError
from desktop_agent.core.protocol.events import JournalEvent
from desktop_agent.core.store.blobs import Blobs
from desktop_agent.core.store.journal.lines import open_regular, read_lines
from desktop_agent.core.store.journal.reading import Readable, placed, read_line, refuse_links

_WITNESS_BYTES = 512
"""How much of the end of what was read is looked at again: a record ends within, with its number and its time."""


class Follower:
    """Reads a journal that another process writes. Blocks; it changes nothing, and the writer does not notice."""

    def __init__(self, path: Path, blobs: Blobs, start: int = 0) -> None:
        """Begin at byte `start`, which is the beginning of a line."""
        self._path = path
        self._blobs = blobs
        self._offset = start
        self._line = 1
        self._is_first = start == 0
        self._identity: tuple[int, int] | None = None
        self._witness = b""
        """The last bytes before the offset."""

    def read(self) -> list[JournalEvent]:
        """Return what was added since the last call; all of it at the first. What cannot be read is left out.

        Raises `StorageError` when the journal is gone, or is not a longer form of what it was: a writer took a record
        back because its disk failed, or a repair replaced the file. Then only reading all of it anew helps.
        """
        try:
            refuse_links(self._path)
            with open_regular(self._path) as file:
                status = os.fstat(file.fileno())
                self._check(status)
                if status.st_size == self._offset:
                    return []
                file.seek(self._offset - len(self._witness))
                if file.read(len(self._witness)) != self._witness:
                    raise _lost("What was read is not there any more.")
                found: list[JournalEvent] = []
                for line in read_lines(file, number=self._line):
                    if not line.is_ended:
                        break  # it is being written
                    self._offset += line.size
                    self._line += 1
                    record = read_line(line, self._blobs)
                    if isinstance(record, Readable):
                        record = placed(record, line, self._path.parent.name, is_first=self._is_first)
                    if isinstance(record, Readable):
                        self._is_first = False
                        found.append(record.event)
                length = min(_WITNESS_BYTES, self._offset)
                file.seek(self._offset - length)
                self._witness = file.read(length)
                return found
        except OSError as error:
            raise _lost(str(error)) from error

    def _check(self, status: os.stat_result) -> None:
        identity = status.st_dev, status.st_ino
        if self._identity not in (None, identity) or status.st_size < self._offset:
            raise _lost("The journal was replaced, or became shorter.")
        self._identity = identity


def _lost(detail: str) -> StorageError:
    hint = "Open it again."
    return StorageError("The session cannot be followed any more.", hint=hint, detail=detail)
