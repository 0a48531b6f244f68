"""A drawer: a panel that slides over the edge of the transcript when the window is too narrow to stand beside it."""

from typing import Literal

from PySide6.QtCore import QEvent, QObject, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QFrame, QVBoxLayout, QWidget

Side = Literal["left", "right"]

_MARGIN = 56
"""How much of what lies below stays visible, so that it is plain that a drawer can be closed."""


class Drawer(QFrame):
    """Covers one side of `over` while open. Escape or a click beside it closes it.

    Signals:
        closed: the drawer went away; the panel's owner may take it back.
    """

    closed = Signal()

    def __init__(self, over: QWidget, side: Side, width: int) -> None:
        super().__init__(over)
        self.setObjectName(f"{side}Drawer")
        self.setProperty("role", "drawer")
        self.setAutoFillBackground(True)
        self._over = over
        self._side: Side = side
        self._wanted_width = width
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self.hide()

    def open_with(self, panel: QWidget) -> None:
        """Show `panel` in the drawer and give it the focus."""
        self._layout.addWidget(panel)
        panel.show()
        self._over.installEventFilter(self)
        self._place()
        self.show()
        self.raise_()
        panel.setFocus(Qt.FocusReason.PopupFocusReason)

    def close_drawer(self) -> None:
        """Close it, if it is open, also in a window that is hidden."""
        if not self.isHidden():
            self._over.removeEventFilter(self)
            self.hide()
            self.closed.emit()

    def _place(self) -> None:
        area = self._over.rect()
        width = min(self._wanted_width, max(area.width() - _MARGIN, 0))
        left = 0 if self._side == "left" else area.width() - width
        self.setGeometry(left, 0, width, area.height())

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize:
            self._place()
        elif event.type() == QEvent.Type.MouseButtonPress:
            self.close_drawer()
        return super().eventFilter(watched, event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.close_drawer()
        else:
            super().keyPressEvent(event)
