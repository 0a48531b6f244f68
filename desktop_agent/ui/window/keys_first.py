"""Lets keys of the window work while the user writes in a field that would take them."""

from collections.abc import Iterable
from typing import cast

from PySide6.QtCore import QEvent, QObject
from PySide6.QtGui import QAction, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QApplication, QWidget
from shiboken6 import isValid


class KeysFirst(QObject):
    """Puts the keys of some actions before what they do in a field. On GNOME and KDE Ctrl+K deletes in all fields.

    It listens to the widget that has the keyboard only: every event that is listened to costs. One that `keepsKeys`
    says for itself which keys it takes.
    """

    def __init__(self, actions: Iterable[QAction], window: QWidget) -> None:
        super().__init__(window)
        self._window = window
        self._actions = tuple(actions)
        cast("QApplication", QApplication.instance()).focusChanged.connect(self._on_focus_changed)

    def _on_focus_changed(self, old: QWidget | None, now: QWidget | None) -> None:
        if old is not None and isValid(old):
            old.removeEventFilter(self)
        if now is not None and now.window() is self._window and not now.property("keepsKeys"):
            now.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() != QEvent.Type.ShortcutOverride or not isinstance(event, QKeyEvent):
            return False
        is_ours = any(QKeySequence(event.keyCombination()) in action.shortcuts() for action in self._actions)
        if is_ours:
            event.ignore()
        return is_ours
