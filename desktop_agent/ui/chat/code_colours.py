"""Colours the code in sight, a few milliseconds at a time, after it has been painted without."""

from collections.abc import Callable, Iterable

from PySide6.QtCore import QElapsedTimer, QObject, QTimer

from desktop_agent.ui.chat.entries.entry import EntryWidget
from desktop_agent.ui.chat.syntax_colours import Lexers

_SLICE_MS = 5
_PAUSE_MS = 150
"""After a change: code that is being written is coloured some times a second, not with every frame."""
_LEXER_POLL_MS = 15


class CodeColours(QObject):
    """Works on what `in_sight` returns: widgets, each with its top and bottom edge of sight."""

    def __init__(self, in_sight: Callable[[], Iterable[tuple[EntryWidget, int, int]]], parent: QObject) -> None:
        super().__init__(parent)
        self._in_sight = in_sight
        self._lexers = Lexers()
        self._timer = QTimer(self, singleShot=True)
        self._timer.timeout.connect(self._work)

    def request(self) -> None:
        """Look soon for code without colours."""
        if not self._timer.isActive():
            self._timer.start(_PAUSE_MS)

    def request_now(self) -> None:
        """Look for code without colours as soon as what is in sight has been painted."""
        self._timer.start(0)

    def stop(self) -> None:
        """Do nothing until the next request."""
        self._timer.stop()

    def _work(self) -> None:
        clock = QElapsedTimer()
        clock.start()
        for widget, top, bottom in self._in_sight():
            while widget.colour_next(top, bottom, self._lexers):
                if clock.elapsed() >= _SLICE_MS:
                    self._timer.start(0)
                    return
        if self._lexers.is_busy:
            self._timer.start(_LEXER_POLL_MS)
