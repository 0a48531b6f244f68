"""Finds the moved blocks of a diff after it has been painted, those of a large one in a thread."""

from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal

from desktop_agent.core.diff.hunks import Moves, moved_blocks
from desktop_agent.core.protocol.model import FileDiff
from desktop_agent.ui.runtime.background_call import BackgroundCall

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
        self._search: BackgroundCall[Moves] | None = None
        self._is_small = True
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
            self._search = BackgroundCall(partial(_moves_in, diff), _NONE)
            self._is_small = diff.added + diff.removed <= _MAX_LINES_AT_ONCE

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
            self.moves = search.result if search else _NONE
            if self.moves is not _NONE:
                self.found.emit()
        elif not search.is_started:
            self._timer.setInterval(_POLL_MS)
            if self._is_small:
                search.run()
            else:
                search.start()


def _moves_in(diff: FileDiff) -> Moves:
    blocks = moved_blocks(diff)
    return Moves(blocks) if blocks else _NONE


_NONE = Moves(())
