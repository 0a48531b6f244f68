"""Finds the moved blocks of a diff in a thread: a large diff takes longer than the window may wait."""

from PySide6.QtCore import QObject, QRunnable, QThreadPool, QTimer, Signal

from desktop_agent.core.changes.moved import Moves, moved_blocks
from desktop_agent.core.model import FileDiff

_POLL_MS = 10


class MovedSearch(QObject):
    """Knows the moved blocks of the diff it was given last, as soon as they are found.

    Signals:
        found: there are some, in `moves`.
    """

    found = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.moves = _NONE
        self._search: _Search | None = None
        self._timer = QTimer(self)
        self._timer.setInterval(_POLL_MS)
        self._timer.timeout.connect(self._poll)

    def set_diff(self, diff: FileDiff) -> None:
        """Forget what is known, and look at this diff."""
        self.moves = _NONE
        self._search = None
        self._timer.stop()
        if len(diff.edits) > 1:  # what is moved leaves one place and comes to another
            self._search = _Search(diff)
            QThreadPool.globalInstance().start(QRunnable.create(self._search.run))
            self._timer.start()

    def _poll(self) -> None:
        if self._search and self._search.is_done:
            self.moves = self._search.moves
            self._search = None
            self._timer.stop()
            if self.moves is not _NONE:
                self.found.emit()


class _Search:
    """Answered by being asked, not by a signal: whoever waits may be gone before the thread is done."""

    def __init__(self, diff: FileDiff) -> None:
        self.moves = _NONE
        self.is_done = False
        self._diff = diff

    def run(self) -> None:
        try:
            if blocks := moved_blocks(self._diff):
                self.moves = Moves(blocks)
        finally:
            self.is_done = True


_NONE = Moves(())
