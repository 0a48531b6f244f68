"""Clicks at a place of the window: whatever lies on top gets the press."""

from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QWidget


def click_where(widget: QWidget, at: QPoint | None = None) -> None:
    window = widget.window()
    place = widget.mapTo(window, widget.rect().center() if at is None else at)
    QTest.mouseClick(window.windowHandle(), Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
