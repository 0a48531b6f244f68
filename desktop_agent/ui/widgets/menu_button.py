"""A button that opens a menu, also for assistive programs."""

from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QMouseEvent
from PySide6.QtWidgets import QMenu, QToolButton, QWidget


class MenuButton(QToolButton):
    """Opens its menu, if it has one, as soon as it is pressed: with the mouse, a key, or by a screen reader.

    Qt's mode for that (`InstantPopup`) offers assistive programs the action `ShowMenu` alone, and leaves it without
    effect (`QAccessibleToolButton::doAction`).
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.clicked.connect(self._open_soon)

    def mousePressEvent(self, arg__1: QMouseEvent) -> None:
        if arg__1.button() == Qt.MouseButton.LeftButton and self.menu():
            arg__1.accept()
            self.showMenu()
        else:
            super().mousePressEvent(arg__1)

    def _open_soon(self) -> None:
        """Open the menu in the next turn of the loop: it runs one of its own, and who pressed waits for an answer."""
        if menu := self.menu():
            menu.triggered.connect(self._close_menus, Qt.ConnectionType.UniqueConnection)
            QTimer.singleShot(0, self, self.showMenu)

    def _close_menus(self) -> None:
        """Close what is still open: an entry that a screen reader presses leaves its menu open."""
        for menu in (*self.menu().findChildren(QMenu), self.menu()):
            menu.close()
