"""A column between the panels at the edges of a window, laid out once for a new size of the window."""

from PySide6.QtCore import QRect, QSize
from PySide6.QtWidgets import QVBoxLayout, QWidget


class SettledColumn(QVBoxLayout):
    """Waits with what is in it until the panels at the edges came or went.

    Qt lays out the window before the window hears of its new size and shows or hides the panels, each of which is one
    more layout. A long conversation would be wrapped for every width on the way.
    """

    def __init__(self, column: QWidget) -> None:
        super().__init__(column)
        self.setContentsMargins(0, 0, 0, 0)
        self.setSpacing(0)
        self._column = column
        self._window_size = QSize()
        self._room: QRect | None = None

    def unsettle(self) -> None:
        """Wait until `settle`, whatever size the window has."""
        self._window_size = QSize()

    def settle(self, window_size: QSize) -> None:
        """Take the room there is now: all panels are where they belong in a window of this size."""
        self._window_size = window_size
        if self._room is not None:
            room, self._room = self._room, None
            super().setGeometry(room)

    def setGeometry(self, arg__1: QRect) -> None:
        window = self._column.window()
        if window.isVisible() and window.size() != self._window_size:
            self._room = QRect(arg__1)
        else:
            self._room = None
            super().setGeometry(arg__1)
