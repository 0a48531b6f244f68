"""What only a comparison shows of a listed file, found in the background: net counts, and the names of its hunks."""

import asyncio
from collections.abc import Sequence

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from desktop_agent.core.base.errors import AgentError
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.review.changed_files import ChangedFile
from desktop_agent.ui.review.changes.verdicts import Compared
from desktop_agent.ui.review.source import FileDiffs, Spawn

_KEYED_AT_ONCE = 200
"""So many edits are named in less than a millisecond; more, in a thread."""


class NetCounts(QObject):
    """Compares the files it is asked for, one after the other, and remembers what came out.

    Adding up the counts of single changes overstates lines that were changed twice.

    Signals:
        changed: more is known.
    """

    changed = Signal()

    def __init__(self, source: FileDiffs, spawn: Spawn, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._source = source
        self._spawn = spawn
        self._known: dict[tuple[str, ...], Compared | None] = {}
        self._wanted: list[ChangedFile] = []
        self._is_counting = False

    def known(self, file: ChangedFile) -> Compared | None:
        """Return the result of a comparison of this file, if there was one."""
        # To make the key takes longer than the answer, and the review asks for thousands of files.
        return self._known.get(file.key) if self._known else None

    def forget(self) -> None:
        """Forget everything: the ids of changes mean another session's from now on."""
        self._known = {}
        self._wanted = []

    def request(self, files: Sequence[ChangedFile]) -> None:
        """Compare these files; what was wanted before and is not among them is dropped."""
        self._wanted = [file for file in files if file.key not in self._known]
        if self._wanted and not self._is_counting:
            self._is_counting = True
            self._spawn(self._count())

    async def compared(self, file: ChangedFile) -> Compared:
        """Return the result of a comparison of this file. Raises `AgentError` when it cannot be read."""
        if (found := self.known(file)) is not None:
            return found
        known = self._known
        diff = await self._source.diff(file.standing)
        found = await _compared(diff)
        known[file.key] = found
        return found

    async def _count(self) -> None:
        try:
            while self._wanted:
                file, known = self._wanted.pop(0), self._known
                known.setdefault(file.key, None)
                try:
                    await self.compared(file)
                except AgentError:
                    continue  # the diff itself says so when it is looked at; the sum stays
                if not isValid(self):
                    return
                self.changed.emit()
        finally:
            self._is_counting = False


async def _compared(diff: FileDiff) -> Compared:
    return _compare(diff) if len(diff.edits) < _KEYED_AT_ONCE else await asyncio.to_thread(_compare, diff)


def _compare(diff: FileDiff) -> Compared:
    """Name the hunks, and count the lines of those that are in force; of all, when none is."""
    from desktop_agent.core.diff.hunks import all_keys, review_hunks

    keys = all_keys(diff)
    undone = diff.undone.intersection(keys)
    if not undone or len(undone) == len(keys):
        return Compared(diff.added, diff.removed, keys, undone)
    edits = [edit for named in review_hunks(diff) if named.key in undone for edit in named.hunk.edits]
    added = diff.added - sum(edit.new_end - edit.new_start for edit in edits)
    removed = diff.removed - sum(edit.old_end - edit.old_start for edit in edits)
    return Compared(added, removed, keys, undone)
