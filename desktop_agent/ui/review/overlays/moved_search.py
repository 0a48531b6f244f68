"""Finds the moved blocks of a diff after it has been painted, those of a large one in a thread."""

from PySide6.QtCore import QObject, QRunnable, QThreadPool, QTimer, Signal

from desktop_agent.core.diff.moved import Moves, moved_blocks
from desktop_agent.core.protocol.model import FileDiff

_POLL_MS = 10
_MAX_LINES_AT_ONCE = 5_000
"""Changed lines that take a few milliseconds. A thread would cost the window more, which waits for the interpreter."""


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
        self._timer.timeout.connect(self._poll)

    def set_diff(self, diff: FileDiff) -> None:
        """Forget what is known; look at this diff from the next `go_on`."""
        self.moves = _NONE
        self._search = None
        self._timer.stop()
        if diff.landmarks is not None:
            self.moves = Moves(diff.landmarks.moved)
        elif len(diff.edits) > 1:  # what is moved leaves one place and comes to another
            self._search = _Search(diff)

    def go_on(self) -> None:
        """Look, if there is something to look at still. For when the diff is painted."""
        if self._search and not self._timer.isActive():
            self._timer.start(0)

    def pause(self) -> None:
        """Wait for `go_on`. For when the diff is not seen any more."""
        self._timer.stop()

    def _poll(self) -> None:
        search = self._search
        if search is None or search.is_done:
            self._timer.stop()
            self._search = None
            self.moves = search.moves if search else _NONE
            if self.moves is not _NONE:
                self.found.emit()
        elif not search.is_started:
            search.is_started = True
            self._timer.setInterval(_POLL_MS)
            if search.changed_lines <= _MAX_LINES_AT_ONCE:
                search.run()
            else:
                QThreadPool.globalInstance().start(QRunnable.create(search.run))


class _Search:
    """The caller asks again instead of getting a signal: it may be gone before the thread is done."""

    def __init__(self, diff: FileDiff) -> None:
        self.moves = _NONE
        self.is_started = False
        self.is_done = False
        self.changed_lines = diff.added + diff.removed
        self._diff = diff

    def run(self) -> None:
        try:
            if blocks := moved_blocks(self._diff):
                self.moves = Moves(blocks)
        finally:
            self.is_done = True


_NONE = Moves(())
