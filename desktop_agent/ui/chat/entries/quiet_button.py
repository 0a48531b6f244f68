"""A button of an entry that is drawn only while the pointer is on the entry, or the keyboard on the button."""

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import QPushButton, QWidget


class QuietButton(QPushButton):
    """Always there and in the order of Tab: what is quiet is its look."""

    def __init__(self, text: str, entry: QWidget) -> None:
        super().__init__(text, entry)
        self._entry = entry
        self.setProperty("variant", "flat")
        self.setProperty("compact", True)
        entry.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Enter, QEvent.Type.Leave):
            self.update()
        return super().eventFilter(watched, event)

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.hasFocus() or self._entry.underMouse():
            super().paintEvent(event)
