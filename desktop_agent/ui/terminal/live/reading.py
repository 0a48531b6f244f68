"""What assistive technology reads of a terminal: its text, and what is new in it."""

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QFrame, QPlainTextEdit, QWidget

from desktop_agent.core.terminal.emulator import Emulator
from desktop_agent.ui.terminal.live.selection import last_text

_PAUSE_MS = 400
"""Output comes in bursts; it is read when it pauses, or that often."""
_ROWS = 200
_MOST_ANNOUNCED = 500


class ReadAloud(QTimer):
    """Keeps the text of the terminal in a text field that only assistive technology sees, while there is any.

    Painted cells have no text of their own; the field has, with Qt's own accessible interface for text.
    """

    def __init__(self, view: QWidget) -> None:
        super().__init__(view, singleShot=True, interval=_PAUSE_MS)
        self._view = view
        self._emulator: Emulator | None = None
        self._field: QPlainTextEdit | None = None
        self.timeout.connect(self._read)

    def follow(self, emulator: Emulator | None) -> None:
        """Read soon what this terminal shows."""
        self._emulator = emulator
        if QAccessible.isActive() and not self.isActive():
            self.start()

    def _read(self) -> None:
        text = "" if self._emulator is None else last_text(self._emulator.screen, _ROWS)
        field = self._field or self._make_field()
        before = field.toPlainText()
        if text == before:
            return
        field.setPlainText(text)
        new = text[len(before) :] if text.startswith(before) else text.rpartition("\n")[2]
        if self._view.hasFocus() and (new := new.strip()[-_MOST_ANNOUNCED:]):
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self._view, new))

    def _make_field(self) -> QPlainTextEdit:
        field = self._field = QPlainTextEdit(self._view)
        field.setObjectName("terminalText")
        field.setAccessibleName(self.tr("Text of the terminal"))
        field.setReadOnly(True)
        field.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        field.setFrameShape(QFrame.Shape.NoFrame)
        field.viewport().setAutoFillBackground(False)
        field.setGeometry(0, 0, 1, 1)
        field.show()
        return field
