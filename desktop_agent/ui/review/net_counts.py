"""Lines added and removed by several changes together, found in the background."""

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from desktop_agent.core.errors import AgentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from desktop_agent.ui.review.changed_files import ChangedFile
    from desktop_agent.ui.review.source import DiffSource, Spawn


class NetCounts(QObject):
    """Compares what was changed more than once, one file after the other, and remembers what came out.

    Adding up the counts of single changes overstates lines that were changed twice.

    Signals:
        changed: more counts are known.
    """

    changed = Signal()

    def __init__(self, source: "DiffSource", spawn: "Spawn", parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._spawn = spawn
        self._known: dict[tuple[str, ...], tuple[int, int] | None] = {}
        self._wanted: list[ChangedFile] = []
        self._is_counting = False

    def known(self, file: "ChangedFile") -> tuple[int, int] | None:
        """Return the net counts of a file, if they are known."""
        return self._known.get(file.key) if len(file.standing) > 1 else None

    def forget(self) -> None:
        """Forget all counts: the ids of changes mean another session's from now on."""
        self._known = {}
        self._wanted = []

    def request(self, files: "Sequence[ChangedFile]") -> None:
        """Find the counts of these files; what was wanted before and is not among them is dropped."""
        self._wanted = [file for file in files if len(file.standing) > 1 and file.key not in self._known]
        if self._wanted and not self._is_counting:
            self._is_counting = True
            self._spawn(self._count())

    async def _count(self) -> None:
        try:
            while self._wanted:
                file, known = self._wanted.pop(0), self._known
                known[file.key] = None
                try:
                    diff = await self._source.diff(file.standing)
                except AgentError:
                    continue  # the diff itself says so when it is looked at; the sum stays
                if not isValid(self):
                    return
                known[file.key] = diff.added, diff.removed
                self.changed.emit()
        finally:
            self._is_counting = False
